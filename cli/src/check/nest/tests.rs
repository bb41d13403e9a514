//! Unit tests of `nest`.

use num_complex::Complex;

use super::*;

fn term(labels: &[Label], shape: &[usize], seed: usize) -> Term {
    let number = |place: usize| ((place * 7 + seed * 5) % 11) as f64 - 5.0;
    let values = (0..shape.iter().product()).map(|place| Complex::new(number(place), number(place + 3)).into());
    Term::dense(values.collect(), labels, shape)
}

#[test]
fn a_nest_is_the_sum_of_all_products() {
    let (a, b, c, d) = (Label(0), Label(1), Label(2), Label(3));
    let extents = [3, 4, 5, 2];
    let len = |label: Label| extents[label.0 as usize];
    for labels in [vec![vec![a, b], vec![b, c]], vec![vec![a, b, c, d]], vec![vec![a, d], vec![b, c], vec![d, b]]] {
        let shape = |labels: &[Label]| labels.iter().map(|&label| len(label)).collect::<Vec<_>>();
        let terms: Vec<Term> = labels.iter().enumerate().map(|(at, l)| term(l, &shape(l), at)).collect();
        for out in [vec![], vec![a], vec![c, a]] {
            let nest = Nest::new(&terms, &out, len, true, Rounding::default());
            let mut wanted = vec![Total::default(); shape(&out).iter().product()];
            for point in 0..120 {
                let at = [point % 3, point / 3 % 4, point / 12 % 5, point / 60];
                let used = |label: &Label| labels.iter().flatten().any(|known| known == label);
                if (0..4).any(|l| !used(&Label(l)) && at[l as usize] > 0) {
                    continue;
                }
                let factor = |term: &Term| {
                    let place = (0..4).map(|l| term.stride(Label(l)) * at[l as usize]).sum::<usize>();
                    Summand::from(term.values[place])
                };
                let place = out.iter().fold(0, |place, &label| place * len(label) + at[label.0 as usize]);
                wanted[place].add(terms.iter().map(factor).reduce(Summand::times::<true>).unwrap());
            }
            // Sums of small integers are exact in every order. The absolute values of complex integers are rounded,
            // so sums of absolute values are not exact.
            for (got, want) in nest.all(true).unwrap().iter().zip(wanted.iter().map(|total| total.number())) {
                assert_eq!(got.value, want.value, "{labels:?} {out:?}");
                assert!((got.magnitude - want.magnitude).abs() <= 1e-12 * want.magnitude, "{labels:?} {out:?}");
            }
            assert_eq!(nest.all(true).unwrap(), nest.all(false).unwrap());
        }
    }
}

#[test]
fn long_sums_stay_accurate() {
    let ones = vec![Tracked::from(Complex::new(0.1, 0.0)); 1 << 20];
    let mut total = Total::default();
    total.add(blocks(ones.len(), |at| ones[at].into()));
    let sum = total.number().value.re;
    let exact = 0.1f64 * (1 << 20) as f64;
    assert!((sum - exact).abs() <= 1e-13 * exact, "{sum}");
}
