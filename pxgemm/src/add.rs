//! `pxgeadd` and `pxtran`: `C = alpha op(A) + beta C`.

use std::ffi::{c_char, c_int};

use einsum_dist::Element;

use super::blacs;
use super::check::{Argument, Check};
use super::context;
use super::contraction::{Form, Matrix, contract};
use super::descriptor::Descriptor;
use super::gemm::{MatrixArgument, Op, conjugated, finish, scale};
use super::matrix::{Layout, Local};

/// How a routine says what is done to `A`.
#[derive(Debug, Clone, Copy)]
pub enum Given {
    /// By the first argument, as in `pxgeadd`.
    Letter(*const c_char),
    /// By its name, as in `pxtran`, `pxtranu` and `pxtranc`.
    Name(Op),
}

pub struct Call<T> {
    pub op: Given,
    /// m and n.
    pub extents: [*const c_int; 2],
    pub alpha: *const T,
    pub a: MatrixArgument<T>,
    pub beta: *const T,
    pub c: MatrixArgument<T>,
}

/// Checks, and computes. Collective over the context of the matrices.
///
/// # Safety
/// Pointers and arrays are as in ScaLAPACK's documentation of `PDGEADD` and `PDTRAN`.
pub unsafe fn add<T: Element>(routine: &str, call: &Call<T>) {
    let (op, letters) = match call.op {
        // SAFETY: guaranteed by the caller.
        Given::Letter(letter) => (unsafe { Op::read(letter) }, 1),
        Given::Name(op) => (Some(op), 0),
    };
    // SAFETY: guaranteed by the caller.
    let (m, n, alpha, beta, context) = unsafe {
        let [m, n] = [0, 1].map(|at| Argument { value: call.extents[at].read(), position: letters + 1 + at as c_int });
        let context = Descriptor::read(call.a.descriptor).context;
        (m, n, call.alpha.read_unaligned(), call.beta.read_unaligned(), context)
    };
    let Some(grid) = blacs::grid(context) else {
        return blacs::wrong_argument(context, routine, -(100 * (letters + 7) + 2));
    };
    let stored = if op == Some(Op::None) { [m, n] } else { [n, m] };
    // SAFETY: guaranteed by the caller.
    let (a, c) = unsafe { (call.a.submatrix(stored, letters + 7), call.c.submatrix([m, n], letters + 12)) };
    let mut check = Check::new(context, grid);
    if op.is_none() {
        check.wrong(1);
    }
    [&a, &c].into_iter().for_each(|matrix| check.submatrix(matrix));
    let (Some(op), 0) = (op, check.code()) else {
        return blacs::wrong_argument(context, routine, check.code());
    };
    if m.value == 0 || n.value == 0 || (alpha == T::ZERO && beta == T::ONE) {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let locals = unsafe { [Local::new(call.a.array, &a, &grid), Local::new(call.c.array, &c, &grid)] };
    if alpha == T::ZERO {
        // SAFETY: guaranteed by the caller.
        return unsafe { scale(&locals[1], beta) };
    }
    let expression = if op == Op::None { "mn->mn" } else { "nm->mn" };
    let form = Form { expression, conjugated: conjugated::<T>([op]) };
    let [a, c] =
        [(&a, locals[0]), (&c, locals[1])].map(|(matrix, local)| Matrix { layout: Layout::new(matrix, &grid), local });
    finish(context, routine, || {
        // SAFETY: guaranteed by the caller.
        context::with(context, &grid, |world| unsafe { contract(world, form, alpha, &[a], beta, c) })
    });
}
