//! Measures a chain of three contractions on three ranks, pipelined in 16 batches.
//!
//! Command: `cargo bench --bench pipeline -- [extent] [rounds]`.
//!
//! The throttled transport delays each transfer without using a processor. The rate of the transport is chosen so that
//! the transfer of a batch takes twice as long as the contraction of the batch. If there are fewer cores than ranks,
//! the ranks share cores and their contractions slow down, so the time of contractions must not determine the result. A
//! stage of the pipeline takes as long as the longer of the transfer and the contraction. 16 batches on 3 groups of
//! ranks take at least 16 + 2 stages, except that no transfer precedes the first contraction.
//!
//! For comparison, a plan without a pipeline runs on the same transport. The benchmark checks that both plans compute
//! the same bits.

use std::time::Instant;

use einsum_dist::plan::{Pipeline, PipelineChoice};
use einsum_dist::{DistTensor, Machine, PlanOptions, Problem, Program, World};

const EXPRESSION: &str = "[[cbi,cij->cbj],cjk->cbk],ckl->cbl";
const BATCHES: usize = 16;
const GROUPS: usize = 3;
/// Maximum ratio of the measured time to the time of 16 + 2 stages.
const MAX_STAGES_RATIO: f64 = 1.15;

/// A compiled chain with its tensors.
struct Chain {
    program: Program<f32>,
    operands: Vec<DistTensor<f32>>,
    out: DistTensor<f32>,
    world: World,
}

impl Chain {
    fn new(world: World, extent: usize, batches: usize) -> Chain {
        let shapes = vec![vec![BATCHES, extent, extent]; GROUPS + 1];
        let pipeline = if batches > 1 { PipelineChoice::Of { batches, groups: GROUPS } } else { PipelineChoice::Off };
        let options = PlanOptions::default().pipeline(pipeline);
        let shaped = Problem::parse(EXPRESSION).and_then(|problem| problem.shapes(&shapes));
        let plan = shaped.and_then(|shaped| shaped.plan(&Machine::new(world.ranks(), 1), &options)).expect("a chain");
        let operand = |index: usize| {
            let value = plan.operand(index);
            DistTensor::random(&world, &value.shape, &value.distribution, 1, index as u32)
        };
        let operands = (0..plan.operands).map(operand).collect();
        let out = DistTensor::zeros(&world, &plan.output().shape, &plan.output().distribution);
        Chain { program: world.compile(&plan).expect("a program"), operands, out, world }
    }

    /// Seconds of one run.
    fn run(&mut self) -> f64 {
        let operands: Vec<&DistTensor<f32>> = self.operands.iter().collect();
        let start = Instant::now();
        self.program.run_dist(1.0, &operands, 0.0, &mut self.out).expect("a run");
        start.elapsed().as_secs_f64()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (extent, rounds) = (numbers.first().copied().unwrap_or(512), numbers.get(1).copied().unwrap_or(7));
    // Measures the time of a stage without slow transfers. All ranks compute, as in the pipeline on the throttled
    // transport.
    let mut free = Chain::new(World::in_process(GROUPS), extent, BATCHES);
    free.run();
    let compute = median((0..rounds).map(|_| free.run()).collect()) / (BATCHES + GROUPS - 1) as f64;
    let bytes = (extent * extent * size_of::<f32>()) as f64;
    let transfer = 2.0 * compute;
    let throttled = || World::throttled(GROUPS, bytes / transfer);
    let mut pipelined = Chain::new(throttled(), extent, BATCHES);
    let mut plain = Chain::new(throttled(), extent, 1);
    let plan = pipelined.program.plan();
    let Some(Pipeline { pieces, groups, .. }) = plan.pipeline else { panic!("a pipeline was asked for") };
    assert_eq!((pieces, groups), (BATCHES, GROUPS));
    let (mut batched, mut whole) = (vec![], vec![]);
    for _ in 0..rounds {
        batched.push(pipelined.run());
        whole.push(plain.run());
    }
    let (batched, whole) = (median(batched), median(whole));
    let same =
        pipelined.out.gather(&pipelined.world).expect("a result") == plain.out.gather(&plain.world).expect("a result");
    let stages = batched / transfer;
    let ms = |seconds: f64| seconds * 1e3;
    println!(
        "f32, {BATCHES} batches of {extent}^3 through three contractions on {GROUPS} ranks, medians of {rounds} rounds; ms"
    );
    println!("compute {:.2}, transfer {:.2} a batch: a stage takes {:.2}", ms(compute), ms(transfer), ms(transfer));
    println!(
        "pipeline      {:8.1}   {stages:.2} stages, {:.3} of {}",
        ms(batched),
        stages / 18.0,
        BATCHES + GROUPS - 1
    );
    println!("no pipeline   {:8.1}   same bits: {same}", ms(whole));
    let verdict = |met: bool| if met { "PASS" } else { "FAIL" };
    println!(
        "{} at most {MAX_STAGES_RATIO} x {} stages; {} same bits",
        verdict(stages <= MAX_STAGES_RATIO * 18.0),
        18,
        verdict(same)
    );
}
