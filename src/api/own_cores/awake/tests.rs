//! Tests that workers stay awake between runs, for a moment, and compute meanwhile.

use super::*;

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn sum(from: u64, to: u64) -> u64 {
    if to - from < 10 {
        return (from..to).sum();
    }
    let middle = from.midpoint(to);
    let (left, right) = rayon::join(|| sum(from, middle), || sum(middle, to));
    left + right
}

fn until(reached: impl Fn() -> bool) {
    let started = Instant::now();
    while !reached() {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn workers_wake_for_a_run_and_sleep_after_it() {
    for threads in [1, 2, 5] {
        let (awake, pool) = (Awake::new(threads), pool(threads));
        // On a busy machine, some workers may already sleep again when the last one wakes up.
        until(|| {
            let _run = awake.run(Some(&pool));
            assert_eq!(pool.install(|| sum(0, 10_000)), 49_995_000);
            awake.awake.load(Relaxed) == threads
        });
        until(|| awake.awake.load(Relaxed) == 0);
    }
}

#[test]
fn many_callers_compute_with_workers_that_stay_awake() {
    let (awake, pool) = (Awake::new(2), pool(2));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let _run = awake.run(Some(&pool));
                    assert_eq!(pool.install(|| sum(0, 1000)), 499_500);
                }
            });
        }
    });
    until(|| awake.awake.load(Relaxed) == 0 && awake.runs.load(Relaxed) == 0);
}
