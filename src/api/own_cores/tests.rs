//! Tests that own cores change nothing but where workers run.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn workers(threads: usize) -> Workers {
    Workers::on_own_cores(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()))
}

#[test]
fn work_runs_in_the_pool_and_returns_its_value() {
    for threads in [1, 2, 3] {
        let workers = workers(threads);
        for round in 0..100 {
            let sum = AtomicUsize::new(0);
            let value = workers.run(|| {
                rayon::join(|| sum.fetch_add(1, Ordering::Relaxed), || sum.fetch_add(round, Ordering::Relaxed));
                rayon::current_num_threads()
            });
            assert_eq!((value, sum.into_inner()), (threads, round + 1));
        }
    }
}

#[test]
fn all_workers_may_call_at_once() {
    let workers = workers(2);
    let values = workers.run(|| rayon::broadcast(|_| workers.run(|| workers.run(rayon::current_num_threads))));
    assert_eq!(values, [2, 2]);
}

#[test]
fn a_panic_reaches_the_caller() {
    let workers = workers(2);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| workers.run(|| panic!("as expected"))));
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"as expected"));
    assert_eq!(workers.run(|| 5), 5);
}

/// Two pools want the same cores, and compute at the same time.
#[test]
fn workers_that_wait_for_their_cores_are_released() {
    let pools = [workers(host::cpus().len()), workers(host::cpus().len())];
    let Some(own) = pools[0].own.clone() else { return };
    let started = Instant::now();
    let busy = || {
        rayon::broadcast(|_| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {}
        })
    };
    let released = |pool: &Workers| !unpoisoned(pool.own.as_ref().unwrap().state.lock()).pinned;
    let mut ever = false;
    while !ever && started.elapsed() < Duration::from_secs(30) {
        std::thread::scope(|scope| {
            scope.spawn(|| pools[1].run(busy));
            pools[0].run(busy);
        });
        ever = pools.iter().any(released);
    }
    assert!(ever);
    assert_eq!(own.all, host::cpus());
}
