//! Unit tests of `origin`.

use super::*;
use crate::plan::{PathChoice, Plan};

fn einsums(text: &str, extent: usize) -> Einsums {
    let expression = einsum_parser::parse(text).unwrap();
    let shapes: Vec<Vec<usize>> = expression.operands().map(|term| vec![extent; term.indices.len()]).collect();
    Einsums::new(&expression, &shapes).unwrap()
}

#[test]
fn an_origin_gives_the_tree_only_for_the_same_request() {
    let (text, machine) = ("[ab,bc,cd->ad],de,ef,fg->ag", Machine { flops: 1e11 / 3.0, ..Machine::new(3, 2) });
    let (own, options) = (einsums(text, 5), PlanOptions::default().path_speed(0.7).memory_limit(99_999).runs(7));
    let searched = Plan::searched_tree(&own, &machine, &options).unwrap();
    let origin = PlanOrigin::new((text, &own), &machine, &options, &searched);
    let origin: PlanOrigin = serde_json::from_str(&serde_json::to_string(&origin).unwrap()).unwrap();
    let here = Machine::new(3, 2);
    let found = |text: &str, extent: usize, machine: &Machine, options: &PlanOptions| {
        origin.found((text, &einsums(text, extent)), machine, options)
    };
    let (again, rates, limited) = found(text, 5, &here, &PlanOptions::default()).unwrap();
    assert_eq!(
        (again.tree, rates, limited),
        (searched.tree, machine, PlanOptions::default().memory_limit(99_999).runs(7))
    );
    let own_limit = options.clone().memory_limit(88_888);
    assert_eq!(found(text, 5, &here, &own_limit).unwrap().2, own_limit);
    assert!(found("[ab,bc,cd->ad],de,ef,fg->ga", 5, &here, &options).is_none());
    assert!(found(text, 6, &here, &options).is_none());
    assert!(found(text, 5, &Machine::new(2, 2), &options).is_none());
    assert!(found(text, 5, &Machine::new(3, 1), &options).is_none());
    assert!(found(text, 5, &here, &options.clone().dtype(crate::dtype::Dtype::Float64)).is_none());
    assert!(found(text, 5, &here, &options.clone().path(PathChoice::Greedy)).is_none());
}
