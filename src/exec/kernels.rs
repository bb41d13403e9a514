//! The one place where a dtype known at run time becomes kernels of a Rust type.

use num_complex::Complex;

use super::Factors;
use crate::dims::Label;
use crate::dtype::Dtype;
use crate::kernel::{self, Element, Workspace};
use crate::memory::{ReadLease, WriteLease};

type Factor = Complex<f64>;
type Input<'a> = (&'a [Label], &'a ReadLease);
type Out<'a> = (&'a [Label], &'a mut WriteLease);
type Contract = fn(Factor, Input, Input, Factor, Out, &mut Workspace) -> Result<(), kernel::OutOfMemory>;

/// The kernels of one element type.
#[derive(Clone, Copy)]
pub struct Kernels {
    pub contract: Contract,
    pub unary: fn(Input, Out),
    pub add: fn(&ReadLease, &mut WriteLease),
    pub scale: fn(Factor, &mut WriteLease),
    pub fill: fn(&mut WriteLease),
}

impl Kernels {
    pub fn of(dtype: Dtype) -> Kernels {
        match dtype {
            Dtype::Float32 => kernels::<f32>(),
            Dtype::Float64 => kernels::<f64>(),
            Dtype::Complex64 => kernels::<Complex<f32>>(),
            Dtype::Complex128 => kernels::<Complex<f64>>(),
        }
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kernels")
    }
}

impl Factors {
    /// Alpha and beta of a run, exact for every element type.
    pub fn new<T: Element>(alpha: T, beta: T) -> Factors {
        Factors { alpha: alpha.to_c64(), beta: beta.to_c64() }
    }
}

fn element<T: Element>(factor: Factor) -> T {
    T::from_f64(factor.re, factor.im)
}

fn kernels<T: Element>() -> Kernels {
    Kernels {
        contract: |alpha, (l, left), (r, right), beta, (o, out), workspace| {
            let (left, right) = ((l, left.view::<T>()), (r, right.view::<T>()));
            kernel::contract(element(alpha), left, right, element(beta), (o, out.view_mut::<T>()), workspace)
        },
        unary: |(i, input), (o, out)| kernel::unary((i, input.view::<T>()), (o, out.view_mut::<T>())),
        add: |input, out| kernel::add(input.view::<T>(), out.view_mut::<T>()),
        scale: |factor, out| kernel::scale(element::<T>(factor), out.view_mut()),
        fill: |out| kernel::fill(T::ZERO, out.view_mut()),
    }
}
