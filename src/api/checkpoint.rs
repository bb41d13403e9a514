//! Saves a run's state between slices, and continues an interrupted run.
//!
//! Rank 0 decides when the ranks talk about saving, and whether to save.
//!
//! Invariants: A refused file is neither changed nor removed. A run continues only if all ranks have read their sums.
//! Slices are added in the same order as in an uninterrupted run, so the result has the same bits.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ndarray::ArrayViewD;

use super::dist_tensor::fill_box;
use super::operand_parts::{OperandParts, Operands};
use super::program::Slices;
use super::record::Record;
use super::{DistTensor, Error, Program, Rank, Result, Shaped, World};
use crate::exec::{Factors, RankProgram};
use crate::io::checkpoint::{
    CheckpointError, Lock, Manifest, check_sum_path, digest, read_sum, remove, sum_path, write_sum,
};
use crate::io::npy::NpyError;
use crate::io::output::{FileError, examine, remove_leftovers};
use crate::kernel::Element;
use crate::machine::Machine;
use crate::memory::{bytes_of, bytes_of_mut};
use crate::plan::{Plan, PlanOptions, PlanOrigin, ResultResidency, SearchedTree};

/// Between talks about saving if slices are short.
const TALK_INTERVAL: Duration = Duration::from_secs(1);

/// The file in which a run of many slices saves its state, to continue after a kill.
///
/// The state, every rank's sum so far and the number of slices in it, is written between slices, to FILE and to
/// `FILE.rankR-0` and `FILE.rankR-1` for every rank R. The files always contain a complete state, possibly of the last
/// checkpoint but one. Ranks may use local disks if each restarts on its host. A run waits up to five seconds for
/// another that uses the file, then fails. `docs/checkpoints.md` has an example.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    stop: Option<Arc<AtomicBool>>,
    origin: Option<PlanOrigin>,
}

impl Checkpoint {
    /// A checkpoint in this file, written every 60 seconds.
    pub fn new(path: impl Into<PathBuf>) -> Checkpoint {
        Checkpoint { path: path.into(), every: Duration::from_secs(60), stop: None, origin: None }
    }

    /// Like [`Checkpoint::new`], but also reads an interrupted run's tree and rates, for [`Checkpoint::plan`].
    /// Collective.
    ///
    /// # Errors
    /// If the file exists, but is no checkpoint, damaged, or unreadable ([`Error::Checkpoint`]).
    pub fn open(world: &World, path: impl Into<PathBuf>) -> Result<Checkpoint> {
        let checkpoint = Checkpoint::new(path);
        let read = || match Manifest::read(&checkpoint.path)? {
            bytes if bytes.is_empty() => Ok(String::new()),
            bytes => Ok(Manifest::parse(&bytes)?.origin),
        };
        let read = if world.is_root() { read() } else { Ok(String::new()) };
        let read = read.map_err(|why| Error::Checkpoint { path: checkpoint.path.clone(), why });
        let origin = world.all_gather(world.agree(read)?.as_bytes())?.swap_remove(0);
        Ok(Checkpoint { origin: serde_json::from_slice(&origin).ok(), ..checkpoint })
    }

    /// Like [`Shaped::plan`], without a search if the checkpoint is [open](Checkpoint::open) and of the same
    /// expression, extents, element type, [`PlanOptions::path`], ranks and workers. The plan then has the interrupted
    /// run's contraction order, machine rates, number of runs and, unless the options have one, memory limit.
    ///
    /// # Errors
    /// Those of [`Shaped::plan`].
    pub fn plan(&mut self, shaped: &Shaped, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        if let Some((SearchedTree { tree, .. }, machine, options)) = self.tree(shaped, machine, options) {
            return shaped.plan_tree(&tree, &machine, &options);
        }
        let searched = shaped.searched_tree(machine, options)?;
        self.keep(shaped, &searched, machine, options);
        shaped.plan_tree(&searched.tree, machine, options)
    }

    /// The interrupted run's tree and machine, and the options for [`Checkpoint::plan`]; `None` if that would search.
    pub fn tree(
        &self,
        shaped: &Shaped,
        machine: &Machine,
        options: &PlanOptions,
    ) -> Option<(SearchedTree, Machine, PlanOptions)> {
        self.origin.as_ref().and_then(|origin| shaped.tree_of(origin, machine, options))
    }

    /// Keeps a new tree in the next checkpoints, for [`Checkpoint::tree`].
    pub fn keep(&mut self, shaped: &Shaped, searched: &SearchedTree, machine: &Machine, options: &PlanOptions) {
        self.origin = Some(shaped.origin(searched, machine, options));
    }

    /// Sets the time from the end of one checkpoint to the beginning of the next.
    #[must_use]
    pub fn every(self, every: Duration) -> Checkpoint {
        Checkpoint { every, ..self }
    }

    /// If any process sets its flag, the run saves its state between slices and returns [`Error::Stopped`] everywhere,
    /// with short slices after about a second.
    #[must_use]
    pub fn stop_when(self, flag: Arc<AtomicBool>) -> Checkpoint {
        Checkpoint { stop: Some(flag), ..self }
    }

    /// Removes the checkpoint's files, if they exist. Collective.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self, world: &World) -> Result<()> {
        let failed = |cause| Error::output(world.local_ranks().start, NpyError::File(cause));
        // The manifest first, without which sums are not read.
        world.agree(if world.is_root() { remove_all(&self.path).map_err(failed) } else { Ok(()) })?;
        let mut sums = world.local_ranks().flat_map(|rank| [0, 1].map(|at| sum_path(&self.path, rank, at)));
        world.agree(sums.try_for_each(|sum| remove_all(&sum)).map_err(failed))
    }
}

impl<T: Element> Program<T> {
    /// Like [`Program::run_dist`], but saves the state now and then, and continues from existing files. The result has
    /// the same bits as without an interruption, given the same processors and numbers of threads. The files remain;
    /// see [`Checkpoint::remove`]. A single slice saves nothing. Collective.
    ///
    /// Cost: Hashes all operands first. A checkpoint writes the output's blocks or, if groups of ranks take slices,
    /// those of all groups' partial sums; the disk needs twice this space. After a restart, values that slices share
    /// are computed again, and measurements start anew.
    ///
    /// # Errors
    /// Those of [`Program::run_dist`]. If the checkpoint is damaged, or of another plan or other values
    /// ([`Error::Checkpoint`]); its files are then not changed. If a checkpoint cannot be written ([`Error::Save`]). If
    /// a flag stopped the run ([`Error::Stopped`]). `out` is then undefined.
    pub fn run_dist_with_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        alpha: T,
        operands: &[&DistTensor<T>],
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        self.run_with_checkpoint(checkpoint, alpha, Operands::Whole(operands), beta, out)
    }

    /// Like [`Program::run_dist_with_checkpoint`], but reads operands in parts, once more before the run. Collective.
    ///
    /// # Errors
    /// Those of [`Program::run_dist_with_checkpoint`], and if a part of an operand cannot be read.
    pub fn run_reading_with_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        alpha: T,
        operands: &mut OperandParts<T>,
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        self.run_with_checkpoint(checkpoint, alpha, Operands::InParts(operands), beta, out)
    }

    fn run_with_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        alpha: T,
        mut operands: Operands<T>,
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        if let Some(accumulating) = self.accumulating(beta)? {
            return accumulating.run_with_checkpoint(checkpoint, alpha, operands, beta, out);
        }
        let fits = self.check_dist(&operands, out, ResultResidency::Whole);
        self.world.agree(fits)?;
        let mut digests =
            (0..self.plan.operands).map(|index| digest_of(self, &mut operands, index)).collect::<Result<Vec<_>>>()?;
        if beta != T::ZERO {
            digests.push(digest_of_blocks(&self.world, out)?);
        }
        let mut saves = Saves::open(self, checkpoint, Factors::new(alpha, beta), digests)?;
        if self.groups.is_some() {
            return self.run_in_groups(alpha, &operands.tensors(), beta, out, Some(&mut saves));
        }
        saves.restore(out)?;
        self.record = saves.measurements(&self.plan);
        let (mut finished, mut goes_on) = (saves.finished(), false);
        while finished < saves.slices {
            let slices = Slices { run: finished..saves.next, output: ResultResidency::Whole, goes_on };
            (finished, goes_on) = (saves.next, true);
            self.run_slices(slices, alpha, &mut operands, beta, out)?;
            saves.after(finished, out)?;
        }
        Ok(())
    }

    /// Calls a function after every slice with the numbers of finished slices, including other parts' and a
    /// checkpoint's, and of all.
    pub fn on_slice(&mut self, call: impl Fn(usize, usize) + 'static) {
        self.on_slice = Some(Rc::new(call));
    }

    pub(super) fn report_slices(&self, finished: usize) {
        if let Some(call) = &self.on_slice {
            call(finished.min(self.plan.slice_count()), self.plan.slice_count());
        }
    }

    /// Slices that the last run took from a checkpoint.
    pub fn resumed_slices(&self) -> usize {
        self.measuring().record.resumed
    }
}

pub(super) struct Saves<'a> {
    world: World,
    checkpoint: &'a Checkpoint,
    /// Held by rank 0.
    _lock: Option<Lock>,
    /// The last checkpoint; generation 0 is the start of the run, which has no files.
    manifest: Manifest,
    /// Slices after which the run ends; with groups of ranks, the largest group's.
    slices: usize,
    /// Finished slices at the next talk about saving.
    pub(super) next: usize,
    started: Instant,
    saved: Instant,
    first: usize,
}

impl<'a> Saves<'a> {
    /// Checks the files. `operands` are digests of values that must equal the interrupted run's.
    fn open<T: Element>(
        program: &Program<T>,
        checkpoint: &'a Checkpoint,
        factors: Factors,
        operands: Vec<String>,
    ) -> Result<Saves<'a>> {
        let (world, path) = (program.world.clone(), checkpoint.path.as_path());
        let refused = |why| Error::Checkpoint { path: path.to_path_buf(), why };
        let read = || {
            examine(path)?;
            let lock = Lock::new(path).map_err(refused)?;
            Ok((Some(lock), Manifest::read(path).map_err(refused)?))
        };
        let (lock, bytes) = world.agree(if world.is_root() { read() } else { Ok((None, Vec::new())) })?;
        let bytes = world.all_gather(&bytes)?.swap_remove(0);
        let now = Manifest {
            fingerprint: fingerprint(program)?,
            factors: format!("{factors:?}"),
            // Serialising into memory cannot fail.
            origin: checkpoint
                .origin
                .as_ref()
                .map_or_else(String::new, |it| serde_json::to_string(it).unwrap_or_default()),
            operands,
            generation: 0,
            finished: 0,
            sums: Vec::new(),
        };
        let slices = program.plan.slice_rounds();
        let manifest = if bytes.is_empty() {
            now
        } else {
            // Every rank has the same bytes, so all agree.
            Manifest::parse(&bytes).and_then(|found| same(found, &now, &program.plan)).map_err(refused)?
        };
        let mut sums = world.local_ranks().flat_map(|rank| [0, 1].map(|at| sum_path(path, rank, at)));
        let usable = sums.try_for_each(|sum| {
            examine(&sum)?;
            check_sum_path(&sum).map_err(|why| Error::Checkpoint { path: sum.clone(), why })?;
            remove_leftovers(&sum);
            Ok(())
        });
        world.agree(usable)?;
        if world.is_root() {
            remove_leftovers(path);
        }
        let (started, first) = (Instant::now(), manifest.finished);
        Ok(Saves { world, checkpoint, _lock: lock, manifest, slices, next: first + 1, started, saved: started, first })
    }

    /// Before the first slice of the continued run.
    pub(super) fn measurements(&self, plan: &Plan) -> Record {
        let taken = |group| plan.slices_of_group(group).len().min(self.manifest.finished);
        Record::resuming((0..plan.slice_groups).map(taken).sum())
    }

    /// Slices in the last checkpoint's sums; with groups of ranks, of each group.
    pub(super) fn finished(&self) -> usize {
        self.manifest.finished
    }

    pub(super) fn restore<T: Element>(&self, sums: &mut DistTensor<T>) -> Result<()> {
        let Manifest { generation, sums: digests, .. } = &self.manifest;
        if *generation == 0 {
            return Ok(());
        }
        let read = self.world.local_ranks().try_for_each(|rank| {
            let path = sum_path(&self.checkpoint.path, rank, *generation);
            let Some(block) = sums.block_mut(rank) else { return Ok(()) };
            let all: Vec<_> = block.shape().iter().map(|&extent| 0..extent).collect();
            fill_box(rank, block, &all, |values| {
                let read = read_sum(&path, bytes_of_mut(values), &digests[rank]);
                read.map_err(|why| Error::Checkpoint { path, why })
            })
        });
        self.world.agree(read)
    }

    /// If the ranks talk after `finished` slices, saves the sums if due. Collective.
    pub(super) fn after<T: Element>(&mut self, finished: usize, sums: &DistTensor<T>) -> Result<()> {
        if finished >= self.slices {
            return Ok(());
        }
        let stop = self.checkpoint.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        let rest = self.checkpoint.every.saturating_sub(self.saved.elapsed());
        let each = self.started.elapsed().as_secs_f64() / (finished - self.first).max(1) as f64;
        // Half, because later slices may take longer.
        let wait = if rest.is_zero() { self.checkpoint.every } else { rest }.min(TALK_INTERVAL).as_secs_f64() / 2.0;
        let most = 2 * (finished - self.first).max(1) as u64;
        let step = ((wait / each.max(1e-9)) as u64).clamp(1, most);
        let mine = [&[u8::from(stop), u8::from(rest.is_zero())][..], &step.to_le_bytes()].concat();
        let all = self.world.all_gather(&mine)?;
        let step = all[0].last_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes));
        let stop = all.iter().any(|theirs| theirs[0] == 1);
        self.next = finished.saturating_add(step as usize).min(self.slices);
        if stop || all[0][1] == 1 {
            self.save(finished, sums)?;
        }
        if stop {
            let path = self.checkpoint.path.clone();
            return Err(Error::Stopped { path, finished, slices: self.slices });
        }
        Ok(())
    }

    fn save<T: Element>(&mut self, finished: usize, sums: &DistTensor<T>) -> Result<()> {
        let (world, path) = (&self.world, &self.checkpoint.path);
        let generation = self.manifest.generation + 1;
        let write = |rank| {
            let Some(block) = sums.block(rank) else { return Ok(digest(&[])) };
            with_bytes(block, |bytes| {
                write_sum(&sum_path(path, rank, generation), bytes)
                    .map_err(|cause| Error::Save { rank: Rank::here(rank), cause })?;
                Ok(digest(bytes))
            })
        };
        let digests = world.agree(world.local_ranks().map(write).collect::<Result<Vec<_>>>())?;
        let digests = world.gather(&digests)?.concat();
        let manifest = Manifest { generation, finished, sums: digests, ..self.manifest.clone() };
        let written = if world.is_root() { manifest.write(path) } else { Ok(()) };
        world.agree(written.map_err(|cause| Error::Save { rank: Rank::here(0), cause }))?;
        (self.manifest, self.saved) = (manifest, Instant::now());
        Ok(())
    }
}

fn same(found: Manifest, now: &Manifest, plan: &Plan) -> std::result::Result<Manifest, CheckpointError> {
    if found.fingerprint != now.fingerprint {
        return Err(CheckpointError::Plan);
    }
    if found.factors != now.factors {
        return Err(CheckpointError::Factors);
    }
    let values = now.operands.len();
    let fits = found.operands.len() == values && found.sums.len() == plan.ranks() && found.generation > 0;
    if !fits || !(1..plan.slice_rounds()).contains(&found.finished) {
        return Err(CheckpointError::Damaged("it does not fit its plan"));
    }
    match (0..values).find(|&index| found.operands[index] != now.operands[index]) {
        None => Ok(found),
        Some(index) if index == plan.operands => Err(CheckpointError::Prior),
        Some(index) => Err(CheckpointError::Operand(index)),
    }
}

/// A digest of what the ranks compute, without the machine's measured rates; where these change the order of additions,
/// the schedules differ. Collective.
fn fingerprint<T: Element>(program: &Program<T>) -> Result<String> {
    let plan = &program.plan;
    let plan = Plan { machine: Machine::new(plan.ranks(), plan.machine.workers), ..plan.clone() };
    let schedules = |programs: &[RankProgram], at: usize| {
        // Serialising into memory cannot fail.
        programs
            .get(at)
            .map_or_else(String::new, |rank| digest(&serde_json::to_vec(rank.schedule()).unwrap_or_default()))
    };
    let combination = program.groups.as_ref().map_or(&[][..], |groups| &groups.combination.ranks);
    let mine = (0..program.ranks.len()).map(|at| schedules(&program.ranks, at) + &schedules(combination, at));
    let mine: String = mine.collect();
    let all = program.world.all_gather(mine.as_bytes())?.concat();
    Ok(digest(&[&plan.fingerprint().to_le_bytes()[..], &all].concat()))
}

/// Collective.
fn digest_of<T: Element>(program: &Program<T>, operands: &mut Operands<T>, index: usize) -> Result<String> {
    let mut digests: Vec<String> = Vec::new();
    operands.each_part(&program.plan, index, |part| {
        digests.push(digest_of_blocks(&program.world, part)?);
        Ok(())
    })?;
    Ok(if digests.len() == 1 { digests.swap_remove(0) } else { digest(digests.concat().as_bytes()) })
}

/// Row-major.
fn with_bytes<T: Element, V>(block: ArrayViewD<T>, used: impl FnOnce(&[u8]) -> V) -> V {
    used(bytes_of(block.as_standard_layout().as_slice().unwrap_or_default()))
}

/// Collective.
fn digest_of_blocks<T: Element>(world: &World, tensor: &DistTensor<T>) -> Result<String> {
    let of = |rank| tensor.block(rank).map_or_else(|| digest(&[]), |block| with_bytes(block, digest));
    let blocks = world.local_ranks().map(of);
    Ok(digest(world.all_gather(blocks.collect::<String>().as_bytes())?.concat().as_slice()))
}

/// Also removes temporary files: a rank of a killed run may have outlived the start of this run.
fn remove_all(path: &Path) -> std::result::Result<(), FileError> {
    remove_leftovers(path);
    remove(path)
}
