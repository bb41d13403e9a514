//! Tests chains of contractions in a pipeline. Covers verification, results, transferred bytes, and run times if
//! transfers are slow.

use crate::common::{Rng, random, run};
use einsum_dist::plan::{PipelineChoice, Source};
use einsum_dist::{Dtype, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::ArrayD;

/// `[[bi,ij->bj],jk->bk],kl->bl` and its shapes. If `batched` is true, all tensors have an additional batch dimension
/// `c`.
fn chain(rng: &mut Rng, contractions: usize, batched: bool) -> (String, Vec<Vec<usize>>) {
    let names: Vec<char> = ('i'..='z').take(contractions + 1).collect();
    let extents: Vec<usize> = (0..=contractions).map(|_| 1 + rng.below(24)).collect();
    let (batches, c) = (16 + rng.below(20), if batched { "c" } else { "" });
    let mut expression = format!("{c}b{}", names[0]);
    let wide = |shape: &[usize]| if batched { [&[3], shape].concat() } else { shape.to_vec() };
    let mut shapes = vec![wide(&[batches, extents[0]])];
    for step in 0..contractions {
        let (from, to) = (names[step], names[step + 1]);
        expression = format!("[{expression},{c}{from}{to}->{c}b{to}]");
        shapes.push(wide(&[extents[step], extents[step + 1]]));
    }
    (expression[1..expression.len() - 1].to_owned(), shapes)
}

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize, pipeline: PipelineChoice) -> Plan {
    let options = PlanOptions::default().pipeline(pipeline).dtype(Dtype::Float64);
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(ranks, 1), &options).unwrap()
}

#[test]
fn sums_of_nothing_are_in_no_pipeline() {
    for (expression, shapes) in [
        ("[ka->a],a,[k->]->a", vec![vec![0, 10], vec![10], vec![0]]),
        ("[kb,kba->a],a,[k->]->a", vec![vec![0, 5], vec![0, 5, 10], vec![10], vec![0]]),
    ] {
        for pipeline in [PipelineChoice::Auto, PipelineChoice::Of { batches: 2, groups: 2 }] {
            let plan = plan(expression, &shapes, 5, pipeline);
            plan.verify().unwrap_or_else(|error| panic!("{error}: {}", plan.explain()));
            let operands: Vec<ArrayD<f64>> = shapes.iter().zip(0..).map(|(shape, at)| random(shape, 9, at)).collect();
            assert!(run(&plan, &operands).iter().all(|&value| value == 0.0));
        }
    }
}

#[test]
fn batches_through_groups_of_ranks() {
    let mut rng = Rng::new(16);
    let mut wide = 0;
    for number in 0..60 {
        let (contractions, ranks) = (2 + rng.below(3), 2 + rng.below(6));
        let (expression, shapes) = chain(&mut rng, contractions, number % 2 == 0);
        let (batches, groups) = (2 + rng.below(15), 2 + rng.below(contractions.min(ranks) - 1));
        let plan = plan(&expression, &shapes, ranks, PipelineChoice::Of { batches, groups });
        plan.verify().unwrap_or_else(|error| panic!("{error}: {}", plan.explain()));
        let pipeline = plan.pipeline.as_ref().unwrap();
        assert_eq!((pipeline.pieces, pipeline.groups), (batches, groups));
        // Contractions must use disjoint groups of ranks that together contain all ranks.
        let groups: Vec<_> = plan
            .values
            .iter()
            .filter_map(|value| match &value.source {
                Source::Contract { group, .. } => group.clone(),
                _ => None,
            })
            .collect();
        assert_eq!((groups[0].start, groups[groups.len() - 1].end), (0, ranks));
        assert!(groups.windows(2).all(|pair| pair[0] == pair[1] || pair[0].end == pair[1].start));
        wide += usize::from(groups.iter().any(|group| group.len() > 1));

        let operands: Vec<ArrayD<f64>> = shapes.iter().zip(0..).map(|(shape, at)| random(shape, 9, at)).collect();
        let got = run(&plan, &operands);
        // Extents are so small that the kernels add in the same order for every batch size.
        let alone = self::plan(&expression, &shapes, 1, PipelineChoice::Off);
        let want = run(&alone, &operands);
        let largest = want.iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-12 * largest), "{}", plan.explain());
    }
    assert!(wide > 10, "{wide}");
}

/// Three contractions on three ranks must yield the same bits in 16 batches, in 4 batches and without a pipeline.
#[test]
fn bits_do_not_depend_on_batches() {
    let expression = "[[cbi,cij->cbj],cjk->cbk],ckl->cbl";
    let shapes = [vec![16, 20, 24], vec![16, 24, 18], vec![16, 18, 22], vec![16, 22, 10]];
    let operands: Vec<ArrayD<f64>> = shapes.iter().zip(0..).map(|(shape, at)| random(shape, 3, at)).collect();
    let of = |batches| PipelineChoice::Of { batches, groups: 3 };
    let plans = [of(16), of(4), PipelineChoice::Off].map(|choice| plan(expression, &shapes, 3, choice));
    assert_eq!(
        plans.each_ref().map(|plan| plan.pipeline.as_ref().map(|p| (p.pieces, p.groups))),
        [Some((16, 3)), Some((4, 3)), None]
    );
    let [sixteen, four, none] = plans.each_ref().map(|plan| run(plan, &operands));
    assert!(sixteen == four && four == none);
}

/// The batches of a constant intermediate use the same memory one after another. A run must not read a batch that the
/// previous run left there.
#[test]
fn constants_are_the_same_in_every_run() {
    let mut rng = Rng::new(5);
    let (expression, shapes) = chain(&mut rng, 3, false);
    let pipeline = PipelineChoice::Of { batches: 4, groups: 3 };
    let options = PlanOptions::default().pipeline(pipeline).constant(vec![0, 1, 2]).dtype(Dtype::Float64);
    let shaped = Problem::parse(&expression).unwrap().shapes(&shapes).unwrap();
    let plan = shaped.plan(&Machine::new(3, 1), &options).unwrap();
    assert!(plan.pipeline.is_some());
    plan.verify().unwrap();
    let operands: Vec<ArrayD<f64>> = shapes.iter().zip(0..).map(|(shape, at)| random(shape, 9, at)).collect();
    let operands: Vec<&dyn Operand<f64>> = operands.iter().map(|array| array as &dyn Operand<f64>).collect();
    let mut program = World::in_process(3).compile::<f64>(&plan).unwrap();
    let first = program.run(&operands).unwrap();
    assert!((0..2).all(|_| program.run(&operands).unwrap() == first));
}
