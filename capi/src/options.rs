//! Options of plans, set by the names of the command line's flags.

use std::ffi::c_char;
use std::num::NonZeroUsize;
use std::str::FromStr;

use einsum_dist::{AlgorithmName, GivenPath, KernelChoice, Objective, PlanOptions};

use super::argument::{free, handle_mut, text, write_handle};
use super::status::{Failure, Result, Status, guarded};

/// Options for `einsum_dist_plan`.
#[derive(Default, Clone)]
pub struct einsum_dist_options {
    pub plan: PlanOptions,
    /// Threads per rank; `None` for the world's share of the cores.
    pub workers: Option<usize>,
    /// Applied to the tree, once it is known.
    pub distribution: Option<String>,
}

/// New options with default values.
///
/// # Safety
/// `options` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_options_new(options: *mut *mut einsum_dist_options) -> Status {
    // SAFETY: guaranteed by the caller.
    guarded(|| unsafe { write_handle(options, einsum_dist_options::default(), "options") })
}

/// Sets an option. Names and values are those of flags of the program `einsum-dist`, without dashes: `algorithm`,
/// `objective`, `path`, `path-time`, `runs`, `memory-limit` (bytes), `slice-groups`, `kernel`, `distribution`, `workers`;
/// and lists of operands, `constant` and `conjugate`, such as `0,2`.
///
/// # Safety
/// `options` is a live handle; `name` and `value` are strings that end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_options_set(
    options: *mut einsum_dist_options,
    name: *const c_char,
    value: *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (options, name, value) =
            unsafe { (handle_mut(options, "options")?, text(name, "name")?, text(value, "value")?) };
        options.set(name, value)
    })
}

/// Frees options; NULL is ignored.
///
/// # Safety
/// `options` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_options_free(options: *mut einsum_dist_options) {
    // SAFETY: guaranteed by the caller.
    unsafe { free(options) }
}

impl einsum_dist_options {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let plan = self.plan.clone();
        self.plan = match name {
            "algorithm" if value == "auto" => plan.algorithm(None),
            "algorithm" => plan.algorithm(parsed::<AlgorithmName>(name, value)?),
            "objective" => plan.objective(parsed::<Objective>(name, value)?),
            "kernel" => plan.kernel(parsed::<KernelChoice>(name, value)?),
            "path" => {
                let given = parsed::<GivenPath>(name, value)?;
                plan.path(given.order).sliced(given.sliced)
            }
            "path-time" => match parsed::<f64>(name, value)? {
                seconds if (1e-3..=1e9).contains(&seconds) => plan.path_seconds(seconds),
                _ => return Err(Failure::usage(format!("{name} is from 0.001 to 1e9 seconds, not {value}"))),
            },
            "runs" => plan.runs(parsed(name, value)?),
            "memory-limit" => plan.memory_limit(parsed::<u64>(name, value)?),
            "slice-groups" => plan.slice_groups(parsed::<NonZeroUsize>(name, value)?.get()),
            "constant" => plan.constant(numbers(name, value)?),
            "conjugate" => plan.conjugate(numbers(name, value)?),
            "distribution" => {
                self.distribution = Some(value.to_owned());
                plan
            }
            "workers" => {
                self.workers = Some(parsed::<NonZeroUsize>(name, value)?.get());
                plan
            }
            _ => return Err(Failure::usage(format!("there is no option {name}"))),
        };
        Ok(())
    }
}

fn numbers(name: &str, value: &str) -> Result<Vec<usize>> {
    value.split(',').filter(|number| !number.trim().is_empty()).map(|number| parsed(name, number.trim())).collect()
}

fn parsed<V: FromStr>(name: &str, value: &str) -> Result<V>
where
    V::Err: std::fmt::Display,
{
    value.parse().map_err(|why| Failure::usage(format!("{name}: {why}")))
}
