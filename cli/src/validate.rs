//! Checks flags against each other, the files and the world, and plans the run.
//!
//! Guarantee: if any rank returns an error, all ranks return one.

use std::time::{Duration, Instant};

use einsum_dist::api::{host, start_threads};
use einsum_dist::comm::launcher::launcher;
use einsum_dist::dtype::Dtype;
use einsum_dist::exec::ResolvedKernel;
use einsum_dist::io::output::display_path;
use einsum_dist::local_plan::Target;
use einsum_dist::plan::{AlgorithmName, FixedDistributions, GivenPath, PlanError, SearchedTree};
use einsum_dist::report::PathSearchReport;
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{Checkpoint, Error, Machine, Plan, PlanOptions, Problem, Shaped, World};

use super::args::Args;
use super::check::budget;
use super::config::RunConfig;
use super::failure::{Failure, say};
use super::inputs::Headers;
use super::sizes::Sizes;
use super::start::{MAX_WORKERS, agree, check_flags, usage};
use super::units::{self, counted};
use super::{Result, inputs, path_speed, paths, progress};

/// Maximum ranks to explain given distributions; verifying them takes up to a minute.
const MAX_DISTRIBUTED_RANKS: usize = 512;

const MAX_MACHINE_FILE_MIB: u64 = 1;

impl RunConfig {
    /// Checks the flags. Collective.
    pub fn new(world: &World, mut args: Args) -> Result<RunConfig> {
        let mut request = Request::checked(world, &mut args)?;
        let checkpoint = args.checkpoint.as_ref().filter(|_| args.machine.is_none());
        let mut checkpoint = checkpoint.map(|path| Checkpoint::open(world, path)).transpose()?;
        let started = Instant::now();
        let planned = request.planned(world, &args, checkpoint.as_mut())?;
        let mut config = agree(world, RunConfig::local(world, args, request, (planned, started), checkpoint))?;
        if config.args.check && !config.args.explains() {
            config.check_bytes = budget::here(world, &config.plan, &config.tree, config.check_bytes)?;
        }
        if let Some(path) = &config.args.path_out {
            world.write_text(path, &(config.plan.path_json() + "\n"))?;
        }
        Ok(config)
    }

    /// Checks what one rank can check of a plan.
    pub fn local(
        world: &World,
        args: Args,
        Request { shaped, machine, options, resolved_kernel, default_sizes, .. }: Request,
        (Planned { searched, path_seconds, plan, check_bytes, largest }, started): (Planned, Instant),
        checkpoint: Option<Checkpoint>,
    ) -> Result<RunConfig> {
        let dtype = options.dtype;
        for limit in searched.limits.iter().filter(|_| world.is_root() && !args.quiet) {
            say!("warning: {limit}");
        }
        let path_search = PathSearchReport::of(&plan, &searched, path_seconds);
        let (tree, plan_seconds) = (searched.tree, started.elapsed().as_secs_f64());
        check_idle(world, &args, &tree, &plan, largest)?;
        let one_rank_plan = if args.explains() { one_rank_plan(&shaped, &tree, &machine, &options) } else { None };
        warn_of_no_effect(world, &args, dtype, &plan);
        Ok(RunConfig {
            tree,
            plan,
            one_rank_plan,
            chosen_limit: options.memory_limit.filter(|_| args.memory_limit.is_none()),
            path_search,
            plan_seconds,
            resolved_kernel,
            checkpoint: checkpoint.map(|checkpoint| checkpoint.every(Duration::from_secs_f64(args.checkpoint_every))),
            default_sizes,
            check_bytes,
            args,
        })
    }
}

/// What is to be planned, before an order is searched.
#[derive(Clone)]
pub struct Request {
    pub(super) shaped: Shaped,
    machine: Machine,
    pub(super) options: PlanOptions,
    resolved_kernel: ResolvedKernel,
    default_sizes: bool,
    /// The text of `--machine`, which may be a pipe.
    file: Option<String>,
}

/// A tree and its plan, the check's bytes, and the elements of the largest operand or result.
pub struct Planned {
    searched: SearchedTree,
    path_seconds: f64,
    pub(super) plan: Plan,
    check_bytes: u64,
    largest: usize,
}

impl Request {
    /// Checks the flags, except against a plan, and reads the files that they name. Collective.
    pub fn checked(world: &World, args: &mut Args) -> Result<Request> {
        agree(world, check_flags(args).and_then(|()| paths::check(world, args)))?;
        paths::tidy(world, args);
        let text = inputs::expression(world, args.expression.as_deref().unwrap_or_default())?;
        let workers = match args.workers {
            Some(workers) => workers.into(),
            None => world.default_workers()?,
        };
        warn_if_starved(world, args)?;
        let target = shared_target(world, args, workers)?;
        // Explained on all cores.
        let explaining = (args.explains() && launcher().is_none()).then(host::processors);
        let machine = if runs_here(world, args, workers) {
            world.place(workers)?;
            // It generates random operands, and runs a single rank's tasks.
            world.agree(start_threads(explaining.unwrap_or(workers)))?;
            world.machine(workers)?
        } else {
            world.agree(start_threads(explaining.unwrap_or(workers.min(host::processors()))))?;
            Machine::new(1, workers)
        };
        let speed = path_speed::shared(world, args, workers)?;
        args.path = inputs::text(world, &args.path, "--path")?;
        agree(world, Request::new(world, args, &text, machine, (target, speed)))
    }

    /// Checks the request's flags and files; rank 0 has determined `target` and `speed` (of path searches).
    pub fn new(
        world: &World,
        args: &Args,
        text: &str,
        here: Machine,
        (target, speed): (Option<Target>, f64),
    ) -> Result<Request> {
        let problem = Problem::parse(text)?;
        let headers = inputs::headers(args)?;
        let dtype = inputs::dtype(args, &headers)?;
        let (shaped, default_sizes) = shaped(args, &problem, &headers)?;
        let file = machine_file(args)?;
        let described = described(args, file.as_deref(), args.ranks.map(usize::from))?;
        let ranks = match &described {
            Some(machine) => machine.ranks,
            None if world.ranks() > 1 => world.ranks(),
            None => args.ranks.map_or(1, usize::from),
        };
        check_explained(args, ranks)?;
        if args.exponent && args.accumulate.is_some() {
            return Err(usage(
                "--exponent cannot be used with --accumulate: the output has another scale than the array",
            ));
        }
        if args.exponent && args.checkpoint.is_some() {
            return Err(usage(
                "--exponent cannot be used with --checkpoint: slices may be repeated with another scale",
            ));
        }
        let options = options(args, dtype, target)?.path_speed(speed);
        let resolved_kernel = ResolvedKernel::resolve(options.kernel, dtype)?;
        let machine = described.unwrap_or(Machine { ranks, ..here });
        Ok(Request { shaped, machine, options, resolved_kernel, default_sizes, file })
    }

    /// The same on another number of ranks.
    pub fn on(&self, args: &Args, ranks: usize) -> Result<Request> {
        let machine =
            described(args, self.file.as_deref(), Some(ranks))?.unwrap_or(Machine { ranks, ..self.machine.clone() });
        Ok(Request { machine, ..self.clone() })
    }

    /// Plans the tree of an interrupted run, the cache or a search, with a memory limit if necessary. Collective.
    pub fn planned(&mut self, world: &World, args: &Args, checkpoint: Option<&mut Checkpoint>) -> Result<Planned> {
        let Request { shaped, machine, options, .. } = &*self;
        if let Some((searched, machine, options)) = checkpoint.as_ref().and_then(|it| it.tree(shaped, machine, options))
        {
            (self.machine, self.options) = (machine, options);
            return agree(world, self.plan(args, searched, 0.0));
        }
        if args.machine.is_none() {
            self.options = world.with_free_memory(&self.options)?;
        }
        let mut planned = self.searched_and_planned(world, args)?;
        if let Some(limited) = world.within_memory(&planned.plan, &planned.searched, &self.options)? {
            let unlimited = std::mem::replace(&mut self.options, limited);
            if let Ok(limited) = self.searched_and_planned(world, args) {
                planned = Planned { path_seconds: planned.path_seconds + limited.path_seconds, ..limited };
            } else {
                self.options = unlimited;
            }
        }
        if let Some(checkpoint) = checkpoint {
            checkpoint.keep(&self.shaped, &planned.searched, &self.machine, &self.options);
        }
        Ok(planned)
    }

    /// Searches and plans. Collective.
    fn searched_and_planned(&mut self, world: &World, args: &Args) -> Result<Planned> {
        let started = Instant::now();
        let searched = self.searched(world, args)?;
        agree(world, self.plan(args, searched, started.elapsed().as_secs_f64()))
    }

    pub(super) fn plan(&mut self, args: &Args, searched: SearchedTree, path_seconds: f64) -> Result<Planned> {
        let Request { shaped, machine, options, .. } = self;
        let tree = &searched.tree;
        let largest = check_extents(tree, options.dtype)?;
        if let Some(text) = &args.distribution {
            options.fixed =
                FixedDistributions::within(text, tree, machine.ranks).map_err(|error| with_flag_name(error.into()))?;
        }
        let within = |memory_limit| shaped.plan_tree(tree, machine, &options.clone().memory_limit(memory_limit));
        let (plan, check_bytes) = if args.check {
            budget::plan_beside(tree, options.memory_limit, within)?
        } else {
            (within(options.memory_limit).map_err(with_flag_name)?, 0)
        };
        Ok(Planned { searched, path_seconds, plan, check_bytes, largest })
    }

    /// Takes the tree from the cache, or else searches. Collective.
    pub(super) fn searched(&self, world: &World, args: &Args) -> Result<SearchedTree> {
        let Request { shaped, machine, options, .. } = self;
        let shows = world.is_root() && !args.quiet;
        let searched = progress::during_search(shows, |watch| {
            shaped.cached_tree(world, args.path_cache.as_deref(), machine, options, watch)
        });
        let (searched, warnings) = agree(world, searched.map_err(with_flag_name))?;
        for warning in warnings.iter().filter(|_| shows) {
            say!("warning: --path-cache: {warning}");
        }
        Ok(searched)
    }
}

/// Adds the operands' shapes (of files or `--size`) to the problem; returns whether any extent is a default.
fn shaped(args: &Args, problem: &Problem, headers: &Headers) -> Result<(Shaped, bool)> {
    let sizes = Sizes::parse(&args.size, problem.expression())?;
    let (shapes, default_sizes) = if args.operands.is_empty() {
        sizes.shapes(problem)?
    } else {
        (headers.operands.iter().map(|header| header.shape.clone()).collect(), false)
    };
    let shaped = problem.shapes(&shapes)?;
    if !args.operands.is_empty() {
        sizes.agree(problem.expression(), &shapes)?;
    }
    let output = shaped.output_shape();
    match (&args.accumulate, &headers.accumulate) {
        (Some(path), Some(header)) if header.shape != output => {
            let (name, shape) = (display_path(path), &header.shape);
            Err(usage(format!("{name} has shape {shape:?}, the result has {output:?}")))
        }
        _ => Ok((shaped, default_sizes)),
    }
}

fn warn_of_no_effect(world: &World, args: &Args, dtype: Dtype, plan: &Plan) {
    if args.quiet || !world.is_root() {
        return;
    }
    if args.dtype.is_some() && !args.operands.is_empty() {
        say!("warning: --dtype is for random operands; these files make it {dtype}");
    }
    if args.checkpoint.is_some() && plan.slice_count() == 1 {
        say!("warning: --checkpoint saves nothing, as this plan has a single slice");
    }
    let (asked, groups) = (args.slice_groups.map_or(1, usize::from), plan.slice_groups);
    if asked > 1 && groups != asked {
        say!("warning: the plan has {} of ranks, not {asked} as in --slice-groups", counted(groups, "group"));
    }
    if args.no_overlap && (args.explains() || args.verbose) {
        say!("warning: what is predicted overlaps; --no-overlap is for runs and for what --simulate plays");
    }
}

fn with_flag_name(error: Error) -> Failure {
    Failure::Library(match error {
        Error::Plan(PlanError::Distribution(why)) => PlanError::Distribution(format!("--distribution: {why}")).into(),
        Error::Plan(PlanError::Path(why)) => PlanError::Path(format!("--path: {why}")).into(),
        Error::Plan(error @ PlanError::UnknownCut(_)) => Error::Usage(format!("--cut: {error}")),
        other => other,
    })
}

/// Whether the plan is for this world's ranks, and its workers are permitted.
fn runs_here(world: &World, args: &Args, workers: usize) -> bool {
    args.machine.is_none()
        && args.scaling.is_none()
        && workers <= MAX_WORKERS
        && (args.ranks.is_none() || args.ranks.map(usize::from) == Some(world.ranks()))
}

fn machine_file(args: &Args) -> Result<Option<String>> {
    let text = args.machine.as_deref().map(|path| inputs::text_of(path, MAX_MACHINE_FILE_MIB));
    text.transpose().map_err(|what| invalid_machine(args, &what))
}

fn invalid_machine(args: &Args, what: &str) -> Failure {
    let path = args.machine.as_deref().unwrap_or("".as_ref());
    usage(format!("--machine {}: {what}", display_path(path)))
}

fn described(args: &Args, file: Option<&str>, ranks: Option<usize>) -> Result<Option<Machine>> {
    let Some(text) = file else { return Ok(None) };
    let machine = Machine::from_toml_with(text, ranks).map_err(|what| invalid_machine(args, &what))?;
    Ok(Some(Machine { workers: args.workers.map_or(machine.workers, usize::from), ..machine }))
}

/// The plan with which `--explain` compares: a single rank, which also uses the core for communication.
fn one_rank_plan(shaped: &Shaped, tree: &Tree, machine: &Machine, options: &PlanOptions) -> Option<Plan> {
    let (_, placement) = machine.placement()?;
    let spare = usize::from(placement.places.first()?.spare);
    let one = Machine { workers: machine.workers + spare, ..machine.part(0..1) };
    let options = options.clone().algorithm(None).cut(Vec::new()).fixed(FixedDistributions::default());
    if machine.ranks > 1 { shaped.plan_tree(tree, &one, &options).ok() } else { None }
}

/// Rank 0's target, for the shared plan. Collective.
fn shared_target(world: &World, args: &Args, workers: usize) -> Result<Option<Target>> {
    // Unavailable kernels are refused once the element type is known.
    let kernel = args.kernel.parse().unwrap_or_default();
    let mine = ResolvedKernel::resolve(kernel, Dtype::Float32)
        .ok()
        .and_then(|resolved_kernel| resolved_kernel.target(workers));
    let gathered = world.all_gather(&serde_json::to_vec(&mine).unwrap_or_default())?;
    Ok(gathered.first().and_then(|bytes| serde_json::from_slice(bytes).ok()).flatten())
}

fn options(args: &Args, dtype: Dtype, target: Option<Target>) -> Result<PlanOptions> {
    let algorithm = match args.algorithm.as_str() {
        "auto" => None,
        name => Some(name.parse::<AlgorithmName>().map_err(|error| usage(format!("--algorithm: {error}")))?),
    };
    let cut: Vec<String> =
        args.cut.iter().flat_map(|cut| cut.split(',')).map(|label| label.trim().to_owned()).collect();
    if cut.len() > 2 || cut.iter().any(String::is_empty) {
        return Err(usage("--cut takes a label, or two: m,n"));
    }
    let limit = |text: &str| match units::parse_bytes(text)? {
        0 => Err(format!("`{text}` leaves no byte for anything")),
        bytes => Ok(bytes),
    };
    let memory_limit = args.memory_limit.as_deref().map(limit).transpose();
    let GivenPath { order, sliced } = args.path.parse().map_err(|error: String| usage(format!("--path: {error}")))?;
    Ok(PlanOptions::default()
        .dtype(dtype)
        .algorithm(algorithm)
        .objective(args.objective.parse().map_err(|error: String| usage(format!("--objective: {error}")))?)
        .cut(cut)
        .accumulate(args.accumulate.is_some())
        .memory_limit(memory_limit.map_err(|error| usage(format!("--memory-limit: {error}")))?)
        .in_parts(args.checkpoint.is_none() && !args.exponent)
        .operands_in_parts(!args.exponent)
        .idle(args.idle)
        .slice_groups(args.slice_groups.map(usize::from))
        .reorder(args.reorder.parse().map_err(|error: String| usage(format!("--reorder: {error}")))?)
        .forbid_redistribution(args.forbid_redistribution)
        .path(order)
        .sliced(sliced)
        .path_seconds(args.path_time)
        .runs(args.runs.unwrap_or(args.repeat).get() as usize)
        .target(target)
        .layout(!args.no_layout)
        .kernel(args.kernel.parse().map_err(|error: String| usage(format!("--kernel: {error}")))?))
}

fn check_extents(tree: &Tree, dtype: Dtype) -> Result<usize> {
    let mut largest = 0;
    for (id, node) in tree.nodes.iter().enumerate() {
        let shape = tree.shape(&node.labels);
        // An extent of 0 must not hide an overflow.
        let fits = shape.iter().filter(|&&n| n > 0).try_fold(dtype.size(), |bytes, &n| bytes.checked_mul(n));
        if fits.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            let term = tree.term(&node.labels);
            return Err(usage(format!("tensor `{term}` of shape {shape:?} is larger than memory can be")));
        }
        let is_leaf = matches!(node.step, Step::Leaf { .. });
        if is_leaf || id == tree.root() {
            largest = largest.max(shape.iter().product());
        }
    }
    Ok(largest)
}

/// Warns on rank 0 (or fails with `--strict-ranks`) if there are more ranks than elements (`largest`: of the largest
/// operand or result) or units of work ([`most_work`]). Only `--explain` reports ranks that are idle because the plan
/// is then faster.
fn check_idle(world: &World, args: &Args, tree: &Tree, plan: &Plan, largest: usize) -> Result<()> {
    let ranks = plan.ranks();
    // Idle ranks of a default number do not matter.
    let asked = args.ranks.is_some() || args.machine.is_some() || launcher().is_some();
    // `--explain` and `--simulate` report idle ranks.
    let too_many = ranks > largest || ranks as f64 > most_work(tree);
    let warns = too_many && world.is_root() && !args.quiet && !args.explains();
    if ranks == 1 || !asked || !(warns || args.strict_ranks) {
        return Ok(());
    }
    let idle = plan.idle_ranks();
    if idle == 0 {
        return Ok(());
    }
    let have = if idle == 1 { "has no task and holds" } else { "have no task and hold" };
    if args.strict_ranks {
        let work = if largest > 0 && ranks > largest {
            format!("the {} of the largest tensor", counted(largest, "element"))
        } else {
            "this plan shares its work among".to_owned()
        };
        return Err(usage(format!(
            "{ranks} ranks are more than {work}: {idle} {have} no block; take fewer, or leave --strict-ranks out"
        )));
    }
    if warns {
        let are = if idle == 1 { "is idle: it" } else { "are idle: they" };
        say!("warning: {idle} of {ranks} ranks {are} {have} no block");
    }
    Ok(())
}

/// The largest step's work: a contraction's products, or another's input elements.
fn most_work(tree: &Tree) -> f64 {
    let work = |id: usize| match &tree.nodes[id].step {
        Step::Leaf { .. } => 0.0,
        Step::Unary { input, .. } => {
            tree.shape(&tree.nodes[*input].labels).iter().map(|&extent| extent as f64).product()
        }
        Step::Contract { .. } => tree.products(id),
    };
    (0..tree.nodes.len()).map(work).fold(0.0, f64::max)
}

fn check_explained(args: &Args, ranks: usize) -> Result<()> {
    if args.distribution.is_some() && args.explains() && ranks > MAX_DISTRIBUTED_RANKS {
        return Err(usage(format!(
            "--distribution is explained for at most {MAX_DISTRIBUTED_RANKS} ranks, as each may exchange with all others; there are {ranks}"
        )));
    }
    Ok(())
}

/// Warns on rank 0 if a launcher bound a rank to fewer cores than workers. Collective.
pub fn warn_if_starved(world: &World, args: &Args) -> Result<()> {
    if launcher().is_none() || args.explains() {
        return Ok(());
    }
    if let Some(starved) = world.starved(args.workers.map(usize::from))?
        && world.is_root()
        && !args.quiet
    {
        say!("warning: {starved}; try mpirun --bind-to none, or --map-by numa --bind-to numa");
    }
    Ok(())
}
