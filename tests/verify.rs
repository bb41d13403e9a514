//! Schedules of every algorithm verify without data, on 1 to 64 ranks.
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, Options, Problem};

/// Those that any contraction of tensors with all kinds of dimensions has on so many ranks.
fn algorithms(ranks: usize) -> impl Iterator<Item = AlgorithmName> {
    let square = ranks.isqrt().pow(2) == ranks;
    AlgorithmName::ALL.into_iter().filter(move |&algorithm| square || algorithm != AlgorithmName::Cannon)
}

fn check(expression: &str, shapes: &[Vec<usize>], ranks: usize, options: &Options) {
    let plan = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let plan = plan.plan(&Machine::new(ranks, 1), options).unwrap();
    if let Err(error) = plan.verify() {
        panic!("{expression} {shapes:?} on {ranks}: {error}\n{}\n{:#?}", plan.explain(), plan.schedule(error.rank));
    }
}

#[test]
fn every_algorithm_verifies() {
    for ranks in 1..=64 {
        for accumulate in [false, true] {
            // Every rank looks at the pieces of all under slicing: a few larger numbers of ranks will do.
            let slow = ranks > 12 && ![16, 31, 64].contains(&ranks);
            for algorithm in algorithms(ranks).filter(|a| !slow || *a != AlgorithmName::Slicing) {
                for shapes in [
                    [[3, 7, 5], [3, 5, 9]],
                    [[3, 64, 64], [3, 64, 64]],
                    [[2, 1, 0], [2, 0, 5]],
                    [[70, 3, 2], [70, 2, 0]],
                ] {
                    let shapes = shapes.map(|s| s.to_vec());
                    let options = Options { algorithm: Some(algorithm), accumulate, ..Options::default() };
                    check("cmk,ckn->cmn", &shapes, ranks, &options);
                    check("cmk,ckn->ncm", &shapes, ranks, &options);
                }
            }
        }
    }
}

#[test]
fn trees_verify() {
    for ranks in 1..=9 {
        let large = [vec![3, 200, 64], vec![3, 64, 301]];
        for algorithm in algorithms(ranks) {
            check("cmk,ckn->nmc", &large, ranks, &Options { algorithm: Some(algorithm), ..Options::default() });
        }
        for accumulate in [false, true] {
            let options = Options { accumulate, ..Options::default() };
            check("[ij,jk->ik],kl->il", &[vec![40, 50], vec![50, 60], vec![60, 30]], ranks, &options);
            check("ij,jk,kl->li", &[vec![40, 50], vec![50, 60], vec![60, 30]], ranks, &options);
            check("iij,jk->k", &[vec![4, 4, 5], vec![5, 6]], ranks, &options);
            check("[ij,jk->ik]->", &[vec![4, 5], vec![5, 6]], ranks, &options);
            check("[ij,jk->ik]->k", &[vec![400, 500], vec![500, 600]], ranks, &options);
            check("[ij,jk->ik]->i", &[vec![400, 500], vec![500, 600]], ranks, &options);
            check("[ij,ji->ij]->ji", &[vec![400, 500], vec![500, 400]], ranks, &options);
            check("ij->", &[vec![4, 5]], ranks, &options);
            check("->", &[vec![]], ranks, &options);
            check("ii->i", &[vec![4, 4]], ranks, &options);
            check("iij->ji", &[vec![4, 4, 7]], ranks, &options);
            check("...ij,...jk->...ik", &[vec![2, 3, 4, 5], vec![3, 5, 6]], ranks, &options);
            check(",->", &[vec![], vec![]], ranks, &options);
        }
    }
}
