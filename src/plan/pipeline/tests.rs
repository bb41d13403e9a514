//! Unit tests of `pipeline`.

use super::Divisions;

fn ends(work: &[f64], groups: usize) -> Vec<usize> {
    Divisions::new(work, groups).ends(groups)
}

/// The same as [`Divisions`], trying all starts of the last range.
fn ends_by_trying(work: &[f64], groups: usize) -> Vec<usize> {
    let mut least: Vec<Vec<(f64, usize)>> = vec![(0..=work.len()).map(|end| (work[..end].iter().sum(), 0)).collect()];
    for group in 1..groups {
        let row = (0..=work.len()).map(|end| {
            let last = |start: usize| work[start..end].iter().sum::<f64>();
            let totals = (group..end).map(|start| (least[group - 1][start].0.max(last(start)), start));
            totals.min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap_or((f64::INFINITY, end))
        });
        least.push(row.collect());
    }
    let mut ends = vec![work.len()];
    for group in (1..groups).rev() {
        let last = ends[ends.len() - 1];
        ends.push(least[group][last].1);
    }
    ends.reverse();
    ends
}

/// The amounts of work have few distinct values, including 0, so that many divisions tie.
#[test]
fn divisions_are_the_first_of_the_best() {
    let mut state = 1u64;
    let mut below = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..2000 {
        let (works, kinds) = (1 + below(12), 1 + below(5));
        let work: Vec<f64> = (0..works).map(|_| below(kinds) as f64).collect();
        let divisions = Divisions::new(&work, work.len());
        for groups in 1..=work.len() {
            assert_eq!(divisions.ends(groups), ends_by_trying(&work, groups), "{work:?} in {groups}");
        }
    }
}

#[test]
fn work_is_divided_evenly() {
    assert_eq!(ends(&[1.0, 1.0, 1.0], 3), [1, 2, 3]);
    assert_eq!(ends(&[1.0, 1.0, 4.0, 1.0, 1.0], 3), [2, 3, 5]);
    assert_eq!(ends(&[5.0, 1.0, 1.0, 1.0], 2), [1, 4]);
    assert_eq!(ends(&[1.0, 2.0], 1), [2]);
}
