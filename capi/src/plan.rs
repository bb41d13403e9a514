//! Plans: how an expression is contracted, without data.

use std::ffi::{c_char, c_int};

use einsum_dist::{Dtype, FixedDistributions, Machine, Plan, Problem};

use super::argument::{free, handle, list, text, write_handle, write_text};
use super::element::dtype;
use super::options::einsum_dist_options;
use super::status::{Failure, Result, Status, agreed, guarded, guarded_or};
use super::world::einsum_dist_world;

/// The order of contractions, and the algorithm and distribution of each.
pub struct einsum_dist_plan(pub Plan);

/// Plans an expression such as `mk,kn->mn` for a world. `shapes` has a list of extents for each operand, as many as its
/// number in `dims`; `type` is an `einsum_dist_type`; `options` may be NULL. Collective: all processes must pass the
/// same, and get the same plan.
///
/// # Safety
/// `world` is a live handle, `expression` a string that ends with 0, `options` null or a live handle. `dims` and `shapes`
/// have `operands` entries, and each shape as many as stated. `plan` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_new(
    world: *const einsum_dist_world,
    expression: *const c_char,
    r#type: c_int,
    operands: usize,
    dims: *const usize,
    shapes: *const *const usize,
    options: *const einsum_dist_options,
    plan: *mut *mut einsum_dist_plan,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (world, arguments, options) = unsafe {
            let shapes = shapes_of(operands, dims, shapes);
            let arguments = shapes.and_then(|shapes| Ok((text(expression, "expression")?, shapes, dtype(r#type)?)));
            (handle(world, "world")?, arguments, options.as_ref())
        };
        let (expression, shapes, dtype) = agreed(&world.0, arguments)?;
        let planned = planned(world, expression, dtype, &shapes, &options.cloned().unwrap_or_default())?;
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(plan, einsum_dist_plan(planned), "plan") }
    })
}

/// # Safety
/// Same as for [`einsum_dist_plan_new`].
pub unsafe fn shapes_of(operands: usize, dims: *const usize, shapes: *const *const usize) -> Result<Vec<Vec<usize>>> {
    // SAFETY: guaranteed by the caller.
    let (dims, shapes) = unsafe { (list(dims, operands, "dims")?, list(shapes, operands, "shapes")?) };
    let each = dims.iter().zip(shapes).enumerate();
    // SAFETY: guaranteed by the caller.
    each.map(|(at, (&dims, &shape))| Ok(unsafe { list(shape, dims, &format!("shape {at}"))? }.to_vec())).collect()
}

pub fn planned(
    einsum_dist_world(world): &einsum_dist_world,
    expression: &str,
    dtype: Dtype,
    shapes: &[Vec<usize>],
    options: &einsum_dist_options,
) -> Result<Plan> {
    let shaped = Problem::parse(expression)?.shapes(shapes)?;
    let workers = options.workers.map_or_else(|| world.default_workers(), Ok)?;
    let machine = Machine::new(world.ranks(), workers);
    let plan = |wanted: &einsum_dist::PlanOptions| -> einsum_dist::Result<_> {
        let searched = shaped.searched_tree(&machine, wanted)?;
        let fixed = match &options.distribution {
            Some(text) => FixedDistributions::within(text, &searched.tree, machine.ranks)?,
            None => FixedDistributions::default(),
        };
        Ok((shaped.plan_tree(&searched.tree, &machine, &wanted.clone().fixed(fixed))?, searched))
    };
    let wanted = options.plan.clone().dtype(dtype);
    // A product has no intermediates to slice.
    let wanted = if shapes.len() > 2 { world.with_free_memory(&wanted)? } else { wanted };
    let (unlimited, searched) = plan(&wanted)?;
    let limited = world.within_memory(&unlimited, &searched, &wanted)?;
    Ok(limited.and_then(|limited| plan(&limited).ok()).map_or(unlimited, |(plan, _)| plan))
}

/// The plan as text, a row per step. `einsum_dist_text_free` frees it.
///
/// # Safety
/// `plan` is a live handle, and `explained` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_explain(
    plan: *const einsum_dist_plan,
    explained: *mut *mut c_char,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { write_text(explained, &handle(plan, "plan")?.0.explain().to_string(), "explained") }
    })
}

/// The plan as JSON, as `einsum-dist --explain --json` prints it. `einsum_dist_text_free` frees it.
///
/// # Safety
/// Same as for [`einsum_dist_plan_explain`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_json(plan: *const einsum_dist_plan, json: *mut *mut c_char) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let report = unsafe { handle(plan, "plan") }?.0.report(None);
        let text = serde_json::to_string(&report).map_err(|error| Failure::usage(error.to_string()))?;
        // SAFETY: guaranteed by the caller.
        unsafe { write_text(json, &text, "json") }
    })
}

/// The number of the result's dimensions; 0 for NULL.
///
/// # Safety
/// `plan` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_output_dims(plan: *const einsum_dist_plan) -> usize {
    // SAFETY: guaranteed by the caller.
    guarded_or(0, || unsafe { plan.as_ref() }.map_or(0, |plan| plan.0.output_shape().len()))
}

/// Writes the extents of the result.
///
/// # Safety
/// `plan` is a live handle; `shape` has room for `einsum_dist_plan_output_dims` extents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_output_shape(plan: *const einsum_dist_plan, shape: *mut usize) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let extents = unsafe { handle(plan, "plan") }?.0.output_shape();
        for (at, extent) in extents.into_iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { super::argument::write(shape.wrapping_add(at), extent, "shape")? };
        }
        Ok(())
    })
}

/// The predicted seconds of a run; 0 for NULL.
///
/// # Safety
/// `plan` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_seconds(plan: *const einsum_dist_plan) -> f64 {
    // SAFETY: guaranteed by the caller.
    guarded_or(0.0, || unsafe { plan.as_ref() }.map_or(0.0, |plan| plan.0.seconds()))
}

/// The bytes that a rank receives in a run; 0 for NULL or if there is no such rank.
///
/// # Safety
/// `plan` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_bytes_received(plan: *const einsum_dist_plan, rank: usize) -> u64 {
    let bytes = |plan: &einsum_dist_plan| plan.0.bytes_received(rank).into_iter().sum();
    // SAFETY: guaranteed by the caller.
    let of = || unsafe { plan.as_ref() }.filter(|plan| rank < plan.0.ranks()).map_or(0, bytes);
    guarded_or(0, of)
}

/// Frees a plan; NULL is ignored. Programs keep their own copy.
///
/// # Safety
/// `plan` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_plan_free(plan: *mut einsum_dist_plan) {
    // SAFETY: guaranteed by the caller.
    unsafe { free(plan) }
}
