//! Tests that the declarations agree with the installed library, by checking the results of products and of sums of
//! products.

use libxsmm_sys::libxsmm_blasint as Int;

const SIDE: usize = 8;
const COUNT: usize = 3;

/// Computes the sum of `count` products of consecutive column-major matrices.
fn expected<R: Copy + Default + std::ops::Mul<Output = R> + std::ops::AddAssign>(
    a: &[R],
    b: &[R],
    count: usize,
) -> Vec<R> {
    let mut c = vec![R::default(); SIDE * SIDE];
    for (i, j) in (0..SIDE).flat_map(|i| (0..SIDE).map(move |j| (i, j))) {
        for (batch, k) in (0..count).flat_map(|batch| (0..SIDE).map(move |k| (batch * SIDE * SIDE, k))) {
            c[j * SIDE + i] += a[batch + k * SIDE + i] * b[batch + j * SIDE + k];
        }
    }
    c
}

macro_rules! product {
    ($name:ident, $real:ty, $dispatch:ident, $dispatch_strided:ident, $datatype:ident) => {
        #[test]
        fn $name() {
            let numbers = |step: usize| -> Vec<$real> {
                (0..COUNT * SIDE * SIDE).map(|i| ((i * step) % 13) as $real - 6.0).collect()
            };
            let (a, b) = (numbers(5), numbers(7));
            let side = SIDE as Int;
            let stride = (SIDE * SIDE * size_of::<$real>()) as Int;
            let count = COUNT as u64;
            let mut single = vec![<$real>::NAN; SIDE * SIDE];
            let mut sum = vec![<$real>::NAN; SIDE * SIDE];

            #[cfg(xsmm_api = "1")]
            // SAFETY: all pointers point to live values, and those to matrices point to matrices of the given extents.
            unsafe {
                use libxsmm_sys::v1::*;
                let (flags, prefetch, one, zero) = (LIBXSMM_GEMM_FLAG_NONE, LIBXSMM_GEMM_PREFETCH_NONE, 1.0, 0.0);
                let code = $dispatch(side, side, side, &side, &side, &side, &one, &zero, &flags, &prefetch);
                code.expect("code")(a.as_ptr(), b.as_ptr(), single.as_mut_ptr());
                let code = $dispatch_strided(
                    side, side, side, stride, stride, &side, &side, &side, &one, &zero, &flags, &prefetch,
                );
                code.expect("code")(a.as_ptr(), b.as_ptr(), sum.as_mut_ptr(), &count);
                let transposed = LIBXSMM_GEMM_FLAG_TRANS_A;
                let code = $dispatch(side, side, side, &side, &side, &side, &one, &zero, &transposed, &prefetch);
                assert!(code.is_none(), "1.x does not generate products of a transposed left");
            }

            #[cfg(xsmm_api = "2")]
            // SAFETY: all pointers point to live values, and those to matrices point to matrices of the given extents.
            unsafe {
                use libxsmm_sys::v2::*;
                let types = [$datatype; 4];
                let shape = libxsmm_create_gemm_shape(
                    side, side, side, side, side, side, types[0], types[1], types[2], types[3],
                );
                let (flags, prefetch) = (LIBXSMM_GEMM_FLAG_BETA_0, LIBXSMM_GEMM_PREFETCH_NONE);
                let mut parameters: libxsmm_gemm_param = std::mem::zeroed();
                parameters.a.primary = a.as_ptr().cast_mut().cast();
                parameters.b.primary = b.as_ptr().cast_mut().cast();
                parameters.c.primary = single.as_mut_ptr().cast();
                libxsmm_dispatch_gemm(shape, flags, prefetch).expect("code")(&parameters);
                let batch = libxsmm_gemm_batch_reduce_config {
                    br_type: LIBXSMM_GEMM_BATCH_REDUCE_STRIDE,
                    br_stride_a_hint: stride,
                    br_stride_b_hint: stride,
                    br_unroll_hint: 0,
                };
                parameters.op.tertiary = (&raw const count).cast_mut().cast();
                parameters.c.primary = sum.as_mut_ptr().cast();
                libxsmm_dispatch_brgemm(shape, flags, prefetch, batch).expect("code")(&parameters);
            }

            assert_eq!(single, expected(&a, &b, 1));
            assert_eq!(sum, expected(&a, &b, COUNT));
        }
    };
}

product!(products_of_f32, f32, libxsmm_smmdispatch, libxsmm_smmdispatch_reducebatch_strd, LIBXSMM_DATATYPE_F32);
product!(products_of_f64, f64, libxsmm_dmmdispatch, libxsmm_dmmdispatch_reducebatch_strd, LIBXSMM_DATATYPE_F64);
