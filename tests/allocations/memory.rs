//! Compares three numbers for the memory of the ring algorithms: the number that the schedule plans, the number that
//! the program measures, and the number that the allocator counts.
//!
//! | algorithm | memory per rank, in addition to inputs and `out` |
//! |---|---|
//! | ring-mn | 2 blocks of the operand that is sent around the ring (1 block on two ranks, none on a single rank) |
//! | ring-k | 1 piece of a block of `out`, at most half of the block (less for large blocks), even if sizes differ |
//! | ring-k that accumulates onto `out` | 1 block and 1 piece |
//!
//! In addition, each rank that has a worker needs small structures and the packing workspace of a contraction. The
//! workspace is part of the measured peak, and the test checks a bound for it. Memory of a megabyte or more starts and
//! ends at huge pages.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use einsum_dist::algorithm::{self, Algorithm};
use einsum_dist::plan::{AlgorithmName, Source};
use einsum_dist::schedule::{View, Work};
use einsum_dist::{DistTensor, Dtype, Machine, Plan, PlanOptions, Problem, World};

use super::counting::{ALONE, LIVE, PEAK};
use AlgorithmName::{RingK, RingMn};

/// Maximum number of bytes per rank for threads, queues, schedules, metrics, leases and local plans without tables. Of
/// these structures, only the lists of the panels into which boxes are cut grow with the extents. The lists need about
/// 100 bytes per panel, and a panel has at least a dozen rows.
const MAX_SMALL_BYTES: usize = 64 << 10;

/// Maximum number of additional bytes for memory of this size, of which half are never touched.
fn whole_pages(bytes: u64) -> usize {
    const HUGE_PAGE: usize = 2 << 20;
    if bytes < HUGE_PAGE as u64 / 2 { 0 } else { 2 * HUGE_PAGE }
}

/// Maximum packing memory of a contraction. Each worker needs at most 4 MiB for a part of the column operand, and two
/// thirds of the L2 cache for the row operand and a copy of `out`.
fn packing_bytes(workers: usize) -> usize {
    workers * ((4 << 20) + einsum_dist::kernel::host().caches.l2)
}

/// Maximum number of bytes of the offset tables in a rank's local plans. For each index of the boxes of tensors that a
/// task contracts, the tables contain two offsets and two lengths. Tasks with equal boxes are counted once. Local plans
/// share equal tables, so the actual size is smaller.
fn table_bytes(plan: &Plan, rank: usize) -> usize {
    let schedule = plan.schedule(rank);
    // Returns the extents of a task's box, and the extents of its buffer, which determine the strides of the box.
    let extents = |view: &View| -> (Vec<usize>, Vec<usize>) {
        (view.bounds.iter().map(|range| range.len()).collect(), schedule.buffers[view.buffer].extents.clone())
    };
    let shapes = schedule.tasks.iter().filter_map(|task| match task.action.work() {
        Some(Work::Contract { left, right, out, .. }) => Some([left, right, out].map(extents)),
        _ => None,
    });
    let shapes: BTreeSet<_> = shapes.collect();
    // Every label is in two of the three tensors, so the sum contains its extent twice and is halved.
    24 * shapes.iter().map(|shape| shape.iter().flat_map(|(extents, _)| extents).sum::<usize>() / 2).sum::<usize>()
}

/// Waits until the threads of the previous world have ended, and returns the number of live bytes.
fn settled() -> usize {
    let (mut live, mut quiet) = (LIVE.load(Relaxed), 0);
    while quiet < 5 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let now = LIVE.load(Relaxed);
        quiet = if now == live { quiet + 1 } else { 0 };
        live = now;
    }
    live
}

struct Run {
    expression: &'static str,
    shapes: [Vec<usize>; 2],
    ranks: usize,
    algorithm: AlgorithmName,
    accumulate: bool,
}

impl Run {
    fn plan(&self) -> Plan {
        let options =
            PlanOptions::default().dtype(Dtype::Float64).algorithm(self.algorithm).accumulate(self.accumulate);
        let shaped = Problem::parse(self.expression).unwrap().shapes(&self.shapes).unwrap();
        shaped.plan(&Machine::new(self.ranks, 1), &options).unwrap()
    }

    /// Runs the plan, checks its memory and prints one line about it. Returns the planned number of bytes, without
    /// inputs and `out`, on the rank that needs the most.
    fn check(&self, extra: impl Fn(&Plan, usize) -> u64) -> u64 {
        let plan = self.plan();
        let base = settled();
        PEAK.store(base, Relaxed);
        let world = World::in_process(self.ranks);
        let tensor =
            |value: &einsum_dist::plan::Value| DistTensor::<f64>::zeros(&world, &value.shape, &value.distribution);
        let (left, right) = (tensor(plan.operand(0)), tensor(plan.operand(1)));
        let mut out = tensor(plan.output());
        let mut program = world.compile::<f64>(&plan).unwrap();
        let beta = if self.accumulate { 0.5 } else { 0.0 };
        for _ in 0..2 {
            program.run_dist(1.0, &[&left, &right], beta, &mut out).unwrap();
        }
        let measured = program.measured().unwrap();
        let seen = PEAK.load(Relaxed) - base;

        let what = format!("{} {:?} {} on {}", self.expression, self.shapes, self.algorithm.name(), self.ranks);
        // A single rank uses the thread pool of its caller.
        let workers = if self.ranks == 1 { rayon::current_num_threads() } else { 1 };
        let (mut planned, mut max_bytes, mut packing, mut rounding) = (0, 0, 0, 0);
        for (rank, measured) in measured.iter().enumerate() {
            let values = [plan.operand(0), plan.operand(1), plan.output()];
            let blocks = values.map(|v| bytes(&v.distribution, &v.shape, rank));
            let held: u64 = blocks.iter().sum();
            let allowed = held + extra(&plan, rank);
            let schedule = plan.schedule(rank).peak_bytes();
            assert!(schedule <= allowed, "{what}: rank {rank} plans {schedule} bytes of {allowed}");
            let packed = (measured.peak_bytes - schedule) as usize;
            assert!(packed <= packing_bytes(workers), "{what}: rank {rank} packs into {packed} bytes");
            packing += packed;
            let buffers = blocks.into_iter().chain([schedule - held, packed as u64]);
            rounding += buffers.map(whole_pages).sum::<usize>();
            planned += schedule as usize;
            max_bytes = max_bytes.max(schedule - held);
        }
        // Packing memory is subtracted in full, although it may not be live at the time of the peak.
        let beyond = seen.saturating_sub(planned + packing);
        let tables: usize = (0..self.ranks).map(|rank| table_bytes(&plan, rank)).sum();
        let onto = if self.accumulate { ", onto" } else { "" };
        println!("{what}{onto}: planned {planned}, {packing} to pack into, {tables} of tables, {beyond} beyond");
        assert!(
            beyond <= self.ranks * MAX_SMALL_BYTES + tables + rounding,
            "{what}: {beyond} bytes beyond plan, packing, tables and {rounding} bytes for whole pages"
        );
        max_bytes
    }
}

fn bytes(distribution: &einsum_dist::distribution::Distribution, shape: &[usize], rank: usize) -> u64 {
    8 * distribution.block_or_empty(shape, rank).volume() as u64
}

/// Number of bytes that a buffer occupies in a rank's arena, where every buffer starts at a cache line.
fn lines(bytes: u64) -> u64 {
    bytes.next_multiple_of(64)
}

fn travelling(plan: &Plan) -> u64 {
    let stays = plan.output().distribution == plan.operand(0).distribution;
    let travels = plan.operand(usize::from(stays));
    lines(bytes(&travels.distribution, &travels.shape, 0))
}

/// Expresses `max_bytes` as a multiple of the size of the largest block of `out`. Rank 0 always stores a block of this
/// size.
fn blocks_of(run: &Run, max_bytes: u64) -> f64 {
    let plan = run.plan();
    max_bytes as f64 / bytes(&plan.output().distribution, &plan.output().shape, 0) as f64
}

/// Number of bytes in half of the largest block of `out`.
fn half(plan: &Plan) -> u64 {
    let shape = &plan.output().shape;
    let Source::Contract { algorithm: Algorithm::RingK(algorithm::RingK { split, .. }), .. } = plan.output().source
    else {
        panic!("a ring-k")
    };
    let block = plan.output().distribution.largest_block(shape);
    let dim = plan.output().labels.iter().position(|&label| label == split).unwrap();
    let half = block.iter().enumerate().map(|(at, &e)| if at == dim { e.div_ceil(2) } else { e });
    lines(8 * half.product::<usize>() as u64)
}

#[test]
fn rings_take_the_memory_that_they_say() {
    let _alone = ALONE.lock();
    let matrices = |m, k, n| [vec![m, k], vec![k, n]];
    let run =
        |shapes, ranks, algorithm, accumulate| Run { expression: "mk,kn->mn", shapes, ranks, algorithm, accumulate };
    for ranks in [1, 2, 3, 4, 8] {
        let blocks = (ranks as u64 - 1).min(2);
        for shapes in [matrices(384, 480, 4800), matrices(390, 481, 4805)] {
            for accumulate in [false, true] {
                let run = run(shapes.clone(), ranks, RingMn, accumulate);
                let max_bytes = run.check(|plan, _| blocks * travelling(plan));
                assert_eq!(max_bytes, blocks * travelling(&run.plan()));
            }
        }
        let even = run(matrices(1920, 480, 1920), ranks, RingK, false);
        let max_bytes = even.check(|plan, _| if ranks > 1 { half(plan) } else { 0 });
        println!("ring-k on {ranks}: {max_bytes} bytes, {:.3} blocks", blocks_of(&even, max_bytes));
        assert!(ranks == 1 || max_bytes > 0);

        let uneven = run(matrices(1921, 481, 1923), ranks, RingK, false);
        let max_bytes = uneven.check(|plan, _| if ranks > 1 { half(plan) } else { 0 });
        println!("ring-k, uneven, on {ranks}: {max_bytes} bytes, {:.3} blocks", blocks_of(&uneven, max_bytes));

        let onto = run(matrices(1920, 480, 1920), ranks, RingK, true);
        let max_bytes = onto.check(|plan, _| if ranks > 1 { 3 * half(plan) } else { 0 });
        println!("ring-k, onto, on {ranks}: {max_bytes} bytes, {:.3} blocks", blocks_of(&onto, max_bytes));
    }
    // If the product has a batch dimension, ring-k cuts blocks into pieces along a different dimension than above. The
    // numbers of ranks do not divide the extents, so block sizes differ.
    let batched = [vec![6, 161, 200], vec![6, 200, 160]];
    for ranks in [2, 3, 5] {
        let run =
            Run { expression: "cmk,ckn->cmn", shapes: batched.clone(), ranks, algorithm: RingK, accumulate: false };
        let max_bytes = run.check(|plan, _| half(plan));
        println!("ring-k, uneven blocks, on {ranks}: {:.3} blocks", blocks_of(&run, max_bytes));
    }
}
