//! Unit tests of `noise`.

use super::*;

fn mean_and_least(noise: Noise, ranks: usize) -> (f64, f64) {
    let factors = || (0..20_000).map(|task| noise.factor(task % 7, task, ranks));
    (factors().sum::<f64>() / 20_000.0, factors().fold(f64::INFINITY, f64::min))
}

#[test]
fn delays_have_their_mean_and_are_never_negative() {
    let noise = Noise { mean: 0.2, seed: 3 };
    let (mean, least) = mean_and_least(noise, 1);
    assert!((mean - 1.2).abs() < 0.005 && (1.0..1.001).contains(&least), "{mean} {least}");
    assert_eq!(Noise::default().factor(0, 0, 5), 1.0);
}

/// The mean of the largest of n exponential numbers is the harmonic number 1 + 1/2 + ... + 1/n.
#[test]
fn the_largest_of_many_has_the_mean_of_a_maximum() {
    let noise = Noise { mean: 0.2, seed: 3 };
    for ranks in [2, 100, 1 << 20] {
        let harmonic: f64 = (1..=ranks).map(|n| 1.0 / n as f64).sum();
        let (mean, least) = mean_and_least(noise, ranks);
        assert!((mean - 1.0 - 0.2 * harmonic).abs() < 0.01 && least >= 1.0, "{ranks}: {mean}");
    }
}

#[test]
fn delays_depend_on_seed_rank_and_task_only() {
    let factor = |seed, rank, task| Noise { mean: 1.0, seed }.factor(rank, task, 1);
    assert_eq!(factor(1, 2, 3), factor(1, 2, 3));
    let others = [factor(2, 2, 3), factor(1, 3, 3), factor(1, 2, 4), factor(1 << 32 | 1, 2, 3)];
    assert!(others.iter().all(|&other| other != factor(1, 2, 3)), "{others:?}");
}
