//! Runs programs whose blocks must be copied, and gathers results on every process.

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::program::bind;
use super::record::Record;
use super::{DistTensor, Program, Result};
use crate::distribution::Distribution;
use crate::exec::Factors;
use crate::kernel::Element;
use crate::memory::Slot;
use crate::plan::{Plan, ResultResidency, Value};
use crate::schedule::Home;

impl<T: Element> Program<T> {
    /// Runs a plan with blocks of several boxes of the whole tensor, or with groups that copy operands. Copies whole
    /// operands to blocks, and back for the result.
    pub(super) fn run_scattered(
        &mut self,
        alpha: T,
        operands: &[ArrayViewD<T>],
        beta: T,
        mut out: ArrayViewMutD<T>,
    ) -> Result<()> {
        let distribute = |value: &Value, whole: Option<ArrayViewD<T>>| {
            let shape: Vec<usize> = self.plan.whole_dims(value).collect();
            let mut tensor = DistTensor::try_zeros(&self.world, &shape, &value.distribution)?;
            if let Some(whole) = whole {
                tensor.assign(whole);
            }
            Ok(tensor)
        };
        let given = operands.iter().enumerate();
        let blocks = given.map(|(index, whole)| distribute(self.plan.operand(index), Some(whole.view())));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let mut result = distribute(self.plan.output(), (beta != T::ZERO).then(|| out.view()))?;
        self.run_dist(alpha, &blocks.iter().collect::<Vec<_>>(), beta, &mut result)?;
        if self.world.local_ranks().len() == self.world.ranks() {
            result.copy_to(&mut out);
            return Ok(());
        }
        self.gather_into(&result, &mut out)
    }

    /// Gathers all blocks of the result into `out` on every rank.
    pub(super) fn gather_into(&mut self, block: &DistTensor<T>, out: &mut ArrayViewMutD<T>) -> Result<()> {
        let value = self.plan.output();
        let everywhere = Distribution::replicated(self.plan.ranks());
        if self.gather.is_none() {
            let ranks = self.plan.ranks();
            let plan = Plan::redistribution(
                &self.plan.output_shape(),
                self.plan.dtype,
                &value.distribution,
                &everywhere,
                ranks,
            );
            self.gather = Some(Box::new(Program::compile(&self.world, &plan)?));
        }
        let Some(gather) = &mut self.gather else { return Ok(()) };
        let rank = self.world.local_ranks().start;
        let slots = bind(gather.ranks[0].schedule(), |buffer| match buffer.home {
            Home::Operand(_) => block.block(rank).map(|block| Slot::borrowed(&block)),
            Home::Output => Some(Slot::borrowed_mut(out)),
            Home::Arena | Home::Exchange => None,
        });
        gather.record = Record::default();
        gather.execute(Factors::new(T::ONE, T::ZERO), vec![slots], ResultResidency::Whole, false)
    }
}
