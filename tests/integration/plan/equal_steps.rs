//! Tests that steps are proved once if, and only if, they differ in nothing but the names of dimensions.

use einsum_dist::algorithm::Algorithm;
use einsum_dist::plan::{Source, Value};
use einsum_dist::{AlgorithmName, Machine, Plan, PlanOptions, Problem};

fn plan(expression: &str, shapes: &[Vec<usize>]) -> Plan {
    // Layouts depend on this processor, and in whole trees, equal contractions may have other orders of cuts.
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid).layout(false).step_by_step(true);
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(12, 1), &options).unwrap()
}

fn made(plan: &Plan) -> usize {
    plan.values.iter().filter(|value| !matches!(value.source, Source::Operand(_))).count()
}

#[test]
fn only_names_do_not_matter() {
    let [square, other] = [vec![40, 50], vec![50, 60]];
    let pair = |terms: &str, more: [&Vec<usize>; 2]| {
        let shapes: Vec<Vec<usize>> = [&square, &other].into_iter().chain(more).cloned().collect();
        plan(&format!("[ab,bc->ac],[{terms}]->acdf"), &shapes)
    };
    let equal = pair("de,ef->df", [&square, &other]);
    assert_eq!(equal.each_step().len(), made(&equal) - 1, "{}", equal.explain());
    let transposed = [vec![50, 40], vec![60, 50], vec![41, 50]];
    let different = [
        pair("ed,ef->df", [&transposed[0], &other]),
        pair("de,fe->df", [&square, &transposed[1]]),
        pair("de,ef->fd", [&square, &other]),
        pair("de,ef->df", [&transposed[2], &other]),
    ];
    for plan in different {
        assert_eq!(plan.each_step().len(), made(&plan), "{}", plan.explain());
    }
}

#[test]
fn parameters_matter() {
    let shapes = [[40, 50], [50, 60], [40, 50], [50, 60]].map(Vec::from);
    let equal = plan("[ab,bc->ac],[de,ef->df]->acdf", &shapes);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut plan = equal.clone();
        let first = plan.values.iter_mut().find(|value| matches!(value.source, Source::Contract { .. })).unwrap();
        change(first);
        assert_eq!(plan.each_step().len(), made(&plan));
    };
    let grid = |value: &mut Value, change: &dyn Fn(&mut einsum_dist::algorithm::Grid)| {
        let Source::Contract { algorithm: Algorithm::Grid(grid), .. } = &mut value.source else { panic!("a grid") };
        change(grid);
    };
    changed(&|value| grid(value, &|grid| grid.rounds += 1));
    changed(&|value| grid(value, &|grid| grid.slots += 1));
    changed(&|value| grid(value, &|grid| grid.pieces += 1));
    changed(&|value| grid(value, &|grid| grid.in_place = !grid.in_place));
    changed(&|value| grid(value, &|grid| grid.cuts.reverse()));
    changed(&|value| grid(value, &|grid| grid.shared[0].clear()));
    changed(&|value| value.distribution = value.distribution.moved(0, 1));
    changed(&|value| {
        if let Source::Contract { group, .. } = &mut value.source {
            *group = Some(0..12);
        }
    });
}
