//! One matrix product of strided matrices: the only place that calls the GEMM crate.

use gemm::Parallelism;

use super::Element;

/// A matrix in memory: its first element and how far apart rows and columns are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<P> {
    pub start: P,
    pub row_stride: isize,
    pub col_stride: isize,
}

/// out = alpha left right + beta out, for left of m x k and right of k x n, none of them 0. Beta 0 reads no out.
///
/// # Safety
/// Every element of the three matrices is inside memory that may be read (left, right) or written (out) and holds a
/// value, out only where beta is not 0. Elements of out are distinct, and nothing else touches them meanwhile.
pub(super) unsafe fn gemm<T: Element>(
    [m, n, k]: [usize; 3],
    alpha: T,
    left: Matrix<*const T>,
    right: Matrix<*const T>,
    beta: T,
    out: Matrix<*mut T>,
    threads: usize,
) {
    let parallelism = if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None };
    // The crate's alpha scales the destination and its beta the product: the other way round than BLAS.
    // SAFETY: forwarded to the caller. T is one of the four types that the crate knows, as Element is sealed.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.start,
            out.col_stride,
            out.row_stride,
            beta != T::ZERO,
            left.start,
            left.col_stride,
            left.row_stride,
            right.start,
            right.col_stride,
            right.row_stride,
            beta,
            alpha,
            false,
            false,
            false,
            parallelism,
        );
    }
}
