//! Compiled plans, and their runs.

use std::ffi::{c_char, c_int, c_void};

use einsum_dist::ndarray::{ArrayViewD, ArrayViewMutD};
use einsum_dist::{DistTensor, Dtype, Element, Operand, Plan, Program, World};

use super::argument::{free, handle, handle_mut, list, text, write_handle};
use super::element::{AnyProgram, AnyTensor, dtype, of_type, with};
use super::options::einsum_dist_options;
use super::plan::{einsum_dist_plan, planned, shapes_of};
use super::status::{Failure, Result, Status, agreed, guarded};
use super::tensor::einsum_dist_tensor;
use super::view::{view, view_mut};
use super::world::einsum_dist_world;

/// A plan compiled for a world, which can run any number of times on changing data.
pub struct einsum_dist_program {
    pub(crate) program: AnyProgram,
    pub(crate) world: World,
}

/// Compiles a plan. Collective.
///
/// # Safety
/// `world` and `plan` are live handles, and `program` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_program_new(
    world: *const einsum_dist_world,
    plan: *const einsum_dist_plan,
    program: *mut *mut einsum_dist_program,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (world, plan) = unsafe { (&handle(world, "world")?.0, &handle(plan, "plan")?.0) };
        let compiled = of_type!(AnyProgram, plan.dtype, world.compile(plan))?;
        let compiled = einsum_dist_program { program: compiled, world: world.clone() };
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(program, compiled, "program") }
    })
}

/// Runs a program on whole arrays: `out = alpha * contraction + beta * out`. Every process passes all operands, and gets
/// the whole result. Arrays may have any strides, in elements, negative ones too; a NULL list, or NULL for an array, means
/// dense and row-major (C order). NULL for `alpha` is 1, and for `beta` 0, with which `out` is not read. Collective.
///
/// # Safety
/// `program` is a live handle. `operands` has an array of the program's type for each operand, and `strides`, unless it
/// is null, a list of strides or null. `out` has distinct elements, none in an operand. `alpha` and `beta` are null or
/// point to values of the program's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_program_run(
    program: *mut einsum_dist_program,
    alpha: *const c_void,
    operands: *const *const c_void,
    strides: *const *const isize,
    beta: *const c_void,
    out: *mut c_void,
    out_strides: *const isize,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let einsum_dist_program { program, world } = unsafe { handle_mut(program, "program")? };
        let arrays = Arrays { alpha, operands, strides, beta, out, out_strides };
        // SAFETY: guaranteed by the caller.
        with!(AnyProgram, program, program => unsafe { run(world, program, arrays) })
    })
}

struct Arrays {
    alpha: *const c_void,
    operands: *const *const c_void,
    strides: *const *const isize,
    beta: *const c_void,
    out: *mut c_void,
    out_strides: *const isize,
}

/// # Safety
/// Same as for [`einsum_dist_program_run`].
unsafe fn run<T: Element>(world: &World, program: &mut Program<T>, arrays: Arrays) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let views = agreed(world, unsafe { views(program.plan(), &arrays) });
    let (views, mut out) = views?;
    let refs: Vec<&dyn Operand<T>> = views.iter().map(|view| view as _).collect();
    // SAFETY: guaranteed by the caller.
    let (alpha, beta) = unsafe { (factor(arrays.alpha, T::ONE), factor(arrays.beta, T::ZERO)) };
    Ok(program.run_into(alpha, &refs, beta, &mut out)?)
}

/// The operands, and `out`.
///
/// # Safety
/// Same as for [`einsum_dist_program_run`].
unsafe fn views<'a, T: Element>(
    plan: &Plan,
    arrays: &Arrays,
) -> Result<(Vec<ArrayViewD<'a, T>>, ArrayViewMutD<'a, T>)> {
    let &Arrays { operands, strides, out, out_strides, .. } = arrays;
    // SAFETY: guaranteed by the caller.
    let operands = unsafe { list(operands, plan.operands, "operands")? };
    let strides = if strides.is_null() {
        vec![std::ptr::null(); operands.len()]
    } else {
        // SAFETY: guaranteed by the caller.
        unsafe { list(strides, operands.len(), "strides")? }.to_vec()
    };
    let views = operands.iter().zip(strides).enumerate().map(|(at, (&data, strides))| {
        // SAFETY: guaranteed by the caller.
        unsafe { view::<T>(data.cast(), &plan.operand_shape(at), strides, &format!("operand {at}")) }
    });
    let views = views.collect::<Result<_>>()?;
    // SAFETY: guaranteed by the caller.
    let out = unsafe { view_mut::<T>(out.cast(), &plan.output_shape(), out_strides, "out")? };
    Ok((views, out))
}

/// # Safety
/// `factor` is null or points to a value.
unsafe fn factor<T: Element>(factor: *const c_void, otherwise: T) -> T {
    // SAFETY: guaranteed by the caller.
    if factor.is_null() { otherwise } else { unsafe { factor.cast::<T>().read_unaligned() } }
}

/// Like `einsum_dist_program_run`, on distributed tensors: those of `einsum_dist_tensor_operand` and
/// `einsum_dist_tensor_output`, or others in the plan's distributions. No tensor is gathered. Collective.
///
/// # Safety
/// `program`, the operands and `out` are live handles of one world, and `out` is no operand. `alpha` and `beta` are null or
/// point to values of the program's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_program_run_distributed(
    program: *mut einsum_dist_program,
    alpha: *const c_void,
    operands: *const *const einsum_dist_tensor,
    beta: *const c_void,
    out: *mut einsum_dist_tensor,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let einsum_dist_program { program, world } = unsafe { handle_mut(program, "program")? };
        let count = with!(AnyProgram, program, program => program.plan().operands);
        // SAFETY: guaranteed by the caller.
        let handles = agreed(world, unsafe { handles(operands, count, out) });
        let (operands, out) = handles?;
        macro_rules! run {
            ($kind:ident, $program:expr) => {{
                let wrong = || Failure::usage("tensors have another type than the program");
                let tensors = operands.iter().map(|tensor| match &tensor.tensor {
                    AnyTensor::$kind(tensor) => Ok(tensor),
                    _ => Err(wrong()),
                });
                let tensors = tensors.collect::<Result<Vec<&DistTensor<_>>>>();
                let out = if let AnyTensor::$kind(out) = &mut out.tensor { Ok(out) } else { Err(wrong()) };
                let (tensors, out) = agreed(world, tensors.and_then(|tensors| Ok((tensors, out?))))?;
                // SAFETY: guaranteed by the caller.
                let (alpha, beta) = unsafe { (factor(alpha, Element::ONE), factor(beta, Element::ZERO)) };
                Ok($program.run_dist(alpha, &tensors, beta, out)?)
            }};
        }
        match program {
            AnyProgram::Float32(program) => run!(Float32, program),
            AnyProgram::Float64(program) => run!(Float64, program),
            AnyProgram::Complex64(program) => run!(Complex64, program),
            AnyProgram::Complex128(program) => run!(Complex128, program),
        }
    })
}

/// # Safety
/// Same as for [`einsum_dist_program_run_distributed`].
unsafe fn handles<'a>(
    operands: *const *const einsum_dist_tensor,
    count: usize,
    out: *mut einsum_dist_tensor,
) -> Result<(Vec<&'a einsum_dist_tensor>, &'a mut einsum_dist_tensor)> {
    // SAFETY: guaranteed by the caller.
    let operands = unsafe { list(operands, count, "operands")? };
    // SAFETY: guaranteed by the caller.
    let operands = operands.iter().map(|&operand| unsafe { handle(operand, "operand") });
    // SAFETY: guaranteed by the caller.
    Ok((operands.collect::<Result<_>>()?, unsafe { handle_mut(out, "out")? }))
}

/// Frees a program; NULL is ignored.
///
/// # Safety
/// `program` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_program_free(program: *mut einsum_dist_program) {
    // SAFETY: guaranteed by the caller.
    unsafe { free(program) }
}

/// Plans, compiles and runs once, on all threads of this process: `out` is the contraction of the operands. For more than
/// one run, or several ranks, make a plan and a program. Arguments are as for `einsum_dist_plan_new` and
/// `einsum_dist_program_run`.
///
/// # Safety
/// Same as for these functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_einsum(
    expression: *const c_char,
    r#type: c_int,
    operands: usize,
    dims: *const usize,
    shapes: *const *const usize,
    arrays: *const *const c_void,
    out: *mut c_void,
) -> Status {
    guarded(|| {
        let world = einsum_dist_world(World::single());
        // SAFETY: guaranteed by the caller.
        let (expression, shapes) = unsafe { (text(expression, "expression")?, shapes_of(operands, dims, shapes)?) };
        let plan = planned(&world, expression, dtype(r#type)?, &shapes, &einsum_dist_options::default())?;
        let mut program = of_type!(AnyProgram, plan.dtype, world.0.compile(&plan))?;
        let null = std::ptr::null();
        let arrays = Arrays {
            alpha: null,
            operands: arrays,
            strides: std::ptr::null(),
            beta: null,
            out,
            out_strides: std::ptr::null(),
        };
        // SAFETY: guaranteed by the caller.
        with!(AnyProgram, &mut program, program => unsafe { run(&world.0, program, arrays) })
    })
}
