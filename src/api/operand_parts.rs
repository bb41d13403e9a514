//! Runs on operands' blocks. Of operands in parts, a rank keeps only the current part.
//!
//! Invariants: A part is read again only after a slice that needed another one. All processes read the same parts in
//! the same order, and use only parts that all could read.

use super::program::{Slices, bind};
use super::validate::{Tensor, expect_distribution, expect_shape};
use super::{DistTensor, Error, Program, Result, World};
use crate::exec::Factors;
use crate::kernel::Element;
use crate::memory::Slot;
use crate::plan::{Plan, ResultResidency};
use crate::schedule::Home;

type Read<'a, T> = dyn FnMut(usize, &[usize], &mut DistTensor<T>) -> Result<()> + 'a;

/// Operands, some in parts ([`Plan::operands_in_parts`]).
pub struct OperandParts<'a, T: Element> {
    world: World,
    tensors: Vec<DistTensor<T>>,
    /// Where each tensor begins in its operand; `None` without values.
    corners: Vec<Option<Vec<usize>>>,
    read: Box<Read<'a, T>>,
}

impl<'a, T: Element> OperandParts<'a, T> {
    /// Allocates all blocks, and reads the operands that are not in parts.
    ///
    /// `read` gets an operand's number, the index at which the part begins, and the part, whose local blocks it must
    /// fill ([`DistTensor::read_npy`], [`DistTensor::fill_random`]). Collective, like its calls of `read`.
    ///
    /// # Errors
    /// If memory runs out or `read` fails on any process.
    pub fn new(
        world: &World,
        plan: &Plan,
        read: impl FnMut(usize, &[usize], &mut DistTensor<T>) -> Result<()> + 'a,
    ) -> Result<OperandParts<'a, T>> {
        let part =
            |index| DistTensor::try_zeros(world, &plan.operand_part_shape(index), &plan.operand(index).distribution);
        let tensors = (0..plan.operands).map(part).collect::<Result<_>>()?;
        let corners = vec![None; plan.operands];
        let mut parts = OperandParts { world: world.clone(), tensors, corners, read: Box::new(read) };
        let whole = (0..plan.operands).filter(|index| !plan.operands_in_parts.contains(index));
        whole.into_iter().try_for_each(|index| parts.load(index, vec![0; plan.operand(index).shape.len()]))?;
        Ok(parts)
    }

    /// The operands, or the parts that were read last.
    pub fn tensors(&mut self) -> &mut [DistTensor<T>] {
        &mut self.tensors
    }

    /// Calls `visit` with an operand or each of its parts, once read. Collective.
    ///
    /// # Errors
    /// If a part cannot be read, or `visit` fails.
    pub fn each_part(
        &mut self,
        plan: &Plan,
        index: usize,
        mut visit: impl FnMut(&DistTensor<T>) -> Result<()>,
    ) -> Result<()> {
        if !plan.operands_in_parts.contains(&index) {
            return visit(&self.tensors[index]);
        }
        plan.operand_corners(index).try_for_each(|corner| {
            self.load(index, corner)?;
            visit(&self.tensors[index])
        })
    }

    fn load(&mut self, index: usize, corner: Vec<usize>) -> Result<()> {
        if self.corners[index].as_ref() == Some(&corner) {
            return Ok(());
        }
        self.corners[index] = None;
        let read = (self.read)(index, &corner, &mut self.tensors[index]);
        self.world.agree(read)?;
        self.corners[index] = Some(corner);
        Ok(())
    }
}

pub(super) enum Operands<'o, 'r, T: Element> {
    Whole(&'o [&'o DistTensor<T>]),
    InParts(&'o mut OperandParts<'r, T>),
}

impl<T: Element> Operands<'_, '_, T> {
    fn is_in_parts(&self, plan: &Plan, index: usize) -> bool {
        matches!(self, Operands::InParts(_)) && plan.operands_in_parts.contains(&index)
    }

    pub(super) fn tensors(&self) -> Vec<&DistTensor<T>> {
        match self {
            Operands::Whole(tensors) => tensors.to_vec(),
            Operands::InParts(parts) => parts.tensors.iter().collect(),
        }
    }

    /// Collective.
    fn load(&mut self, plan: &Plan, slice: usize) -> Result<()> {
        let Operands::InParts(parts) = self else { return Ok(()) };
        let mut in_parts = plan.operands_in_parts.iter();
        in_parts.try_for_each(|&index| parts.load(index, plan.slice_starts(slice, &plan.operand(index).labels)))
    }

    pub(super) fn each_part(
        &mut self,
        plan: &Plan,
        index: usize,
        mut visit: impl FnMut(&DistTensor<T>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Operands::Whole(tensors) => visit(tensors[index]),
            Operands::InParts(parts) => parts.each_part(plan, index, visit),
        }
    }
}

impl<T: Element> Program<T> {
    /// Like [`Program::run_dist`], but computes one part of the result into `out`, which has the shape
    /// [`Plan::part_shape`].
    ///
    /// The [`Plan::part_count`] parts are independent, and need no more memory than planned. `out` may be reused
    /// between parts. Part 0 resets the measurements, and later parts add to them.
    ///
    /// # Errors
    /// Those of [`Program::run_dist`], and if no such part exists.
    pub fn run_part(
        &mut self,
        part: usize,
        alpha: T,
        operands: &[&DistTensor<T>],
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        self.run_part_of(part, alpha, Operands::Whole(operands), beta, out)
    }

    /// Like [`Program::run_part`], but reads operands in parts before the slices that need them. Collective.
    ///
    /// # Errors
    /// Those of [`Program::run_part`], and if a part of an operand cannot be read.
    pub fn run_part_reading(
        &mut self,
        part: usize,
        alpha: T,
        operands: &mut OperandParts<T>,
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        self.run_part_of(part, alpha, Operands::InParts(operands), beta, out)
    }

    fn run_part_of(
        &mut self,
        part: usize,
        alpha: T,
        mut operands: Operands<T>,
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        if let Some(accumulating) = self.accumulating(beta)? {
            return accumulating.run_part_of(part, alpha, operands, beta, out);
        }
        let parts = self.plan.part_count();
        if part >= parts {
            return Err(Error::Usage(format!("there is no part {part}: the last part of the result is {}", parts - 1)));
        }
        let slices = Slices { run: self.plan.slices_of_part(part), output: self.plan.result, goes_on: false };
        self.run_slices(slices, alpha, &mut operands, beta, out)
    }

    pub(super) fn run_blocks(
        &mut self,
        slices: Slices,
        alpha: T,
        operands: &[&DistTensor<T>],
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        self.run_slices(slices, alpha, &mut Operands::Whole(operands), beta, out)
    }

    pub(super) fn run_slices(
        &mut self,
        slices: Slices,
        alpha: T,
        operands: &mut Operands<T>,
        beta: T,
        out: &mut DistTensor<T>,
    ) -> Result<()> {
        let held = slices.output;
        let fits = self.check_dist(operands, out, held);
        self.world.agree(fits)?;
        if self.groups.is_some() {
            return self.run_in_groups(alpha, &operands.tensors(), beta, out, None);
        }
        let reads = matches!(operands, Operands::InParts(_));
        self.each_slice(slices, reads, beta, |program, slice, beta| {
            operands.load(&program.plan, slice)?;
            let tensors = operands.tensors();
            let bound = program.ranks.iter().map(|rank| {
                let schedule = rank.schedule();
                bind(schedule, |buffer| match buffer.home {
                    Home::Operand(index) => tensors[index].block(schedule.rank).map(|block| {
                        match operands.is_in_parts(&program.plan, index) {
                            true => Slot::borrowed(&block),
                            false => Slot::borrowed(&program.slice_of(block, program.plan.operand(index), slice)),
                        }
                    }),
                    Home::Output => out.block_mut(schedule.rank).map(|block| match held {
                        ResultResidency::Whole => {
                            Slot::borrowed_mut(&mut program.slice_of(block, program.plan.output(), slice))
                        }
                        ResultResidency::InParts => Slot::borrowed_mut(&mut { block }),
                    }),
                    Home::Arena | Home::Exchange => None,
                })
            });
            Ok((Factors::new(alpha, beta), bound.collect()))
        })
    }

    pub(super) fn check_dist(&self, operands: &Operands<T>, out: &DistTensor<T>, held: ResultResidency) -> Result<()> {
        let tensors = operands.tensors();
        self.check_call(tensors.len())?;
        for (index, tensor) in tensors.into_iter().enumerate() {
            let (name, value) = (Tensor::Operand(index), self.plan.operand(index));
            match operands.is_in_parts(&self.plan, index) {
                true => expect_shape(name, tensor.shape(), value.shape.iter().copied())?,
                false => expect_shape(name, tensor.shape(), self.plan.whole_dims(value))?,
            }
            expect_distribution(name, tensor.distribution(), value)?;
        }
        let value = self.plan.output();
        match held {
            ResultResidency::Whole => expect_shape(Tensor::Output, out.shape(), self.plan.whole_dims(value))?,
            ResultResidency::InParts => expect_shape(Tensor::Part, out.shape(), value.shape.iter().copied())?,
        }
        expect_distribution(Tensor::Output, out.distribution(), value)
    }
}
