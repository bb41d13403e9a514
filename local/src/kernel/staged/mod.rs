//! Executes a [`StagedPlan`] block by block, with columns or windows (`docs/kernels.md`).
//!
//! Each share has its own part of the workspace. If `beta` is 0, `out` is never read. Nothing is allocated.

mod columns;
mod pick;
mod segments;
mod sums;
mod windows;

use num_complex::Complex;
use rayon::prelude::*;

use super::Element;
use super::loops::{Factors, Lanes, Visit};
use super::pointer::{Const, Mut};
use super::simd::{Body, Both, dispatch};
use crate::dtype::Dtype;
use crate::local_plan::{Isa, StagedPlan};
use sums::Totals;

const OUT: usize = 2;

/// Like [`super::loops::run`], with another plan.
///
/// # Safety
/// Same as for [`super::loops::run`].
///
/// # Panics
/// If the workspace has fewer elements than the plan requires.
pub(super) unsafe fn run<T: Element>(
    plan: &StagedPlan,
    isa: Isa,
    (alpha, beta): (T, T),
    mut operands: [*const T; 2],
    mut conjugated: [bool; 2],
    out: *mut T,
    workspace: &mut [T],
) {
    if plan.swapped {
        operands.swap(0, 1);
        conjugated.swap(0, 1);
    }
    let workspace = &mut workspace[..plan.workspace_elements()];
    let [copied, sums] = plan.share_elements();
    let factors = Factors { alpha, beta, conjugated };
    let (operands, out) = (operands.map(Const), Mut(out));
    let run = |(number, workspace): (usize, &mut [T])| {
        let (columns, sums) = workspace.split_at_mut(copied);
        // `Share` is for one thread only.
        let operands = operands.map(|operand| operand.at(0));
        let share = Share { plan, factors, number, operands, out: out.at(0), columns, sums };
        // SAFETY: guaranteed by the caller; blocks are disjoint in `out`, or have sums of their own. `Element` is
        // sealed, so `T::DTYPE` names `T`.
        unsafe {
            match T::DTYPE {
                Dtype::Float32 => dispatch(isa, share.of::<f32>()),
                Dtype::Float64 => dispatch(isa, share.of::<f64>()),
                Dtype::Complex64 => dispatch(isa, share.of::<Complex<f32>>()),
                Dtype::Complex128 => dispatch(isa, share.of::<Complex<f64>>()),
            }
        }
    };
    match plan.shares() {
        1 => run((0, &mut *workspace)),
        _ => workspace.par_chunks_mut(copied + sums).with_max_len(1).enumerate().for_each(run),
    }
    if plan.totals {
        let visit = Visit::new(factors, true);
        for (at, offset) in plan.outs.iter().enumerate() {
            let totals = workspace.chunks_exact(copied + sums).map(|share| share[copied + at]);
            let sum = totals.reduce(|a, b| a + b).unwrap_or(T::ZERO);
            // SAFETY: guaranteed by the caller.
            unsafe { visit.one(out.at(offset[OUT]), sum) };
        }
    }
}

struct Share<'a, T> {
    plan: &'a StagedPlan,
    factors: Factors<T>,
    number: usize,
    operands: [*const T; 2],
    out: *mut T,
    columns: &'a mut [T],
    sums: &'a mut [T],
}

impl<'a, T: Element> Share<'a, T> {
    /// `U` is `T`.
    fn of<U: Element>(self) -> Share<'a, U> {
        assert_eq!(T::DTYPE, U::DTYPE);
        let Share { plan, factors, number, operands, out, columns, sums } = self;
        // SAFETY: the types are the same.
        let [columns, sums] =
            [columns, sums].map(|all| unsafe { std::slice::from_raw_parts_mut(all.as_mut_ptr().cast(), all.len()) });
        let (operands, out) = (operands.map(|operand| operand.cast()), out.cast());
        Share { plan, factors: factors.of(), number, operands, out, columns, sums }
    }

    /// # Safety
    /// Same as for the function [`run`](fn@run), with this share's blocks.
    #[inline(always)]
    unsafe fn run<S: Both>(self)
    where
        T: Lanes<S>,
    {
        let Share { plan, factors, number, operands, out, columns, sums } = self;
        let base = columns.as_mut_ptr();
        let mut totals = Totals::new(sums, plan.outs.len());
        let mut constants = None;
        for (start, lanes) in plan.blocks(number) {
            let tensors = [operands[0].cast_mut(), operands[1].cast_mut(), out];
            let tensor = |t: usize| tensors[t].wrapping_offset(start[t]);
            if let Some(windows) = &plan.windows {
                // SAFETY: guaranteed by the caller; the share's workspace has all parts, and the first contains the
                // constants of these outer loops.
                unsafe {
                    if !plan.each && constants.replace(start[1]) != Some(start[1]) {
                        windows::constants(windows, tensor(1), base);
                    }
                    windows::block::<S, T>(windows, factors, [0, 1, OUT].map(tensor), lanes, base);
                }
                continue;
            }
            // SAFETY: guaranteed by the caller; columns are in the share's workspace, and written before they are read.
            unsafe {
                let [mut first, mut second, mut out] = [tensor(0), tensor(1), tensor(OUT)];
                if let Some(columns) = &plan.columns[0] {
                    first = base.wrapping_add(columns.at);
                    columns::copy::<S, T, false>(columns, tensor(0), first, lanes);
                }
                if let Some(columns) = &plan.columns[1] {
                    second = base.wrapping_add(columns.at);
                    columns::copy::<S, T, false>(columns, tensor(1), second, lanes);
                }
                if let Some(columns) = &plan.columns[OUT] {
                    out = base.wrapping_add(columns.at);
                    if factors.beta != T::ZERO {
                        columns::copy::<S, T, false>(columns, tensor(OUT), out, lanes);
                    }
                }
                if plan.totals {
                    sums::totals::<S, T>(plan, factors.conjugated, [first, second], totals.next(), lanes);
                    totals.add();
                } else {
                    sums::block::<S, T>(plan, factors, [first, second], out, lanes);
                }
                if let Some(columns) = &plan.columns[OUT] {
                    columns::copy::<S, T, true>(columns, out, tensor(OUT), lanes);
                }
            }
        }
        totals.finish();
    }
}

macro_rules! bodies {
    ($($type:ty),*) => { $(
        impl Body for Share<'_, $type> {
            type Output = ();

            #[inline(always)]
            unsafe fn run<S: Both>(self) {
                // SAFETY: guaranteed by the caller.
                unsafe { self.run::<S>() }
            }
        }
    )* };
}

bodies!(f32, f64, Complex<f32>, Complex<f64>);
