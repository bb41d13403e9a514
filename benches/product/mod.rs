//! Compiles a plan, usually for a matrix product, and measures its time with and without overlap.

use std::time::Instant;

use einsum_dist::exec::{Only, RunOptions};
use einsum_dist::{DistTensor, Element, Machine, Plan, PlanOptions, Problem, Program, World};

/// The four ways to run a product, in the order of the fields of [`Seconds`].
pub fn run_options() -> [RunOptions; 4] {
    let both = RunOptions::default();
    [
        RunOptions { only: Some(Only::Work), ..both },
        RunOptions { only: Some(Only::Transfers), ..both },
        both,
        RunOptions { overlap: false, ..both },
    ]
}

/// Median seconds over alternating rounds.
#[derive(Debug, Clone, Copy)]
pub struct Seconds {
    pub compute: f64,
    pub transfer: f64,
    /// Time of computing and transfers with overlap.
    pub wall: f64,
    /// Time of computing and transfers without overlap.
    pub sequential: f64,
}

impl Seconds {
    /// Runs one plan in four worlds, which run only computing, only transfers, both with overlap, and both without
    /// overlap. Collective.
    pub fn of<T: Element>(worlds: [&World; 4], plan: &Plan, rounds: usize) -> Seconds {
        Seconds::between::<T>(worlds, plan, rounds, |_| {})
    }

    /// Measures as [`Seconds::of`] does. Every round also calls `other` with the product of the world that only
    /// computes. Collective.
    pub fn between<T: Element>(
        worlds: [&World; 4],
        plan: &Plan,
        rounds: usize,
        mut other: impl FnMut(&mut Product<T>),
    ) -> Seconds {
        let mut products = worlds.map(|world| Product::<T>::new(world, plan));
        let mut seconds = [(); 4].map(|()| Vec::with_capacity(rounds));
        for _ in 0..rounds {
            for (product, seconds) in products.iter_mut().zip(&mut seconds) {
                seconds.push(product.run());
            }
            other(&mut products[0]);
        }
        let [compute, transfer, wall, sequential] = seconds.map(median);
        Seconds { compute, transfer, wall, sequential }
    }

    pub fn longer(&self) -> f64 {
        self.compute.max(self.transfer)
    }

    pub fn slowdown(&self) -> f64 {
        self.sequential / self.wall
    }

    /// Maximum slowdown without overlap. It is reached if overlap completely hides the shorter of computing and
    /// transfers.
    pub fn max_slowdown(&self) -> f64 {
        (self.compute + self.transfer) / self.longer()
    }
}

/// A compiled product with its tensors.
pub struct Product<T: Element> {
    world: World,
    program: Program<T>,
    operands: Vec<DistTensor<T>>,
    out: DistTensor<T>,
}

impl<T: Element> Product<T> {
    /// Compiles the plan and runs it once, so that all memory is mapped. Collective.
    pub fn new(world: &World, plan: &Plan) -> Product<T> {
        let operand = |index: usize| {
            let value = plan.operand(index);
            DistTensor::random(world, &value.shape, &value.distribution, 1, index as u32)
        };
        let out = DistTensor::zeros(world, &plan.output().shape, &plan.output().distribution);
        let program = world.compile(plan).expect("a program");
        let operands = (0..plan.operands).map(operand).collect();
        let mut product = Product { world: world.clone(), program, operands, out };
        product.run();
        product
    }

    /// Seconds of one run on the slowest process. Collective.
    pub fn run(&mut self) -> f64 {
        self.run_within(|run| run())
    }

    /// Seconds of `within` on the slowest process. The argument of `within` runs the product. Collective.
    pub fn run_within(&mut self, within: impl FnOnce(&mut dyn FnMut())) -> f64 {
        // Acts as a barrier, so that all processes start at the same time.
        self.world.all_gather(&[]).expect("all ranks");
        let start = Instant::now();
        let operands: Vec<&DistTensor<T>> = self.operands.iter().collect();
        within(&mut || self.program.run_dist(T::ONE, &operands, T::ZERO, &mut self.out).expect("a run"));
        max_over_processes(&self.world, start.elapsed().as_secs_f64())
    }
}

/// Plans a matrix product with the given extents of m, n and k.
pub fn planned(machine: &Machine, [m, n, k]: [usize; 3], options: &PlanOptions) -> Plan {
    let shaped = Problem::parse("mk,kn->mn").and_then(|problem| problem.shapes(&[vec![m, k], vec![k, n]]));
    shaped.and_then(|shaped| shaped.plan(machine, options)).expect("a matrix product")
}

/// Number of bytes received by the rank that receives the most.
pub fn received(plan: &Plan) -> f64 {
    (0..plan.ranks()).map(|rank| plan.schedule(rank).bytes_received()).max().unwrap_or(0) as f64
}

/// The largest value of `mine` over all processes. Collective.
pub fn max_over_processes(world: &World, mine: f64) -> f64 {
    let all = world.all_gather(&mine.to_le_bytes()).expect("all ranks");
    all.iter().map(|bytes| f64::from_le_bytes(bytes[..].try_into().expect("eight bytes"))).fold(f64::MIN, f64::max)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
