//! Unit tests of `clock`.

use super::*;

#[test]
fn the_closest_bounds_of_all_rounds_hold() {
    // The clock of `there` is 1000 ns ahead of the clock of `here`. In each round, the process that enters last
    // leaves immediately, and the other process leaves later.
    let here = [[0, 40], [100, 180], [200, 230]];
    let there = [[1030, 1045], [1110, 1165], [1190, 1290]];
    let (ahead, error) = estimate(&here, &there);
    assert_eq!((ahead, error), (1017, 27));
    assert!((ahead - 1000).abs() <= error);
    assert_eq!(estimate(&here, &here).0, 0);
}

#[test]
fn instants_are_on_the_clock_of_the_system() {
    let (clock, now) = (Clock::read(), Instant::now());
    let second = std::time::Duration::from_secs(1);
    assert_eq!(clock.at(now + second) - clock.at(now), 1_000_000_000);
    assert!(clock.at(now) > clock.at(clock.at) && clock.at(clock.at) == clock.nanoseconds);
}

#[test]
fn one_host_has_one_clock() {
    let hosts = ["here", "here"].map(str::to_owned);
    assert_eq!(Clock::read().ahead(&World::single(), &hosts).unwrap(), (vec![0, 0], 0));
}
