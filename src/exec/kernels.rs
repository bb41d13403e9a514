//! Maps a dtype to kernels; the only module of `exec` that depends on element types.

use ndarray::CowArray;
use num_complex::Complex;

use super::plan_cache::Planned;
use crate::dims::Label;
use crate::dtype::Dtype;
use crate::kernel::{self, Element, OutOfMemory, Workspace};
use crate::memory::{ReadLease, WriteLease};
use crate::schedule::TaskId;

type Factor = Complex<f64>;
type Input<'a> = (&'a [Label], &'a ReadLease);
type Out<'a> = (&'a [Label], &'a mut WriteLease);
type Task<'a> = (&'a mut Planned, TaskId, usize);
type Contract = fn(Task, Factor, Input, Input, [bool; 2], Factor, Out) -> Result<(), OutOfMemory>;

#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    pub contract: Contract,
    pub unary: fn(Task, Input, Out) -> Result<(), OutOfMemory>,
    pub add: fn(&ReadLease, &mut WriteLease),
    pub scale: fn(Factor, &mut WriteLease),
    pub fill: fn(&mut WriteLease),
    pub conjugate: fn(&mut WriteLease),
    /// The largest absolute real or imaginary part.
    pub largest: fn(&mut WriteLease) -> f64,
    pub reserve: fn(&mut Workspace, usize) -> Result<(), OutOfMemory>,
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

fn element<T: Element>(factor: Factor) -> T {
    T::from_f64(factor.re, factor.im)
}

fn kernels<T: Element>() -> Kernels {
    Kernels {
        contract: contract::<T>,
        unary: |(planned, task, threads), (i, input), (o, out)| {
            let (input, out) = (input.tensor::<T>(), out.tensor_mut::<T>());
            let layouts = [input.layout(i), out.layout(o)];
            let (plan, isa, workspace) = planned.unary(task, &layouts, threads);
            kernel::unary_strided(plan, isa, input, out, workspace)
        },
        add: |input, out| kernel::add(input.view::<T>(), out.view_mut::<T>()),
        scale: |factor, out| kernel::scale(element::<T>(factor), out.view_mut()),
        fill: |out| kernel::fill(T::ZERO, out.view_mut()),
        conjugate: |out| kernel::conjugate(out.view_mut::<T>()),
        largest: |out| kernel::largest(out.view_mut::<T>().view()),
        reserve: Workspace::reserve::<T>,
    }
}

fn contract<T: Element>(
    (planned, task, threads): Task,
    alpha: Factor,
    (l, left): Input,
    (r, right): Input,
    conjugated: [bool; 2],
    beta: Factor,
    (o, out): Out,
) -> Result<(), OutOfMemory> {
    let (alpha, beta) = (element::<T>(alpha), element::<T>(beta));
    let (a, b, c) = (left.tensor::<T>(), right.tensor::<T>(), out.tensor_mut::<T>());
    let (a, b) = (a.conjugated_if(conjugated[0]), b.conjugated_if(conjugated[1]));
    let layouts = [a.layout(l), b.layout(r), c.layout(o)];
    if let Some((plan, workspace)) = planned.contract(task, &layouts, threads) {
        return kernel::contract_strided(plan, alpha, a, b, beta, c, workspace);
    }
    let [left, right] = [(left, conjugated[0]), (right, conjugated[1])].map(|(lease, conjugated)| {
        let view = lease.view::<T>();
        if conjugated { CowArray::from(view.mapv(T::conjugate)) } else { CowArray::from(view) }
    });
    kernel::reference_contract(alpha, (l, left.view()), (r, right.view()), beta, (o, out.view_mut()));
    Ok(())
}
