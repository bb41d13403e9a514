//! The parts of std's threads and rayon's pools that this crate uses, with Shuttle, and `explore`, with which tests run
//! many interleavings.
//!
//! Invariant: a pool has one worker, which lives as long as a scope, so, as in a real pool, a rank's tasks never run at
//! the same time.

use std::convert::Infallible;

use einsum_dist_test_tools::shuttle;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::mpsc::{Sender, channel};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

pub mod thread {
    //! Like `std::thread`.
    pub use einsum_dist_test_tools::shuttle::thread::{Scope, ScopedJoinHandle, scope};

    pub struct Builder;

    impl Builder {
        pub fn new() -> Builder {
            Builder
        }

        pub fn name(self, _name: String) -> Builder {
            self
        }

        pub fn spawn_scoped<'scope, T: Send + 'scope>(
            self,
            scope: &'scope Scope<'scope, '_>,
            body: impl FnOnce() -> T + Send + 'scope,
        ) -> std::io::Result<ScopedJoinHandle<'scope, T>> {
            Ok(scope.spawn(body))
        }
    }
}

pub struct ThreadPoolBuilder;

pub struct ThreadPool;

pub struct Scope<'s>(Sender<Box<dyn FnOnce() + Send + 's>>);

impl ThreadPoolBuilder {
    pub fn new() -> ThreadPoolBuilder {
        ThreadPoolBuilder
    }

    pub fn num_threads(self, _workers: usize) -> ThreadPoolBuilder {
        self
    }

    pub fn start_handler(self, _start: impl Fn(usize)) -> ThreadPoolBuilder {
        self
    }

    pub fn thread_name(self, _name: impl Fn(usize) -> String) -> ThreadPoolBuilder {
        self
    }

    pub fn build(self) -> Result<ThreadPool, Infallible> {
        Ok(ThreadPool)
    }
}

impl ThreadPool {
    pub fn broadcast<R>(&self, work: impl Fn(()) -> R) -> Vec<R> {
        vec![work(())]
    }

    pub fn install<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }

    pub fn in_place_scope<'s, R>(&self, body: impl FnOnce(&Scope<'s>) -> R) -> R {
        let (sender, receiver) = channel::<Box<dyn FnOnce() + Send + 's>>();
        shuttle::thread::scope(|scope| {
            scope.spawn(move || receiver.into_iter().for_each(|work| work()));
            body(&Scope(sender))
        })
    }
}

impl<'s> Scope<'s> {
    pub fn spawn(&self, work: impl FnOnce(()) + Send + 's) {
        self.0
            .send(Box::new(|| work(())))
            .unwrap_or_else(|_| unreachable!("the worker listens as long as the scope lives"));
    }
}

/// Runs a test in `orders` random interleavings, and in `orders` of Shuttle's PCT scheduler.
pub fn explore(orders: usize, test: impl Fn() + Send + Sync + 'static) {
    let test = std::sync::Arc::new(test);
    let schedulers: [Box<dyn Scheduler + Send>; 2] =
        [Box::new(RandomScheduler::new(orders)), Box::new(PctScheduler::new(3, orders))];
    for scheduler in schedulers {
        let mut config = Config::new();
        // Kernels need more stack than Shuttle's default.
        config.stack_size = 1 << 20;
        config.silence_warnings = true;
        config.max_steps = MaxSteps::FailAfter(100_000);
        config.failure_persistence = FailurePersistence::Print;
        let test = test.clone();
        Runner::new(scheduler, config).run(move || test());
    }
}
