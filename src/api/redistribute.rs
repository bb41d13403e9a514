//! Distributes an array from rank 0, redistributes a tensor, and gathers a tensor, each with a program of one
//! redistribution.

use ndarray::{ArrayD, ArrayViewD};

use super::dist_tensor::allocation_error;
use super::validate::expect_fit;
use super::{DistTensor, Error, Program, Result, World};
use crate::distribution::Distribution;
use crate::kernel::Element;
use crate::memory::copy_of;
use crate::plan::Plan;

impl<T: Element> DistTensor<T> {
    /// Distributes rank 0's array; other processes pass `None`. Collective.
    ///
    /// # Errors
    /// If rank 0 passes no array of this shape. If the distribution cuts a dimension that does not exist or needs more
    /// ranks than the world has. If memory runs out or the run fails.
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

    /// The same tensor in another distribution. Each rank receives only what it lacks. Collective. Cost: every call
    /// plans and compiles. Both tensors are in memory at once.
    ///
    /// # Errors
    /// If the new distribution cuts a dimension that does not exist. If a distribution needs more ranks than the world
    /// has. If memory runs out or the run fails.
    pub fn redistribute(&self, world: &World, distribution: &Distribution) -> Result<DistTensor<T>> {
        let ranks = world.ranks();
        world.agree(expect_fit(self.shape(), self.distribution(), ranks))?;
        let mut moved = DistTensor::try_zeros(world, self.shape(), distribution)?;
        let plan = Plan::redistribution(self.shape(), T::DTYPE, self.distribution(), distribution, ranks);
        Program::compile(world, &plan)?.run_dist(T::ONE, &[self], T::ZERO, &mut moved)?;
        Ok(moved)
    }

    /// Returns the whole tensor on every process, as a row-major array. Collective. Cost: one more copy of the whole
    /// tensor per local rank.
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
