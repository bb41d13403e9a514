//! All flags together, checked against each other, the files and the world: what remains is to run.
//!
//! Invariant: every rank of the world has the same [`RunConfig`], or none has one.

use std::path::{Path, PathBuf};
use std::time::Instant;

use einsum_dist::api::host;
use einsum_dist::dtype::Dtype;
use einsum_dist::exec::{Contractor, kernel_name};
use einsum_dist::local::Target;
use einsum_dist::plan::{AlgorithmName, Fixed, MOST_PLAYED, PipelineChoice};
use einsum_dist::tree::Tree;
use einsum_dist::{Machine, Options, Plan, Problem, World};

use super::args::Args;
use super::sizes::Sizes;
use super::start::{agree, check_flags, usage};
use super::units::{self, counted};
use super::{Result, inputs};

/// A run that was found possible.
#[derive(Debug)]
pub struct RunConfig {
    pub tree: Tree,
    pub plan: Plan,
    /// Seconds that planning took.
    pub plan_seconds: f64,
    /// What contracts on this machine.
    pub contractor: Contractor,
    pub operands: Vec<PathBuf>,
    pub output: Option<PathBuf>,
    pub accumulate: Option<PathBuf>,
    pub seed: u64,
    pub repeat: usize,
    pub warmup: usize,
    /// Some extents are the default's.
    pub default_sizes: bool,
    pub check: bool,
    pub explain: bool,
    pub simulate: bool,
    pub trace: Option<PathBuf>,
    pub timeline: Option<PathBuf>,
    pub json: bool,
    pub verbose: bool,
    pub quiet: bool,
}

impl RunConfig {
    /// Checks the flags. Collective.
    ///
    /// # Errors
    /// The first thing that is wrong, on any rank.
    pub fn new(world: &World, args: Args) -> Result<RunConfig> {
        agree(world, check_flags(&args))?;
        let text = inputs::expression(world, args.expression.as_deref().unwrap_or_default())?;
        let workers = default_workers(world, &args)?;
        let target = shared_target(world, &args, workers)?;
        let machine = if runs_here(world, &args) {
            world.place(workers)?;
            // Random operands, and a rank without peers, compute in the global pool, which whatever comes first would build with a
            // thread for each core. It fails only where one exists, which then serves.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(workers).build_global();
            world.machine(workers)?
        } else {
            Machine::new(1, workers)
        };
        agree(world, RunConfig::local(world, args, &text, machine, target))
    }

    /// The name of what multiplies, of the ranks that are looked at.
    pub fn kernel(&self) -> &'static str {
        let ranks = self.plan.looked_at();
        kernel_name(self.contractor, self.plan.dtype, ranks.iter().map(|&rank| self.plan.schedule(rank)))
    }

    /// What one rank can find out by itself. `target`: what the kernels of rank 0 have.
    fn local(world: &World, args: Args, text: &str, here: Machine, target: Option<Target>) -> Result<RunConfig> {
        let problem = Problem::parse(text)?;
        let expression = problem.expression();
        let sizes = Sizes::parse(&args.size, expression)?;
        let headers = inputs::headers(&args)?;
        if world.is_root() {
            inputs::can_show(&args)?;
        }
        let dtype = inputs::dtype(&args, &headers)?;
        let (shapes, default_sizes) = if args.operands.is_empty() {
            sizes.shapes(&problem)?
        } else {
            (headers.operands.iter().map(|header| header.shape.clone()).collect(), false)
        };
        let shaped = problem.shapes(&shapes)?;
        if !args.operands.is_empty() {
            sizes.agree(expression, &shapes)?;
        }
        let described = args.machine.as_deref().map(machine).transpose()?;
        let ranks = match &described {
            Some(machine) => args.ranks.map_or(machine.ranks, usize::from),
            None if world.ranks() > 1 => world.ranks(),
            None => args.ranks.map_or(1, usize::from),
        };
        let output = shaped.output_shape();
        match (&args.accumulate, &headers.accumulate) {
            (Some(path), Some(header)) if header.shape != output => {
                let (name, shape) = (path.display(), &header.shape);
                return Err(usage(format!("{name} has shape {shape:?}, the result has {output:?}")));
            }
            _ => {}
        }
        let mut options = options(&args, dtype, target)?;
        let contractor = Contractor::resolve(options.kernel, dtype)?;
        let started = Instant::now();
        let machine = match described {
            Some(machine) => {
                let workers = args.workers.map_or(machine.workers, usize::from);
                Machine { ranks, workers, ..machine }
            }
            None => Machine { ranks, ..here },
        };
        let tree = shaped.tree(&machine, &options)?;
        check_extents(&tree, dtype, ranks)?;
        if let Some(text) = &args.distribution {
            options.fixed = Fixed::of(text, &tree).map_err(|error| usage(format!("--distribution: {error}")))?;
        }
        let plan = shaped.plan_tree(&tree, &machine, &options)?;
        let plan_seconds = started.elapsed().as_secs_f64();
        let shown = [("--timeline draws", &args.timeline), ("--trace shows", &args.trace)];
        if let Some((shows, _)) = shown.iter().find(|(_, path)| path.is_some() && args.simulate && ranks > MOST_PLAYED)
        {
            return Err(usage(format!("{shows} {MOST_PLAYED} ranks at most without a run, the plan has {ranks}")));
        }
        if args.dtype.is_some() && !args.operands.is_empty() && !args.quiet && world.is_root() {
            eprintln!("warning: --dtype is for random operands; these files make it {dtype}");
        }
        Ok(RunConfig {
            tree,
            plan,
            plan_seconds,
            contractor,
            operands: args.operands,
            output: args.output,
            accumulate: args.accumulate,
            seed: args.seed,
            repeat: args.repeat.get() as usize,
            warmup: args.warmup as usize,
            default_sizes,
            check: args.check,
            explain: args.explain || args.simulate,
            simulate: args.simulate,
            trace: args.trace,
            timeline: args.timeline,
            json: args.json,
            verbose: args.verbose,
            quiet: args.quiet,
        })
    }
}

/// Whether the plan is for this world, whose machine can be measured.
fn runs_here(world: &World, args: &Args) -> bool {
    args.machine.is_none() && (args.ranks.is_none() || args.ranks.map(usize::from) == Some(world.ranks()))
}

/// The machine that a file describes.
fn machine(path: &Path) -> Result<Machine> {
    let said = |what: String| usage(format!("--machine {}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
    Machine::from_toml(&text).map_err(said)
}

/// What local plans are made for, on rank 0: one plan serves all ranks. Collective.
fn shared_target(world: &World, args: &Args, workers: usize) -> Result<Option<Target>> {
    // A kernel that cannot be had is refused later, with the element type at hand.
    let kernel = args.kernel.parse().unwrap_or_default();
    let mine = Contractor::resolve(kernel, Dtype::Float32).ok().and_then(|contractor| contractor.target(workers));
    let told = world.all_gather(&serde_json::to_vec(&mine).unwrap_or_default())?;
    Ok(told.first().and_then(|bytes| serde_json::from_slice(bytes).ok()).flatten())
}

fn options(args: &Args, dtype: Dtype, target: Option<Target>) -> Result<Options> {
    let algorithm = match args.algorithm.as_str() {
        "auto" => None,
        name => Some(name.parse::<AlgorithmName>().map_err(usage)?),
    };
    let cut: Vec<String> =
        args.cut.iter().flat_map(|cut| cut.split(',')).map(|label| label.trim().to_owned()).collect();
    if cut.len() > 2 || cut.iter().any(String::is_empty) {
        return Err(usage("--cut takes a label, or two: m,n"));
    }
    let memory_limit = args.memory_limit.as_deref().map(units::parse_bytes).transpose();
    Ok(Options {
        dtype,
        algorithm,
        fixed: Fixed::default(),
        cut,
        accumulate: args.accumulate.is_some(),
        constant: Vec::new(),
        memory_limit: memory_limit.map_err(|error| usage(format!("--memory-limit: {error}")))?,
        in_parts: true,
        spread: false,
        idle: args.idle,
        reorder: args.reorder.parse().map_err(|error: String| usage(format!("--reorder: {error}")))?,
        forbid_redistribution: args.forbid_redistribution,
        pipeline: PipelineChoice::Auto,
        step_by_step: false,
        path: args.path.parse().map_err(|error: String| usage(format!("--path: {error}")))?,
        target,
        layout: !args.no_layout,
        kernel: args.kernel.parse().map_err(|error: String| usage(error))?,
    })
}

/// Refuses tensors that no address space holds, and ranks that could have nothing to do.
fn check_extents(tree: &Tree, dtype: Dtype, ranks: usize) -> Result<()> {
    let mut largest = 0;
    for (id, node) in tree.nodes.iter().enumerate() {
        let shape = tree.shape(&node.labels);
        // As for arrays in memory, an extent of 0 does not hide that the others overflow.
        let fits = shape.iter().filter(|&&n| n > 0).try_fold(dtype.size(), |bytes, &n| bytes.checked_mul(n));
        if fits.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            let term = tree.term(&node.labels);
            return Err(usage(format!("tensor `{term}` of shape {shape:?} is larger than memory can be")));
        }
        let is_leaf = matches!(node.step, einsum_dist::tree::Step::Leaf { .. });
        if is_leaf || id == tree.root() {
            largest = largest.max(shape.iter().product());
        }
    }
    if largest > 0 && ranks > largest {
        let elements = counted(largest, "element");
        return Err(usage(format!("{ranks} ranks are more than the {elements} of the largest tensor")));
    }
    Ok(())
}

/// Compute threads of each rank: the share of the cores that this process may use, the same on every rank. Collective.
fn default_workers(world: &World, args: &Args) -> Result<usize> {
    if let Some(workers) = args.workers {
        return Ok(workers.into());
    }
    let mut cores = host::cpus();
    if let Ok(parallelism) = std::thread::available_parallelism() {
        // A quota may allow less than the affinity mask.
        cores.truncate(parallelism.get());
    }
    // Processes that a launcher bound to cores of their own share with nobody.
    let mine = format!("{} {:?}", host::name(), host::cpus());
    let sharing = world.all_gather(mine.as_bytes())?.iter().filter(|theirs| **theirs == mine.as_bytes()).count();
    let ranks = world.ranks().max(args.ranks.map_or(1, usize::from));
    let sharing = if world.local_ranks().len() == world.ranks() { ranks } else { sharing };
    let share = cores.len() / sharing.max(1);
    let workers = if ranks > 1 && share > 1 { share - 1 } else { share.max(1) };
    // One plan serves all ranks.
    let all = world.all_gather(&(workers as u64).to_le_bytes())?;
    let read = |bytes: &Vec<u8>| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?) as usize);
    Ok(all.iter().filter_map(read).min().unwrap_or(workers))
}
