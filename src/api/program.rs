//! Compiles a plan for a world, and runs the compiled plan.

use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, RawData, Slice};

use super::crew::room_for_threads;
use super::dist_tensor::{allocation_error, part};
use super::launch::{Slots, launch};
use super::record::Record;
use super::validate::{Tensor, expect_fit, expect_memory, expect_shape};
use super::{DistTensor, Error, Operand, Output, Result, Shaped, World};
use crate::distribution::Bounds;
use crate::exec::{Factors, Fault, Injection, Metrics, RankProgram, ResolvedKernel};
use crate::kernel::Element;
use crate::machine::Machine;
use crate::memory::{OutOfMemory, Slot, copy_of, zero_array};
use crate::plan::{Plan, PlanOptions, ResultResidency, Value};
use crate::schedule::{Buffer, Home, ReuseScope, Schedule, verify};

/// A plan compiled for a world, which can run any number of times on changing data.
///
/// | | operands and output | gathers the result on every process |
/// |---|---|---|
/// | [`Program::run`] | whole on every process; a new output | yes |
/// | [`Program::run_into`] | whole on every process; an existing output | yes |
/// | [`Program::run_dist`] | blocks, distributed as in the plan | no |
///
/// Cost: what the plan predicts, plus small lists, whose number does not depend on extents. The same plan and operands
/// give bitwise identical results.
///
/// ```
/// use einsum_dist::{PlanOptions, Problem, World};
/// use ndarray::{Array2, s};
///
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![4, 6], vec![6, 5]])?;
/// let world = World::in_process(2);
/// let mut program = world.prepare::<f64>(&shaped, 1, &PlanOptions::default())?;
///
/// // Views are used in place: here every second column of one array, and a part of another.
/// let (wide, right) = (Array2::<f64>::ones((4, 12)), Array2::<f64>::ones((6, 5)));
/// let mut board = Array2::<f64>::from_elem((8, 8), 10.0);
/// let left = wide.slice(s![.., ..;2]);
/// // out = 2 left right + 0.5 out.
/// program.run_into(2.0, &[&left, &right], 0.5, &mut board.slice_mut(s![2..6, 1..6]))?;
/// assert_eq!((board[[2, 1]], board[[5, 5]], board[[2, 0]]), (2.0 * 6.0 + 0.5 * 10.0, 17.0, 10.0));
/// # Ok::<(), einsum_dist::Error>(())
/// ```
pub struct Program<T: Element> {
    pub(super) world: World,
    pub(super) plan: Plan,
    kernel: ResolvedKernel,
    /// The schedules of the local ranks for one slice.
    pub(super) ranks: Vec<RankProgram>,
    pub(super) record: Record,
    pub(super) bound_bytes: Vec<u64>,
    accumulating: Option<Box<Program<T>>>,
    /// Whether `accumulating` ran last, and has the measurements.
    ran_accumulating: bool,
    /// Whether the last run succeeded, so that constant operands' values may be reused.
    pub(super) holds: bool,
    /// The factors of the last run with an exponent, for each value.
    pub(super) exponents: Option<Vec<i32>>,
    pub(super) groups: Option<Box<GroupSteps<T>>>,
    pub(super) on_slice: Option<Rc<dyn Fn(usize, usize)>>,
    pub(super) gather: Option<Box<Program<T>>>,
    element: PhantomData<T>,
}

pub(super) struct GroupSteps<T: Element> {
    pub(super) spreads: Vec<Program<T>>,
    pub(super) copies: Vec<DistTensor<T>>,
    pub(super) sums: DistTensor<T>,
    pub(super) combination: Program<T>,
}

/// The slices to run, whose output is the whole result or a part.
pub(super) struct Slices {
    pub(super) run: Range<usize>,
    pub(super) output: ResultResidency,
    /// Whether the slice before ran last, so that shared values are there.
    pub(super) goes_on: bool,
}

impl World {
    /// Compiles a plan, which must be the same on all processes. Collective.
    ///
    /// # Errors
    /// If the plan has a different number of ranks or element type, or differs between processes. If a kernel, threads
    /// or memory is not available on any rank.
    pub fn compile<T: Element>(&self, plan: &Plan) -> Result<Program<T>> {
        Program::compile(self, plan)
    }

    /// Plans an einsum for this world's ranks with `workers` threads and elements of type `T`, and compiles it.
    /// `options.dtype` is ignored, and too little free memory sets a limit ([`World::within_memory`]). Collective.
    ///
    /// # Errors
    /// Those of [`Shaped::plan`] and [`World::compile`].
    pub fn prepare<T: Element>(&self, shaped: &Shaped, workers: usize, options: &PlanOptions) -> Result<Program<T>> {
        let machine = Machine::new(self.ranks(), workers);
        self.compile(&shaped.plan_within_memory(self, &machine, &options.clone().dtype(T::DTYPE))?)
    }
}

impl<T: Element> Program<T> {
    pub(super) fn compile(world: &World, plan: &Plan) -> Result<Program<T>> {
        let fits = if plan.dtype != T::DTYPE {
            Err(Error::Usage(format!("the plan is for {}, the program for {}", plan.dtype, T::DTYPE)))
        } else {
            world.expect_plan(plan)
        };
        let distributed =
            || plan.values.iter().try_for_each(|value| expect_fit(&value.shape, &value.distribution, plan.ranks()));
        world.agree(fits.and_then(|()| distributed()))?;
        let fingerprint = plan.fingerprint().to_le_bytes();
        let all = world.all_gather(&fingerprint)?;
        if let Some(other) = all.iter().position(|theirs| *theirs != all[0]) {
            return Err(Error::Usage(format!("rank {other} has another plan than rank 0")));
        }
        let kernel = world.agree(ResolvedKernel::resolve(plan.kernel, plan.dtype).map_err(Error::from))?;
        // A single rank uses all threads of the world's or the caller's rayon pool.
        let threads = if plan.ranks() > 1 { plan.machine.workers } else { world.threads() };
        let spec = plan.spec();
        if cfg!(debug_assertions) {
            plan.verify()?;
        }
        let compiled = world.local_ranks().map(|rank| -> Result<RankProgram> {
            let verified = verify::own(plan.schedule(rank), &spec)?;
            if world.shared().options.injection == Some(Injection { rank, fault: Fault::Allocation, run: 0 }) {
                return Err(allocation_error(rank, OutOfMemory { bytes: verified.schedule().arena_bytes }));
            }
            let compiled = RankProgram::compile(verified, &spec, plan.dtype, kernel, threads);
            compiled.map_err(|cause| allocation_error(rank, cause))
        });
        let ranks = world.agree(compiled.collect::<Result<Vec<_>>>())?;
        if plan.ranks() > 1 {
            // If one rank cannot start threads, all must fail before any runs.
            world.agree(world.shared().crews(ranks.len(), plan.machine.workers))?;
            // Communication threads start in every run; here, only their memory is checked.
            world.agree(room_for_threads(world.local_ranks().start, world.local_ranks().len()))?;
        }
        Ok(Program {
            world: world.clone(),
            plan: plan.clone(),
            kernel,
            ranks,
            record: Record::default(),
            bound_bytes: Vec::new(),
            accumulating: None,
            ran_accumulating: false,
            holds: false,
            exponents: None,
            groups: GroupSteps::compile(world, plan)?,
            on_slice: None,
            gather: None,
            element: PhantomData,
        })
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let slices: u64 = self.ranks.iter().map(RankProgram::owned_bytes).sum();
        slices + self.groups.as_ref().map_or(0, |groups| groups.held_bytes())
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The name of this process's contraction kernels, of the last run, if any.
    pub fn kernel(&self) -> &'static str {
        let families = || self.measuring().ranks.iter().map(RankProgram::families);
        self.kernel.name_of(families().any(|[xsmm, _]| xsmm), families().any(|[_, own]| own))
    }

    /// Contracts whole operands, passed by every process, to the whole result everywhere, a row-major array.
    /// Collective.
    ///
    /// # Errors
    /// If operands do not match the plan, or if a program with several ranks is run inside a rayon worker
    /// ([`Error::Usage`]). If there is not enough memory for the result ([`Error::Memory`]). If the run fails
    /// ([`Error::Run`]); under MPI, a failed run aborts all processes instead of returning.
    pub fn run(&mut self, operands: &[&dyn Operand<T>]) -> Result<ArrayD<T>> {
        let shape = self.plan.output_shape();
        self.world.agree(expect_memory::<T>(self.world.local_ranks().start, &shape))?;
        let out = zero_array(&shape);
        let mut out = self.world.agree(out.map_err(|cause| allocation_error(self.world.local_ranks().start, cause)))?;
        self.run_into(T::ONE, operands, T::ZERO, &mut out)?;
        Ok(out)
    }

    /// Computes `out = alpha (contraction of the operands) + beta out`; every process passes all tensors whole.
    /// Collective. If `beta` is 0, `out` is not read. If all ranks are in this process, tensors are copied only if
    /// blocks may be scattered ([`crate::Distribution::is_scattered`]).
    ///
    /// The first run with a nonzero `beta` compiles the plan again, unless it was made to
    /// [`accumulate`](crate::PlanOptions::accumulate).
    ///
    /// # Errors
    /// Those of [`Program::run`], and if `out` has the wrong shape.
    pub fn run_into(&mut self, alpha: T, operands: &[&dyn Operand<T>], beta: T, out: &mut dyn Output<T>) -> Result<()> {
        if let Some(accumulating) = self.accumulating(beta)? {
            return accumulating.run_into(alpha, operands, beta, out);
        }
        let views: Vec<ArrayViewD<T>> = operands.iter().map(|operand| operand.view_dyn()).collect();
        let mut out = out.view_dyn_mut();
        let fits = self.check_whole(&views, &out);
        self.world.agree(fits)?;
        let operands = self.plan.leaves.iter().map(|&id| &self.plan.values[id]);
        let is_scattered = operands.chain([self.plan.output()]).any(|value| value.distribution.is_scattered());
        if is_scattered || self.groups.is_some() {
            return self.run_scattered(alpha, &views, beta, out);
        }
        if self.world.is_one_process() {
            return self.run_whole(alpha, &views, beta, out);
        }
        let (rank, shape) = (self.world.local_ranks().start, self.plan.output_shape());
        let distribution = self.plan.output().distribution.clone();
        let mut block = DistTensor::try_zeros(&self.world, &shape, &distribution)?;
        for (region, mut values) in block.blocks_mut().filter(|_| beta != T::ZERO) {
            values.assign(&part(out.view(), &region.only_box()));
        }
        self.each_slice(self.all_slices(), false, beta, |program, slice, beta| {
            let slots = bind(program.ranks[0].schedule(), |buffer| match buffer.home {
                Home::Operand(index) => program.operand_box(&views, index, buffer, slice),
                Home::Output => block
                    .block_mut(rank)
                    .map(|block| Slot::borrowed_mut(&mut program.slice_of(block, program.plan.output(), slice))),
                Home::Arena | Home::Exchange => None,
            });
            Ok((Factors::new(alpha, beta), vec![slots]))
        })?;
        self.gather_into(&block, &mut out)
    }

    /// Like [`Program::run_into`], with tensors in the plan's distributions ([`Plan::operand`], [`Plan::output`]);
    /// nothing is gathered. Collective. If the plan has a result in parts, this needs more memory than planned.
    ///
    /// # Errors
    /// Those of [`Program::run_into`].
    pub fn run_dist(&mut self, alpha: T, operands: &[&DistTensor<T>], beta: T, out: &mut DistTensor<T>) -> Result<()> {
        if let Some(accumulating) = self.accumulating(beta)? {
            return accumulating.run_dist(alpha, operands, beta, out);
        }
        self.run_blocks(self.all_slices(), alpha, operands, beta, out)
    }

    /// Makes the next run compute all values; call it on any rank once constant operands
    /// ([`crate::PlanOptions::constant`]) have changed.
    pub fn renew(&mut self) {
        self.holds = false;
        if let Some(accumulating) = &mut self.accumulating {
            accumulating.renew();
        }
    }

    pub(super) fn measuring(&self) -> &Program<T> {
        self.accumulating.as_deref().filter(|_| self.ran_accumulating).unwrap_or(self)
    }

    /// The variant that adds to `out`, if this `beta` needs it; the step that adds results of groups has its own.
    pub(super) fn accumulating(&mut self, beta: T) -> Result<Option<&mut Program<T>>> {
        self.ran_accumulating = beta != T::ZERO && !self.plan.accumulate && self.groups.is_none();
        if !self.ran_accumulating {
            return Ok(None);
        }
        let mut accumulating = match self.accumulating.take() {
            Some(accumulating) => accumulating,
            None => Box::new(Program::compile(&self.world, &Plan { accumulate: true, ..self.plan.clone() })?),
        };
        accumulating.on_slice.clone_from(&self.on_slice);
        Ok(Some(self.accumulating.insert(accumulating)))
    }

    pub(super) fn check_call(&self, operands: usize) -> Result<()> {
        if self.plan.ranks() > 1 && rayon::current_thread_index().is_some() {
            return Err(Error::Usage("a run on several ranks must not start inside a rayon worker".to_owned()));
        }
        if operands != self.plan.operands {
            return Err(Error::Usage(format!("{operands} operands for a plan of {}", self.plan.operands)));
        }
        Ok(())
    }

    pub(super) fn check_whole(&self, operands: &[ArrayViewD<T>], out: &ArrayViewMutD<T>) -> Result<()> {
        self.check_call(operands.len())?;
        for (index, view) in operands.iter().enumerate() {
            expect_shape(Tensor::Operand(index), view.shape(), self.plan.whole_dims(self.plan.operand(index)))?;
        }
        expect_shape(Tensor::Output, out.shape(), self.plan.whole_dims(self.plan.output()))
    }

    fn run_whole(&mut self, alpha: T, operands: &[ArrayViewD<T>], beta: T, mut out: ArrayViewMutD<T>) -> Result<()> {
        let ranks = self.plan.ranks();
        let Value { distribution, shape, .. } = self.plan.output();
        let boxes = (0..ranks).filter_map(|rank| Some((rank, distribution.block(shape, rank)?.only_box())));
        let (holders, boxes): (Vec<usize>, Vec<Bounds>) = boxes.unzip();
        // Only the first rank with a block writes it in place; other replicas are discarded.
        let mut replicas: Vec<ArrayD<T>> = Vec::new();
        self.each_slice(self.all_slices(), false, beta, |program, slice, beta| {
            let mut parts: Vec<Option<Slot>> = (0..ranks).map(|_| None).collect();
            let mut piece = program.slice_of(out.view_mut(), program.plan.output(), slice);
            let replicated = program.plan.output().distribution.replicas() > 1;
            let before = (replicated && beta != T::ZERO).then(|| copy_of(&piece.view()));
            let before = before.transpose().map_err(|cause| allocation_error(0, cause))?;
            let slots = Slot::borrowed_parts(&mut piece, &boxes);
            replicas.clear();
            for ((&rank, bounds), slot) in holders.iter().zip(&boxes).zip(slots) {
                parts[rank] = slot;
                if parts[rank].is_none() {
                    let extents: Vec<usize> = bounds.iter().map(ExactSizeIterator::len).collect();
                    let replica = match &before {
                        Some(before) => copy_of(&part(before.view(), bounds)),
                        None => zero_array(&extents),
                    };
                    replicas.push(replica.map_err(|cause| allocation_error(rank, cause))?);
                    parts[rank] = replicas.last_mut().map(|replica| Slot::borrowed_mut(&mut replica.view_mut()));
                }
            }
            let bound = program.ranks.iter().zip(parts).map(|(rank, mut output)| {
                bind(rank.schedule(), |buffer| match buffer.home {
                    Home::Operand(index) => program.operand_box(operands, index, buffer, slice),
                    Home::Output => output.take(),
                    Home::Arena | Home::Exchange => None,
                })
            });
            Ok((Factors::new(alpha, beta), bound.collect()))
        })
    }

    fn operand_box(&self, operands: &[ArrayViewD<T>], index: usize, buffer: &Buffer, slice: usize) -> Option<Slot> {
        let view = self.slice_of(operands[index].view(), self.plan.operand(index), slice);
        let region = &buffer.place.as_ref()?.region;
        Some(Slot::borrowed(&part(view, &region.only_box())))
    }

    fn all_slices(&self) -> Slices {
        Slices { run: 0..self.plan.slice_count(), output: ResultResidency::Whole, goes_on: false }
    }

    /// Runs every slice. For a slice and its `beta`, `bind` returns its [`Factors`] and each rank's user memory, of
    /// which operands in parts need less if it `reads` them. It must fail on all processes or none, because others are
    /// not notified.
    pub(super) fn each_slice(
        &mut self,
        slices: Slices,
        reads: bool,
        beta: T,
        mut bind: impl FnMut(&Self, usize, T) -> Result<(Factors, Vec<Slots>)>,
    ) -> Result<()> {
        if slices.run.start == 0 {
            // Frees the last measurements first.
            self.record = Record::default();
            self.bound_bytes = Vec::new();
        }
        // The values of a failed run must not be reused.
        let holds = self.all_hold()?;
        self.holds = false;
        let first = slices.run.start;
        for slice in slices.run.clone() {
            let lasts = if slice > first || slices.goes_on {
                Some(ReuseScope::Run)
            } else {
                holds.then_some(ReuseScope::Program)
            };
            self.ranks.iter_mut().for_each(|rank| rank.hold(lasts));
            let beta = if self.plan.begins(slice) { beta } else { T::ONE };
            let (factors, bound) = bind(self, slice, beta)?;
            self.execute(factors, bound, slices.output, reads)?;
            self.report_slices(slice + 1);
        }
        self.holds = true;
        Ok(())
    }

    /// Whether all ranks still have the values of constant operands; otherwise all recompute them. Collective.
    pub(super) fn all_hold(&self) -> Result<bool> {
        if self.plan.constant.is_empty() || self.world.is_one_process() {
            return Ok(self.holds);
        }
        Ok(self.world.all_gather(&[u8::from(self.holds)])?.iter().all(|holds| holds == &[1]))
    }

    pub(super) fn slice_of<S: RawData>(
        &self,
        mut view: ArrayBase<S, IxDyn>,
        value: &Value,
        slice: usize,
    ) -> ArrayBase<S, IxDyn> {
        for (axis, bounds) in self.slice_bounds(value, slice).into_iter().flatten() {
            view.slice_axis_inplace(axis, bounds);
        }
        view
    }

    /// A slice's index range in each of a value's sliced dimensions, which every block has in full.
    fn slice_bounds(&self, value: &Value, slice: usize) -> Option<impl Iterator<Item = (Axis, Slice)>> {
        if self.plan.slices.is_empty() {
            return None;
        }
        let starts = self.plan.slice_starts(slice, &value.labels);
        let dims = value.labels.iter().zip(value.shape.clone()).enumerate().zip(starts);
        let sliced = dims.filter(|((_, (label, _)), _)| self.plan.slices.iter().any(|slice| slice.label == **label));
        Some(sliced.map(|((at, (_, piece)), start)| (Axis(at), Slice::from(start..start + piece))))
    }

    pub(super) fn execute(
        &mut self,
        factors: Factors,
        bound: Vec<Slots>,
        output: ResultResidency,
        reads: bool,
    ) -> Result<()> {
        let element = size_of::<T>() as u64;
        let bytes =
            |slots: &Slots| slots.iter().map(|(_, slot)| slot.extents().iter().product::<usize>() as u64).sum::<u64>();
        let outside =
            |(rank, slots): (usize, &Slots)| bytes(slots) * element + self.plan.bytes_outside(rank, output, reads);
        self.bound_bytes = self.world.local_ranks().zip(&bound).map(outside).collect();
        let metrics = launch(&self.world, &self.plan, &mut self.ranks, factors, bound)?;
        self.count_run(metrics);
        Ok(())
    }

    pub(super) fn count_run(&mut self, metrics: Vec<Metrics>) {
        for (program, metrics) in self.ranks.iter().zip(&metrics) {
            self.world.count(metrics.moved(program.schedule()));
        }
        self.record.add(&self.ranks, &self.plan, metrics);
    }
}

pub(super) fn bind(schedule: &Schedule, mut slot: impl FnMut(&Buffer) -> Option<Slot>) -> Slots {
    let users = schedule.buffers.iter().filter(|buffer| matches!(buffer.home, Home::Operand(_) | Home::Output)).count();
    let mut slots = Slots::with_capacity(users);
    slots.extend(schedule.buffers.iter().enumerate().filter_map(|(id, buffer)| Some((id, slot(buffer)?))));
    slots
}
