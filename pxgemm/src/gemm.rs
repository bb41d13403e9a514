//! `pxgemm`: `C = alpha op(A) op(B) + beta C`, with `op` nothing, the transpose or the conjugate transpose.

use std::ffi::{c_char, c_int};

use einsum_dist::Element;

use super::blacs;
use super::check::{Argument, Check, Submatrix};
use super::context;
use super::contraction::{Form, Matrix, contract};
use super::descriptor::Descriptor;
use super::matrix::{Layout, Local};

/// What is done to an operand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    None,
    Transpose,
    ConjugateTranspose,
}

impl Op {
    /// # Safety
    /// `letter` points to a character.
    pub unsafe fn read(letter: *const c_char) -> Option<Op> {
        // SAFETY: guaranteed by the caller.
        match unsafe { letter.read() }.cast_unsigned().to_ascii_uppercase() {
            b'N' => Some(Op::None),
            b'T' => Some(Op::Transpose),
            b'C' => Some(Op::ConjugateTranspose),
            _ => None,
        }
    }
}

/// A matrix argument: its array, the numbers of its first row and column, and its descriptor.
#[derive(Debug)]
pub struct MatrixArgument<T> {
    pub array: *mut T,
    pub row: *const c_int,
    pub column: *const c_int,
    pub descriptor: *const c_int,
}

impl<T> MatrixArgument<T> {
    /// # Safety
    /// The pointers are as in ScaLAPACK.
    pub unsafe fn submatrix(&self, extents: [Argument; 2], position: c_int) -> Submatrix {
        // SAFETY: guaranteed by the caller.
        let (start, of) = unsafe {
            let start = [self.row.read(), self.column.read()].map(|number| number.wrapping_sub(1));
            (start, Descriptor::read(self.descriptor))
        };
        Submatrix { extents, start, of, position }
    }
}

/// The arguments of `pxgemm`.
pub struct Call<T> {
    pub op: [*const c_char; 2],
    /// m, n and k.
    pub extents: [*const c_int; 3],
    pub alpha: *const T,
    pub a: MatrixArgument<T>,
    pub b: MatrixArgument<T>,
    pub beta: *const T,
    pub c: MatrixArgument<T>,
}

/// Checks, and computes. Collective over the context of the matrices.
///
/// # Safety
/// Pointers and arrays are as in ScaLAPACK's documentation of `PDGEMM`.
pub unsafe fn gemm<T: Element>(routine: &str, call: &Call<T>) {
    // SAFETY: guaranteed by the caller.
    let (op, [m, n, k], alpha, beta, context) = unsafe {
        let op = call.op.map(|letter| Op::read(letter));
        let extents = [0, 1, 2].map(|at| Argument { value: call.extents[at].read(), position: 3 + at as c_int });
        let context = Descriptor::read(call.a.descriptor).context;
        (op, extents, call.alpha.read_unaligned(), call.beta.read_unaligned(), context)
    };
    let Some(grid) = blacs::grid(context) else { return blacs::wrong_argument(context, routine, -1002) };
    let stored = |op: Option<Op>, rows: Argument, columns: Argument| match op {
        Some(Op::None) => [rows, columns],
        _ => [columns, rows],
    };
    // SAFETY: guaranteed by the caller.
    let matrices = unsafe {
        [
            call.a.submatrix(stored(op[0], m, k), 10),
            call.b.submatrix(stored(op[1], k, n), 14),
            call.c.submatrix([m, n], 19),
        ]
    };
    let mut check = Check::new(context, grid);
    match op {
        [None, _] => check.wrong(1),
        [_, None] => check.wrong(2),
        _ => {}
    }
    matrices.iter().for_each(|matrix| check.submatrix(matrix));
    let ([Some(of_a), Some(of_b)], 0) = (op, check.code()) else {
        return blacs::wrong_argument(context, routine, check.code());
    };
    if m.value == 0 || n.value == 0 || ((alpha == T::ZERO || k.value == 0) && beta == T::ONE) {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let local = |array: &MatrixArgument<T>, matrix: &Submatrix| unsafe { Local::new(array.array, matrix, &grid) };
    let matrix = |array: &MatrixArgument<T>, at: usize| Matrix {
        layout: Layout::new(&matrices[at], &grid),
        local: local(array, &matrices[at]),
    };
    if alpha == T::ZERO || k.value == 0 {
        // SAFETY: guaranteed by the caller.
        return unsafe { scale(&local(&call.c, &matrices[2]), beta) };
    }
    let form = Form { expression: expression(of_a, of_b), conjugated: conjugated::<T>([of_a, of_b]) };
    let operands = [matrix(&call.a, 0), matrix(&call.b, 1)];
    let out = matrix(&call.c, 2);
    finish(context, routine, || {
        // SAFETY: guaranteed by the caller.
        context::with(context, &grid, |world| unsafe { contract(world, form, alpha, &operands, beta, out) })
    });
}

/// Runs a call; an error, or a panic, ends the program.
pub fn finish(context: c_int, routine: &str, call: impl FnOnce() -> einsum_dist::Result<()>) {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => blacs::abort(context, routine, &error.to_string()),
        Err(_) => blacs::abort(context, routine, "a bug in einsum-dist"),
    }
}

fn expression(a: Op, b: Op) -> &'static str {
    match (a == Op::None, b == Op::None) {
        (true, true) => "mk,kn->mn",
        (true, false) => "mk,nk->mn",
        (false, true) => "km,kn->mn",
        (false, false) => "km,nk->mn",
    }
}

/// The conjugated operands; none of real numbers.
pub fn conjugated<T: Element>(ops: impl IntoIterator<Item = Op>) -> Vec<usize> {
    let all = ops.into_iter().enumerate().filter(|(_, op)| T::DTYPE.is_complex() && *op == Op::ConjugateTranspose);
    all.map(|(at, _)| at).collect()
}

/// `C = beta C`; 0 is written without reading.
///
/// # Safety
/// Nothing else accesses the local part.
pub unsafe fn scale<T: Element>(local: &Local<T>, beta: T) {
    // SAFETY: guaranteed by the caller.
    let mut view = unsafe { local.view() };
    if beta == T::ZERO {
        view.fill(T::ZERO);
    } else {
        view.mapv_inplace(|value| value * beta);
    }
}
