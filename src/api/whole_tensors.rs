//! Runs programs whose blocks must be copied, and distributes, redistributes and gathers tensors by programs of one
//! redistribution.

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD};

use super::dist_tensor::allocation_error;
use super::program::bind;
use super::record::Record;
use super::validate::expect_fit;
use super::{DistTensor, Error, Operand, Program, Result, World};
use crate::distribution::Distribution;
use crate::exec::Factors;
use crate::kernel::Element;
use crate::memory::{Slot, copy_of, zero_array};
use crate::plan::{Plan, ResultResidency, Value};
use crate::schedule::Home;

impl<T: Element> Program<T> {
    pub(super) fn run_scattered(
        &mut self,
        alpha: T,
        operands: &[ArrayViewD<T>],
        beta: T,
        mut out: ArrayViewMutD<T>,
    ) -> Result<()> {
        let blocks = self.distributed(operands)?;
        let mut result = self.blocks_of(self.plan.output(), (beta != T::ZERO).then(|| out.view()))?;
        self.run_dist(alpha, &blocks.iter().collect::<Vec<_>>(), beta, &mut result)?;
        if self.world.is_one_process() {
            result.copy_to(&mut out);
            return Ok(());
        }
        self.gather_into(&result, &mut out)
    }

    fn distributed(&self, operands: &[ArrayViewD<T>]) -> Result<Vec<DistTensor<T>>> {
        let given = operands.iter().enumerate();
        given.map(|(index, whole)| self.blocks_of(self.plan.operand(index), Some(whole.view()))).collect()
    }

    fn blocks_of(&self, value: &Value, whole: Option<ArrayViewD<T>>) -> Result<DistTensor<T>> {
        let shape: Vec<usize> = self.plan.whole_dims(value).collect();
        let mut tensor = DistTensor::try_zeros(&self.world, &shape, &value.distribution)?;
        if let Some(whole) = whole {
            tensor.assign(whole);
        }
        Ok(tensor)
    }

    /// Like [`Program::run`], with an exponent as in [`Program::run_dist_with_exponent`]: the result is the array times
    /// 2 to this power. Copies the operands. Collective.
    ///
    /// # Errors
    /// Those of [`Program::run`].
    pub fn run_with_exponent(&mut self, operands: &[&dyn Operand<T>]) -> Result<(ArrayD<T>, i64)> {
        let rank = self.world.local_ranks().start;
        let out = zero_array(&self.plan.output_shape()).map_err(|cause| allocation_error(rank, cause));
        let mut out = self.world.agree(out)?;
        let views: Vec<ArrayViewD<T>> = operands.iter().map(|operand| operand.view_dyn()).collect();
        let fits = self.check_whole(&views, &out.view_mut());
        self.world.agree(fits)?;
        let (mut exponent, mut blocks) = (0, self.distributed(&views)?);
        for block in &mut blocks {
            exponent += i64::from(block.split_exponent(&self.world)?);
        }
        let mut result = self.blocks_of(self.plan.output(), None)?;
        let operands: Vec<&DistTensor<T>> = blocks.iter().collect();
        exponent += self.run_dist_with_exponent(&operands, &mut result)?;
        if self.world.is_one_process() {
            result.copy_to(&mut out.view_mut());
        } else {
            self.gather_into(&result, &mut out.view_mut())?;
        }
        Ok((out, if result.largest(&self.world)? == 0.0 { 0 } else { exponent }))
    }

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

impl<T: Element> DistTensor<T> {
    /// Distributes rank 0's array; other processes pass `None`. Collective.
    ///
    /// # Errors
    /// Those of [`DistTensor::try_zeros`]. If rank 0 passes no array of this shape, or the run fails.
    pub fn from_root(
        world: &World,
        array: Option<ArrayViewD<'_, T>>,
        shape: &[usize],
        distribution: &Distribution,
    ) -> Result<DistTensor<T>> {
        let mut source = DistTensor::try_zeros(world, shape, &Distribution::single())?;
        let given = match (source.blocks_mut().next(), array) {
            (Some((_, mut block)), Some(array)) if array.shape() == shape => {
                block.assign(&array);
                Ok(())
            }
            (Some(_), _) => Err(Error::Usage(format!("rank 0 has no array of shape {shape:?}"))),
            (None, _) => Ok(()),
        };
        world.agree(given)?;
        source.redistribute(world, distribution)
    }

    /// The tensor in another distribution. Each rank receives only what it lacks. Collective. Cost: every call plans
    /// and compiles, with both tensors in memory.
    ///
    /// # Errors
    /// Those of [`DistTensor::try_zeros`], and if the run fails.
    pub fn redistribute(&self, world: &World, distribution: &Distribution) -> Result<DistTensor<T>> {
        let ranks = world.ranks();
        world.agree(expect_fit(self.shape(), self.distribution(), ranks))?;
        let mut moved = DistTensor::try_zeros(world, self.shape(), distribution)?;
        let plan = Plan::redistribution(self.shape(), T::DTYPE, self.distribution(), distribution, ranks);
        Program::compile(world, &plan)?.run_dist(T::ONE, &[self], T::ZERO, &mut moved)?;
        Ok(moved)
    }

    /// The whole tensor on every process, row-major. Collective. Cost: one more copy per local rank.
    ///
    /// # Errors
    /// If memory runs out or the run fails.
    pub fn gather(&self, world: &World) -> Result<ArrayD<T>> {
        let everywhere = self.redistribute(world, &Distribution::replicated(world.ranks()))?;
        let rank = world.local_ranks().start;
        let whole = everywhere.block(rank).map(|block| copy_of(&block).map_err(|cause| allocation_error(rank, cause)));
        world.agree(whole.unwrap_or_else(|| Err(Error::Usage("no rank of the world lives in this process".to_owned()))))
    }
}
