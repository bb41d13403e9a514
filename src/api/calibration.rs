//! Measures the rates of a world's machine in timed runs of small plans (`docs/placement.md`). `cache` stores them per
//! host.
//!
//! All processes use rank 0's rates. Limits: with different numbers of ranks per node, all links have the slowest
//! rates; only f32 is measured; other load is not modelled.

use std::path::PathBuf;
use std::time::Instant;

use super::cores::{MAX_THREADS_PER_CORE, crowded, load};
use super::dist_tensor::allocation_error;
use super::{DistTensor, Error, Problem, Program, Result, World, cache, host};
use crate::distribution::{Axis, Cut, Distribution, Owners, Role};
use crate::machine::{Link, Machine};
use crate::memory::probe;
use crate::plan::{AlgorithmName, FixedDistributions, Plan, PlanOptions};

/// Measured on one rank, because waking threads takes longer than these products.
const SMALL_SIDES: [usize; 4] = [16, 32, 64, 128];
/// Rates do not change above 1024.
const LARGE_SIDES: [usize; 3] = [256, 512, 1024];
const MOVE_RUNS: usize = 10;
/// Copied or received per rank to measure links.
const MOVED_ELEMENTS: usize = 1 << 22;
/// A node's network is shared if a single transfer is this much faster.
const MIN_SHARED_SPEEDUP: f64 = 1.2;
const FORMAT: u32 = 12;
/// Ranks count as equally fast if all speeds are this close to the mean.
const MAX_SPEED_DEVIATION: f64 = 0.02;

impl World {
    /// This world's machine, with measured rates, or defaults for more than 4 workers per core of a host, or too
    /// little memory. Collective. Cost: about two seconds for two ranks on two cores, more on slow links; later calls
    /// on the same host use the cache. Call [`World::place`] first, so that ranks have their own cores.
    ///
    /// # Errors
    /// If there are more ranks or workers than [`Machine::check`] allows, or if a measuring run fails.
    pub fn machine(&self, workers: usize) -> Result<Machine> {
        self.expect_size(workers)?;
        let plain = Machine::new(self.ranks(), workers);
        let file = self.remembered(workers)?;
        let known = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let known = known.filter(|text| Machine::from_toml(text).is_ok());
        let mine = if cache::is_off() { plain.to_toml() } else { known.unwrap_or_default() };
        let shared = self.of_root(&mine)?;
        if let Ok(machine) = Machine::from_toml(&shared)
            && !shared.is_empty()
        {
            return Ok(Machine { ranks: self.ranks(), workers, ..machine });
        }
        let crowded = crowded(&self.gather(&load(self.local_ranks().len() * workers))?, MAX_THREADS_PER_CORE);
        if crowded || self.agree(self.can_measure(workers)).is_err() {
            return Ok(plain);
        }
        let measured = self.of_root(&self.calibrate(workers)?.to_toml())?;
        if let Some(file) = file.filter(|_| self.is_root()) {
            cache::write(&file, &measured);
        }
        Machine::from_toml(&measured).map_err(Error::Usage)
    }

    fn can_measure(&self, workers: usize) -> Result<()> {
        if crowded(&[load(self.local_ranks().len() * workers)], MAX_THREADS_PER_CORE) {
            return Err(Error::Usage(format!("more than {MAX_THREADS_PER_CORE} workers per core are not measured")));
        }
        const BYTES_PER_RANK: usize = 3 * LARGE_SIDES[2] * LARGE_SIDES[2] * size_of::<f32>();
        let ranks = self.local_ranks();
        probe(ranks.len() * (BYTES_PER_RANK + 2 * self.most_summed() * size_of::<f32>()))
            .map_err(|cause| allocation_error(ranks.start, cause))
    }

    /// All ranks' sums exceed common caches.
    fn most_summed(&self) -> usize {
        ((8 * MOVED_ELEMENTS) / self.ranks()).max(4 * MOVED_ELEMENTS)
    }

    /// Collective.
    fn of_root(&self, mine: &str) -> Result<String> {
        let all = self.all_gather(mine.as_bytes())?;
        Ok(all.first().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default())
    }

    /// The path of the cache file. Collective.
    fn remembered(&self, workers: usize) -> Result<Option<PathBuf>> {
        let per_node = self.ranks_per_node()?;
        let (name, ranks) = (host::name(), self.ranks());
        let link = self.throttle().map_or_else(|| self.transport().to_owned(), |rate| format!("throttled-{rate}"));
        let placed = if self.shared().placed() { "-placed" } else { "" };
        Ok(cache::file(&format!("{name}-{ranks}x{workers}-{per_node}-{link}{placed}-{FORMAT}.toml")))
    }

    /// Measures the rates even if cached rates exist. Collective.
    ///
    /// # Errors
    /// Those of [`World::machine`], or with more than 4 workers per core of a process, or too little memory.
    pub fn calibrate(&self, workers: usize) -> Result<Machine> {
        self.expect_size(workers)?;
        self.agree(self.can_measure(workers))?;
        let machine = Machine::new(self.ranks(), workers);
        let per_worker = |amount: f64, seconds: f64| amount / (seconds.max(1e-9) * workers as f64);
        let first_run_seconds = self.first_run_seconds(&self.cubes(&machine, LARGE_SIDES[0])?)?;
        let startup_seconds = self.quickest(&self.cubes(&machine, 4)?, 20)?;
        let (block_rates, solo_speedup) = self.block_rates(&machine, startup_seconds)?;
        let flops = block_rates.iter().map(|[_, rate]| *rate).fold(0.0, f64::max);
        let (mut copy_rates, mut rate) = (Vec::new(), 0.0f64);
        for elements in [self.most_summed(), 1 << 23, 1 << 21, 1 << 18] {
            let seconds = after(startup_seconds, self.quickest(&self.sums(&machine, elements)?, MOVE_RUNS)?);
            let bytes = (elements * size_of::<f32>()) as f64;
            // Starting a run may take longer than a small sum.
            rate = rate.max(per_worker(bytes, seconds));
            copy_rates.insert(0, [bytes, rate]);
        }
        let stays = |elements: usize| self.moves(&machine, elements, &self.rows(|rank| rank));
        let copied = after(startup_seconds, self.quickest(&stays(MOVED_ELEMENTS)?, MOVE_RUNS)?);
        let new_bytes = (self.most_summed() / 2 * size_of::<f32>()) as f64;
        let new_memory_bandwidth = per_worker(new_bytes, self.first_run_seconds(&stays(self.most_summed() / 2)?)?);
        let memory_bandwidth = copy_rates[copy_rates.len() - 1][1];
        let speeds = self.speeds(&machine)?;
        // Cubes of side 4 on all ranks replace `startup_seconds` until `starts` has measured it.
        let measured = Machine {
            flops,
            memory_bandwidth,
            copy_rates,
            startup_seconds,
            first_run_seconds,
            new_memory_bandwidth,
            block_rates,
            solo_speedup,
            speeds,
            ..machine
        };
        let (startup_seconds, sync_overhead) = self.starts(&measured)?;
        if self.ranks() == 1 {
            return Ok(Machine { startup_seconds, sync_overhead, ..measured });
        }
        let (ranks, ranks_per_node) = (self.ranks(), self.ranks_per_node()?);
        let far = self.link(&measured, copied, |rank| (rank + ranks_per_node) % ranks)?;
        let near = if ranks_per_node == 1 {
            far
        } else {
            self.link(&measured, copied, |rank| rank - rank % ranks_per_node + (rank + 1) % ranks_per_node)?
        };
        let leads =
            |rank: usize| if rank.is_multiple_of(ranks_per_node) { (rank + ranks_per_node) % ranks } else { rank };
        let one = if ranks_per_node == 1 { far } else { self.link(&measured, copied, leads)? };
        let shared = one.bandwidth > MIN_SHARED_SPEEDUP * far.bandwidth;
        let measured = Machine {
            link_latency: far.latency,
            link_bandwidth: if shared { one.bandwidth } else { far.bandwidth },
            node_link_bandwidth: shared.then_some(far.bandwidth * ranks_per_node as f64),
            ranks_per_node,
            node_latency: near.latency,
            node_bandwidth: near.bandwidth,
            ..measured
        };
        let interference = self.interference(&measured)?;
        Ok(Machine { startup_seconds, sync_overhead, interference, ..measured })
    }

    /// How many seconds the first run takes longer than later ones. Collective.
    fn first_run_seconds(&self, plan: &Plan) -> Result<f64> {
        const LATER: usize = 3;
        let all = self.all_seconds_of(plan, LATER)?;
        let least = all[1..].iter().copied().fold(f64::INFINITY, f64::min);
        self.agreed((all[0] - least).max(0.0))
    }

    /// The rate of one worker for each cube size, and the speedup of a rank while all others wait.
    ///
    /// Each round measures all sizes, so clock frequencies affect all equally.
    fn block_rates(&self, machine: &Machine, startup_seconds: f64) -> Result<(Vec<[f64; 2]>, f64)> {
        const ROUNDS: usize = 5;
        const RUNS: usize = 3;
        let (mut small, mut large) = (SMALL_SIDES.map(|_| Vec::new()), LARGE_SIDES.map(|_| Vec::new()));
        let mut speedups = Vec::new();
        for _ in 0..ROUNDS {
            for (side, seconds) in SMALL_SIDES.into_iter().zip(&mut small) {
                seconds.push(self.solo_seconds(side, machine.workers, 5 * RUNS)?);
            }
            for (side, seconds) in LARGE_SIDES.into_iter().zip(&mut large) {
                seconds.push(after(startup_seconds, self.quickest(&self.cubes(machine, side)?, RUNS)?));
            }
            if self.ranks() > 1 {
                let all_ranks = after(startup_seconds, self.quickest(&self.cubes(machine, LARGE_SIDES[1])?, RUNS)?);
                speedups.push(all_ranks / self.solo_seconds(LARGE_SIDES[1], machine.workers, RUNS)?);
            }
        }
        let solo_speedup = if speedups.is_empty() { 1.0 } else { median(speedups).max(1.0) };
        let rate = |(side, seconds): (usize, Vec<f64>)| {
            2.0 * (side as f64).powi(3) / (machine.workers as f64 * median(seconds))
        };
        let mut small: Vec<f64> = SMALL_SIDES.into_iter().zip(small).map(rate).collect();
        let mut large: Vec<f64> = LARGE_SIDES.into_iter().zip(large).map(rate).collect();
        for at in 1..large.len() {
            large[at] = large[at].max(large[at - 1]);
        }
        // Small products may take less time than the start of a run.
        let mut max_rate = large[0];
        for rate in small.iter_mut().rev() {
            max_rate = max_rate.min(*rate / solo_speedup);
            *rate = max_rate;
        }
        let sides = SMALL_SIDES.into_iter().chain(LARGE_SIDES).map(|side| side as f64);
        Ok((sides.zip(small.into_iter().chain(large)).map(|(side, rate)| [side, rate]).collect(), solo_speedup))
    }

    /// On rank 0 while all others wait. Collective.
    fn solo_seconds(&self, side: usize, workers: usize, runs: usize) -> Result<f64> {
        let mine = if self.is_root() { one_rank_seconds(side, workers, runs) } else { Ok(0.0) };
        let answer = self.of_root(&mine.map_or_else(|error| error.to_string(), |seconds| seconds.to_string()))?;
        let seconds: f64 = answer.parse().map_err(|_| Error::Usage(answer))?;
        Ok(seconds.max(1e-9))
    }

    /// The ranks per host if several hosts have equally many, else 1. Collective.
    fn ranks_per_node(&self) -> Result<usize> {
        let hosts = self.all_gather(host::name().as_bytes())?;
        let each = hosts.iter().take_while(|name| Some(*name) == hosts.first()).count().max(1);
        let alike = hosts.chunks(each).all(|node| node.len() == each && node.iter().all(|name| *name == node[0]));
        Ok(if alike && hosts.len() == self.ranks() && each < self.ranks() { each } else { 1 })
    }

    /// Moves a row of a matrix from each rank to rank `to(rank)`. Each run first copies the rows, in `copied` seconds
    /// for [`MOVED_ELEMENTS`] elements each.
    fn link(&self, machine: &Machine, copied: f64, to: impl Fn(usize) -> usize) -> Result<Link> {
        let rows = self.rows(to);
        let [stays, goes] = [self.moves(machine, 1, &self.rows(|rank| rank))?, self.moves(machine, 1, &rows)?];
        // The median includes late threads, and the minimum runs that never wait.
        let latency = (self.quartile(&goes)? - self.quartile(&stays)?).max(1e-7);
        let all = after(
            machine.startup_seconds + latency,
            self.quickest(&self.moves(machine, MOVED_ELEMENTS, &rows)?, MOVE_RUNS)?,
        );
        // A transfer cannot be faster than a copy between the buffers of two ranks.
        let moved = (all - copied).max(copied).max(1e-9);
        Ok(Link { latency, bandwidth: (MOVED_ELEMENTS * size_of::<f32>()) as f64 / moved })
    }

    fn starts(&self, machine: &Machine) -> Result<(f64, f64)> {
        const SIDE: usize = 32;
        let plans = [
            self.products(machine, [4; 3], AlgorithmName::Local)?,
            self.products(machine, [SIDE; 3], AlgorithmName::Local)?,
            self.products(machine, [SIDE; 3], AlgorithmName::BatchParallel)?,
        ];
        let [startup_seconds, by_one, by_all] = self.median_seconds(&plans)?;
        // The cost model counts the time saved by sharing separately.
        let cube = 2.0 * (SIDE as f64).powi(3) / (machine.rate(SIDE as f64) * machine.workers as f64);
        let saved = (self.ranks() as f64 / machine.solo_speedup - 1.0) * cube;
        Ok((startup_seconds, if self.ranks() > 1 { (by_all - by_one + saved).max(0.0) } else { 0.0 }))
    }

    fn speeds(&self, machine: &Machine) -> Result<Vec<f64>> {
        const SIDE: usize = 512;
        let plan = self.cubes(machine, SIDE)?;
        let mut seconds = vec![f64::INFINITY; self.ranks()];
        self.runs(&plan, 15, |program, _| {
            for (least, rank) in seconds.iter_mut().zip(program.measured()?) {
                *least = rank.seconds.last().map_or(*least, |now| least.min(*now));
            }
            Ok(())
        })?;
        let rates = seconds.iter().map(|seconds| 1.0 / seconds.max(1e-9)).collect::<Vec<_>>();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let speeds: Vec<f64> = rates.iter().map(|rate| rate / mean).collect();
        let alike = speeds.iter().all(|speed| (speed - 1.0).abs() < MAX_SPEED_DEVIATION);
        Ok(if alike { Vec::new() } else { speeds })
    }

    /// The median of `(t - max(c, r)) / min(c, r)` over rounds, with the times to compute (`c`), to receive (`r`,
    /// predicted for a ring, in which one rank per node sends to another), and for both at once (`t`).
    fn interference(&self, machine: &Machine) -> Result<f64> {
        const SIDE: usize = 2048;
        const ROUNDS: usize = 5;
        const SLOW_SECONDS: f64 = 0.02;
        // On shared cores, the ring's waiting for late ranks would count as interference.
        let longer = if self.share_cores(machine.workers)? { 1.0 } else { 4.0 };
        const MAX_OVERHEAD_SHARE: f64 = 3.0;
        let ranks = machine.ranks as f64;
        let bytes = (ranks - 1.0) / ranks * (SIDE * SIDE * size_of::<f32>()) as f64;
        let receive = bytes / machine.link_bandwidth;
        // Computing takes longer, so that the communication thread meets busy workers.
        let rate = machine.flops * machine.workers as f64 / (2 * SIDE * SIDE) as f64;
        let rows = ((longer * receive * rate) as usize).clamp(16, 4096);
        let options =
            PlanOptions { algorithm: Some(AlgorithmName::RingMn), cut: vec!["m".to_owned()], ..PlanOptions::default() };
        let shapes = [vec![rows * machine.ranks, SIDE], vec![SIDE, SIDE]];
        let ring = Problem::parse("mk,kn->mn")?.shapes(&shapes)?.plan(machine, &options)?;
        let product = self.products(machine, [rows, SIDE, SIDE], AlgorithmName::BatchParallel)?;
        // Packing the left operand for each block of the right one is not interference.
        let packed = 2.0 * (ranks - 1.0) * (rows * SIDE * size_of::<f32>()) as f64;
        let packed = packed / (machine.bandwidth(packed) * machine.workers as f64);
        let mut shares = Vec::with_capacity(ROUNDS);
        // Noise is a small fraction of long runs.
        for _ in 0..if receive > SLOW_SECONDS { 1 } else { ROUNDS } {
            let compute = after(machine.startup_seconds, self.quickest(&product, 2)?) + packed;
            let all_ranks = after(machine.startup_seconds, self.quickest(&ring, 2)?);
            shares.push((all_ranks - compute.max(receive)) / compute.min(receive));
        }
        Ok(median(shares).clamp(0.0, MAX_OVERHEAD_SHARE))
    }

    fn cubes(&self, machine: &Machine, side: usize) -> Result<Plan> {
        self.products(
            machine,
            [side; 3],
            if self.ranks() > 1 { AlgorithmName::BatchParallel } else { AlgorithmName::Local },
        )
    }

    fn products(&self, machine: &Machine, [m, n, k]: [usize; 3], algorithm: AlgorithmName) -> Result<Plan> {
        let options = PlanOptions { algorithm: Some(algorithm), ..PlanOptions::default() };
        let shapes = [vec![self.ranks(), m, k], vec![self.ranks(), k, n]];
        Problem::parse("cmk,ckn->cmn")?.shapes(&shapes)?.plan(machine, &options)
    }

    /// Long sums, because large copies bypass the caches.
    fn sums(&self, machine: &Machine, elements: usize) -> Result<Plan> {
        let lines = (2 * machine.workers).next_power_of_two().max(64);
        let rows = self.rows(|rank| rank);
        let fixed = FixedDistributions { operands: vec![Some(rows.clone())], output: Some(rows) };
        let options = PlanOptions { fixed, ..PlanOptions::default() };
        Problem::parse("rij->ri")?.shapes(&[vec![self.ranks(), lines, elements / lines]])?.plan(machine, &options)
    }

    fn moves(&self, machine: &Machine, elements: usize, to: &Distribution) -> Result<Plan> {
        let fixed = FixedDistributions { operands: vec![Some(self.rows(|rank| rank))], output: Some(to.clone()) };
        let options = PlanOptions { fixed, ..PlanOptions::default() };
        Problem::parse("ij->ij")?.shapes(&[vec![self.ranks(), elements]])?.plan(machine, &options)
    }

    fn rows(&self, to: impl Fn(usize) -> usize) -> Distribution {
        let ranks = self.ranks();
        let rows = Distribution::new(vec![Axis { ranks, role: Role::Cut { dim: 0, how: Cut::Even } }]);
        let owners: Vec<usize> = (0..ranks).map(to).collect();
        if owners.is_sorted() { rows } else { rows.owned_by(Owners::Listed(owners)) }
    }

    /// The median seconds of each plan. Runs alternate, so that temporary load slows down only some of each.
    /// Collective.
    fn median_seconds<const N: usize>(&self, plans: &[Plan; N]) -> Result<[f64; N]> {
        const RUNS: usize = 21;
        const ROUNDS: usize = 5;
        let mut all = [(); N].map(|()| Vec::with_capacity(RUNS * ROUNDS));
        for _ in 0..ROUNDS {
            for (plan, all) in plans.iter().zip(&mut all) {
                all.extend(self.seconds_of(plan, RUNS)?);
            }
        }
        let mut medians = [0.0; N];
        for (seconds, median_seconds) in all.into_iter().zip(&mut medians) {
            *median_seconds = self.agreed(median(seconds))?;
        }
        Ok(medians)
    }

    /// The lower quartile. Collective.
    fn quartile(&self, plan: &Plan) -> Result<f64> {
        const RUNS: usize = 60;
        let mut all = self.seconds_of(plan, RUNS)?;
        all.sort_by(f64::total_cmp);
        self.agreed(all[RUNS / 4])
    }

    /// Collective.
    fn quickest(&self, plan: &Plan, runs: usize) -> Result<f64> {
        self.agreed(self.seconds_of(plan, runs)?.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// Collective.
    fn seconds_of(&self, plan: &Plan, runs: usize) -> Result<Vec<f64>> {
        Ok(self.all_seconds_of(plan, runs)?.split_off(1))
    }

    /// Whether ranks share cores. Collective.
    fn share_cores(&self, workers: usize) -> Result<bool> {
        Ok(crowded(&self.gather(&load(self.local_ranks().len() * workers))?, 1))
    }

    /// The same, after those of the warm-up. If ranks share cores, some of them compute while others wait, so all start
    /// a run together, and the slowest counts. Collective.
    fn all_seconds_of(&self, plan: &Plan, runs: usize) -> Result<Vec<f64>> {
        let together = self.share_cores(plan.machine.workers)?;
        let mut all = Vec::with_capacity(runs + 1);
        self.runs(plan, runs, |_, seconds| {
            all.push(if together { self.gather(&seconds)?.into_iter().fold(0.0, f64::max) } else { seconds });
            Ok(())
        })?;
        Ok(all)
    }

    /// Rank 0's value, because plans must be equal on all ranks. Collective.
    fn agreed(&self, mine: f64) -> Result<f64> {
        self.of_root(&mine.to_string())?.parse().map_err(|_| Error::Usage("rank 0 measured nothing".to_owned()))
    }

    /// Runs a plan once to warm up, then `runs` times, each followed by `each`. Collective.
    fn runs(&self, plan: &Plan, runs: usize, mut each: impl FnMut(&Program<f32>, f64) -> Result<()>) -> Result<()> {
        let operands: Vec<DistTensor<f32>> = (0..plan.operands)
            .map(|index| {
                let value = plan.operand(index);
                DistTensor::try_random(self, &value.shape, &value.distribution, 1, index as u32)
            })
            .collect::<Result<_>>()?;
        let operands: Vec<&DistTensor<f32>> = operands.iter().collect();
        let mut out = DistTensor::try_zeros(self, &plan.output().shape, &plan.output().distribution)?;
        let mut program = self.compile::<f32>(plan)?;
        for _ in 0..=runs {
            let started = Instant::now();
            program.run_dist(1.0, &operands, 0.0, &mut out)?;
            each(&program, started.elapsed().as_secs_f64())?;
        }
        Ok(())
    }
}

/// At least half of `seconds`, because load may delay the measured startup.
fn after(startup_seconds: f64, seconds: f64) -> f64 {
    (seconds - startup_seconds).max(seconds / 2.0).max(1e-9)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The seconds for a cube in a world of one rank, less startup.
fn one_rank_seconds(side: usize, workers: usize, runs: usize) -> Result<f64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    let pool = pool.map_err(|error| Error::Usage(format!("no threads to measure with: {error}")))?;
    pool.install(|| {
        let (world, machine) = (World::in_process(1), Machine::new(1, workers));
        let startup_seconds = world.quickest(&world.cubes(&machine, 1)?, 20)?;
        Ok(after(startup_seconds, world.quickest(&world.cubes(&machine, side)?, runs)?))
    })
}
