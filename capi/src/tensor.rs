//! Tensors that are distributed over the ranks of a world.

use std::ffi::{c_int, c_void};

use einsum_dist::{DistTensor, Distribution, Dtype, World};

use super::argument::{free, handle, handle_mut, write, write_handle};
use super::element::{AnyProgram, AnyTensor, of_type, with};
use super::program::einsum_dist_program;
use super::status::{Failure, Result, Status, agreed, guarded, guarded_or};
use super::view::view_mut;

/// A distributed tensor. Each rank stores a dense, row-major block.
pub struct einsum_dist_tensor {
    pub(crate) tensor: AnyTensor,
    world: World,
}

fn zeros(world: &World, shape: &[usize], distribution: &Distribution, dtype: Dtype) -> Result<einsum_dist_tensor> {
    let tensor = of_type!(AnyTensor, dtype, DistTensor::try_zeros(world, shape, distribution))?;
    Ok(einsum_dist_tensor { tensor, world: world.clone() })
}

/// A tensor of zeros in the distribution that the program's plan has for an operand. Collective.
///
/// # Safety
/// `program` is a live handle, and `tensor` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_operand(
    program: *const einsum_dist_program,
    operand: usize,
    tensor: *mut *mut einsum_dist_tensor,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let einsum_dist_program { program, world } = unsafe { handle(program, "program")? };
        let plan = with!(AnyProgram, program, program => program.plan());
        if operand >= plan.operands {
            return Err(Failure::usage(format!("there is no operand {operand}: there are {}", plan.operands)));
        }
        let zeros = zeros(world, &plan.operand_shape(operand), &plan.operand(operand).distribution, plan.dtype)?;
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(tensor, zeros, "tensor") }
    })
}

/// The same for the result.
///
/// # Safety
/// Same as for [`einsum_dist_tensor_operand`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_output(
    program: *const einsum_dist_program,
    tensor: *mut *mut einsum_dist_tensor,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let einsum_dist_program { program, world } = unsafe { handle(program, "program")? };
        let plan = with!(AnyProgram, program, program => program.plan());
        let zeros = zeros(world, &plan.output_shape(), &plan.output().distribution, plan.dtype)?;
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(tensor, zeros, "tensor") }
    })
}

/// The number of blocks in this process; under MPI, 1, or 0 if the rank stores nothing. 0 for NULL.
///
/// # Safety
/// `tensor` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_blocks(tensor: *const einsum_dist_tensor) -> usize {
    // SAFETY: guaranteed by the caller.
    let tensor = unsafe { tensor.as_ref() };
    guarded_or(0, || tensor.map_or(0, |it| with!(AnyTensor, &it.tensor, tensor => tensor.blocks().count())))
}

/// A block in this process: its elements, dense and row-major, and its extents, one per dimension.
///
/// # Safety
/// `tensor` is a live handle. `data` points to memory for a pointer, and `extents` for one extent per dimension. The
/// elements may be used until the tensor is freed, but not while a program runs on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_block(
    tensor: *mut einsum_dist_tensor,
    block: usize,
    data: *mut *mut c_void,
    extents: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let tensor = unsafe { handle_mut(tensor, "tensor")? };
        with!(AnyTensor, &mut tensor.tensor, tensor => {
            let (_, mut values) = tensor.blocks_mut().nth(block).ok_or_else(|| no_block(block))?;
            for (at, &extent) in values.shape().iter().enumerate() {
                // SAFETY: guaranteed by the caller.
                unsafe { write(extents.wrapping_add(at), extent, "extents")? };
            }
            // SAFETY: guaranteed by the caller.
            unsafe { write(data, values.as_mut_ptr().cast(), "data") }
        })
    })
}

/// The index in the whole tensor of index `at` of a block along a dimension.
///
/// # Safety
/// `tensor` is a live handle, and `index` points to memory for an index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_index(
    tensor: *const einsum_dist_tensor,
    block: usize,
    dim: usize,
    at: usize,
    index: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let tensor = unsafe { handle(tensor, "tensor")? };
        let found = with!(AnyTensor, &tensor.tensor, tensor => {
            let (region, _) = tensor.blocks().nth(block).ok_or_else(|| no_block(block))?;
            region.dims().get(dim).and_then(|indices| indices.ranges().iter().cloned().flatten().nth(at))
        });
        let found =
            found.ok_or_else(|| Failure::usage(format!("block {block} has no index {at} in dimension {dim}")))?;
        // SAFETY: guaranteed by the caller.
        unsafe { write(index, found, "index") }
    })
}

fn no_block(block: usize) -> Failure {
    Failure::usage(format!("there is no block {block} in this process"))
}

/// Writes the whole tensor to an array with these strides on every process; NULL is dense and row-major. Collective.
///
/// # Safety
/// `tensor` is a live handle, and `out` an array of its type with distinct elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_gather(
    tensor: *const einsum_dist_tensor,
    out: *mut c_void,
    strides: *const isize,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let einsum_dist_tensor { tensor, world } = unsafe { handle(tensor, "tensor")? };
        with!(AnyTensor, tensor, tensor => {
            // SAFETY: guaranteed by the caller.
            let mut out = agreed(world, unsafe { view_mut(out.cast(), tensor.shape(), strides, "out") })?;
            out.assign(&tensor.gather(world)?);
        });
        Ok(())
    })
}

/// Frees a tensor; NULL is ignored.
///
/// # Safety
/// `tensor` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_tensor_free(tensor: *mut einsum_dist_tensor) {
    // SAFETY: guaranteed by the caller.
    unsafe { free(tensor) }
}

/// The number of a type's bytes; 0 if there is no such type.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn einsum_dist_type_size(r#type: c_int) -> usize {
    super::element::dtype(r#type).map_or(0, Dtype::size)
}
