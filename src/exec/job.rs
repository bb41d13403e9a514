//! Work tasks with their leases.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use num_complex::Complex;

use super::fault::{Fault, panic_message};
use super::{Factors, RankProgram, RunOptions};
use crate::dims::Label;
use crate::memory::{LeaseError, ReadLease, Store, WriteLease};
use crate::schedule::{Accumulate, Factor, TaskId, View, Work};

/// Dropping it releases its leases.
#[derive(Debug)]
pub struct Job<'a> {
    program: &'a RankProgram,
    task: TaskId,
    step: Step<'a>,
    out: (&'a [Label], WriteLease),
}

type Input<'a> = (&'a [Label], ReadLease);

#[derive(Debug)]
enum Step<'a> {
    Contract {
        alpha: Complex<f64>,
        left: Input<'a>,
        right: Input<'a>,
        conjugated: [bool; 2],
        beta: Complex<f64>,
    },
    Unary(Input<'a>),
    Add(ReadLease),
    Fill,
    Update {
        input: ReadLease,
        beta: Complex<f64>,
    },
    /// Multiplies by a factor, after conjugating if the flag is set.
    Scale(Complex<f64>, bool),
}

impl<'a> Job<'a> {
    /// # Errors
    /// If the store refuses a lease.
    pub fn new(
        program: &'a RankProgram,
        store: &Arc<Store>,
        task: TaskId,
        factors: Factors,
    ) -> Result<Job<'a>, LeaseError> {
        let schedule = program.schedule();
        let Some(work) = schedule.tasks[task].action.work() else {
            unreachable!("only tasks of the work lane are prepared");
        };
        let labels = |view: &View| schedule.buffers[view.buffer].labels.as_slice();
        let read = |view: &View| store.read(view.buffer, &view.bounds);
        let input = |view: &View| Ok((labels(view), read(view)?));
        let (step, out) = match work {
            Work::Contract { left, right, out, accumulate } => {
                let one = Complex::new(1.0, 0.0);
                let value = schedule.buffers[out.buffer].node;
                let alpha = if program.is_result(value) { factors.alpha } else { one };
                let alpha = program.scales().map_or(alpha, |scales| alpha * scales.of(value));
                let beta = match accumulate {
                    Accumulate::Overwrite => Complex::new(0.0, 0.0),
                    Accumulate::Add => one,
                    Accumulate::Beta => factors.beta,
                };
                let conjugated = [left, right].map(|view| schedule.is_conjugated(view));
                (Step::Contract { alpha, left: input(left)?, right: input(right)?, conjugated, beta }, out)
            }
            Work::Unary { input: from, out } => (Step::Unary(input(from)?), out),
            Work::Add { input, out } => (Step::Add(read(input)?), out),
            Work::Fill { out } => (Step::Fill, out),
            Work::Update { input, out } => (Step::Update { input: read(input)?, beta: factors.beta }, out),
            Work::Scale { out, factor: Factor::Alpha } => {
                (Step::Scale(factors.alpha, schedule.is_conjugated(out)), out)
            }
            Work::Scale { out, factor: Factor::Beta } => (Step::Scale(factors.beta, false), out),
        };
        Ok(Job { program, task, step, out: (labels(out), store.write(out.buffer, &out.bounds)?) })
    }

    /// # Errors
    /// If the memory for packing cannot be allocated, or if the task panics.
    pub fn run(self, options: &RunOptions) -> Result<(), String> {
        let injected = self.program.injected(options.injection) == Some(Fault::Worker);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            assert!(!injected, "injected for a test");
            self.compute()
        }));
        outcome.unwrap_or_else(|payload| Err(panic_message(payload.as_ref())))
    }

    fn compute(self) -> Result<(), String> {
        let Job { program, task, step, out: (o, mut out) } = self;
        let kernels = program.kernels();
        let fills = matches!(step, Step::Fill);
        match &step {
            Step::Contract { alpha, left: (l, left), right: (r, right), conjugated, beta } => {
                let planned = (&mut *program.planned(task), task, program.threads());
                (kernels.contract)(planned, *alpha, (l, left), (r, right), *conjugated, *beta, (o, &mut out))
                    .map_err(|error| error.to_string())?;
            }
            Step::Unary((i, input)) => {
                let planned = (&mut *program.planned(task), task, program.threads());
                (kernels.unary)(planned, (i, input), (o, &mut out)).map_err(|error| error.to_string())?;
            }
            Step::Add(input) => (kernels.add)(input, &mut out),
            Step::Fill => (kernels.fill)(&mut out),
            Step::Update { input, beta } => {
                (kernels.scale)(*beta, &mut out);
                (kernels.add)(input, &mut out);
            }
            Step::Scale(factor, conjugated) => {
                if *conjugated {
                    (kernels.conjugate)(&mut out);
                }
                (kernels.scale)(*factor, &mut out);
            }
        }
        if let Some(scales) = program.scales().filter(|_| !fills) {
            let schedule = program.schedule();
            for view in schedule.tasks[task].action.writes() {
                scales.measure(schedule.buffers[view.buffer].node, (kernels.largest)(&mut out));
            }
        }
        Ok(())
    }
}
