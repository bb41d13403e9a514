//! `einsum` and `contract`: calls without a plan.
//!
//! A call computes here if all operands can be used in place. All other calls, for example those with lists, integers or
//! operands of different element types, are passed to `einsum_dist._normalize`, which prepares their arguments and calls
//! [`contract`], or passes them on to NumPy.
//!
//! Every thread has a cache of compiled programs for each of the pools that it has used last.

use std::cell::RefCell;

use einsum_dist::ndarray::{ArrayViewD, ArrayViewMutD};
use einsum_dist::{Dtype, Element, PathChoice, PlanOptions, Program, ProgramCache};
use num_complex::Complex;
use numpy::{IntoPyArray, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use super::array::{Operand, Output, in_place, new_array, scalar_or_array};
use super::error::exception;
use super::order::axis_order;
use super::range::{examine, warn};
use super::threads::{Team, team};

/// Maximum number of caches of a thread: one for each of the numbers of threads that were used last.
const MAX_CACHES: usize = 3;

thread_local! {
    /// Least recently used first.
    static CACHES: RefCell<Vec<(Team, ProgramCache)>> = const { RefCell::new(Vec::new()) };
}

/// Evaluate the Einstein summation convention on the operands, as `numpy.einsum` does.
///
/// Operands of one type among float32, float64, complex64 and complex128 are read in place, with any strides, and
/// contracted with several threads in the best order found. Operands of different types are first converted to their
/// common type. For all other types, NumPy computes the result.
///
/// Parameters
/// ----------
/// subscripts : str
///     The expression, such as ``"ij,jk->ik"``. An operand and its list of labels may alternate instead, as in
///     ``einsum(a, [0, 1], b, [1, 2])``. Terms in brackets are contracted first: ``"[ij,jk->ik],kl->il"``.
/// *operands : array_like
/// out : ndarray, optional
///     The array to write, with any strides.
/// dtype, order, casting
///     As in NumPy.
/// optimize : bool, str or path, optional
///     The order of contractions: ``"auto"``, ``"greedy"``, ``"optimal"``, ``"anneal"``, ``"left-to-right"``, a name of
///     opt_einsum, or a path of pairs as in NumPy. True and False mean ``"auto"``, and so does a path with other steps.
///
/// Returns
/// -------
/// ndarray or scalar
///
/// Raises
/// ------
/// ValueError
///     If the expression is wrong or does not fit the operands. The message shows the position in the expression.
///
/// Examples
/// --------
/// >>> import numpy as np, einsum_dist
/// >>> a = np.arange(6.0).reshape(2, 3)
/// >>> einsum_dist.einsum("ij,kj->ik", a, a)
/// array([[ 5., 14.],
///        [14., 50.]])
#[pyfunction]
#[pyo3(signature = (*args, **kwargs), text_signature = "(subscripts, *operands, out=None, dtype=None, order='K', casting='safe', optimize='auto')")]
pub fn einsum<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    static NORMALIZED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Some(result) = at_once(py, args, kwargs) {
        return result;
    }
    NORMALIZED.import(py, "einsum_dist._normalize", "einsum")?.call(args, kwargs)
}

/// Computes a call whose arguments can be used as they are; returns `None` for other calls.
fn at_once<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    // NumPy returns a view for some expressions with one operand.
    if args.len() < 3 {
        return None;
    }
    let subscripts = args.get_item(0).ok()?.cast_into_exact::<PyString>().ok()?;
    let arrays: SmallVec<[Bound<PyAny>; 4]> = args.iter().skip(1).collect();
    let operands = in_place(&arrays)?;
    let (mut out, mut path) = (None, None);
    for (name, value) in kwargs.into_iter().flatten() {
        match name.cast::<PyString>().ok()?.to_str().ok()? {
            "out" if value.is_none() => {}
            "out" => out = Some(value.cast_into_exact::<PyUntypedArray>().ok()?),
            "optimize" if value.cast_exact::<PyBool>().is_ok() => {}
            "optimize" => {
                let name = value.cast_into_exact::<PyString>().ok()?;
                let known = ["auto", "greedy", "optimal"];
                path = Some(*known.iter().find(|&&known| name.to_str().is_ok_and(|name| name == known))?);
            }
            _ => return None,
        }
    }
    let target = match &out {
        None => None,
        Some(array) => Some((Output::new(array, &operands)?, array.clone().into_any())),
    };
    if target.as_ref().is_some_and(|(out, _)| out.dtype() != operands[0].dtype) {
        return None;
    }
    let factors = [Complex::new(1.0, 0.0), Complex::new(0.0, 0.0)];
    let subscripts = subscripts.to_str().ok()?;
    let options = path_choice(path).map(|path| PlanOptions::default().path(path));
    Some(options.and_then(|options| compute(py, subscripts, &operands, factors, target, options)))
}

/// Contract arrays that can be used in place. For `einsum_dist._normalize`, which has prepared all arguments.
#[pyfunction]
#[pyo3(signature = (subscripts, operands, alpha, beta, out, path, conj))]
#[expect(clippy::too_many_arguments, reason = "they are those of the Python function")]
pub fn contract<'py>(
    py: Python<'py>,
    subscripts: &str,
    operands: Vec<Bound<'py, PyAny>>,
    alpha: Complex<f64>,
    beta: Complex<f64>,
    out: Option<Bound<'py, PyUntypedArray>>,
    path: Option<&str>,
    conj: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(views) = in_place(&operands) else {
        return Err(PyTypeError::new_err("the operands need one element type, native byte order and alignment"));
    };
    let out = match &out {
        None => None,
        Some(array) => {
            let usable = Output::new(array, &views).filter(|out| out.dtype() == views[0].dtype);
            Some((
                usable.ok_or_else(|| PyTypeError::new_err("the output cannot be written in place"))?,
                array.clone().into_any(),
            ))
        }
    };
    let options = PlanOptions::default().path(path_choice(path)?).conjugate(conj);
    compute(py, subscripts, &views, [alpha, beta], out, options)
}

/// Contract arrays that can be used in place. Returns the result and the power of two by which it is to be multiplied.
#[pyfunction]
pub fn contract_with_exponent<'py>(
    py: Python<'py>,
    subscripts: &str,
    operands: Vec<Bound<'py, PyAny>>,
    path: Option<&str>,
    conj: Vec<usize>,
) -> PyResult<(Bound<'py, PyAny>, i64)> {
    let Some(views) = in_place(&operands) else {
        return Err(PyTypeError::new_err("the operands need one element type, native byte order and alignment"));
    };
    let options = PlanOptions::default().path(path_choice(path)?).conjugate(conj);
    let one = Complex::new(1.0, 0.0);
    let call = Call { py, subscripts, operands: &views, factors: [one, one], options };
    match views[0].dtype {
        Dtype::Float32 => call.run_with_exponent::<f32>(),
        Dtype::Float64 => call.run_with_exponent::<f64>(),
        Dtype::Complex64 => call.run_with_exponent::<Complex<f32>>(),
        Dtype::Complex128 => call.run_with_exponent::<Complex<f64>>(),
    }
}

type Target<'a, 'py> = (Output<'a, 'py>, Bound<'py, PyAny>);

fn path_choice(path: Option<&str>) -> PyResult<PathChoice> {
    path.map_or(Ok(PathChoice::Auto), |path| path.parse().map_err(PyValueError::new_err))
}

fn compute<'py>(
    py: Python<'py>,
    subscripts: &str,
    operands: &[Operand<'_, 'py>],
    factors: [Complex<f64>; 2],
    out: Option<Target<'_, 'py>>,
    options: PlanOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let call = Call { py, subscripts, operands, factors, options };
    match operands[0].dtype {
        Dtype::Float32 => call.run::<f32>(out),
        Dtype::Float64 => call.run::<f64>(out),
        Dtype::Complex64 => call.run::<Complex<f32>>(out),
        Dtype::Complex128 => call.run::<Complex<f64>>(out),
    }
}

struct Call<'a, 'py> {
    py: Python<'py>,
    subscripts: &'a str,
    operands: &'a [Operand<'a, 'py>],
    /// `alpha` and `beta`.
    factors: [Complex<f64>; 2],
    options: PlanOptions,
}

impl<'py> Call<'_, 'py> {
    fn run<T: Element + numpy::Element>(self, out: Option<Target<'_, 'py>>) -> PyResult<Bound<'py, PyAny>> {
        let Call { py, subscripts, operands, factors, options } = self;
        let team = team(py, None)?;
        let shapes: SmallVec<[&[usize]; 4]> = operands.iter().map(Operand::shape).collect();
        // SAFETY: the caller of the Python function keeps the operands alive, and `T` is their element type. Only code
        // that races with this call, which NumPy does not permit either, writes to them during the call.
        let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| unsafe { operand.view() }).collect();
        let (mut given, result) = match out {
            // SAFETY: as for the operands; `Output::new` has checked that the output does not overlap with them.
            Some((mut out, array)) => (Some(unsafe { out.view_mut::<T>() }), Some(array.unbind())),
            None => (None, None),
        };
        let is_new = given.is_none();
        let arrays: SmallVec<[&dyn einsum_dist::Operand<T>; 4]> = views.iter().map(|view| view as _).collect();
        let [alpha, beta] = factors.map(|factor| T::from_f64(factor.re, factor.im));
        let mut found = None;
        let mut run = |program: &mut Program<T>, out: &mut ArrayViewMutD<T>| {
            program.run_into(alpha, &arrays, beta, out)?;
            if beta == T::ZERO {
                found = examine(program.plan(), alpha, &views, out);
            }
            Ok(())
        };
        let compute = |program: &mut Program<T>| match (&mut given, result) {
            (Some(out), Some(array)) => run(program, out).map(|()| Ok(array)),
            _ => {
                // The shape of the result is known here only, so the GIL is taken once more.
                let new = Python::attach(|py| {
                    let axes = axis_order(program.plan(), &views);
                    // SAFETY: `array` lives until the end of this call.
                    unsafe { new_array::<T>(py, &program.plan().output_shape(), &axes) }
                });
                match new {
                    Ok((array, mut out)) => run(program, &mut out).map(|()| Ok(array)),
                    Err(error) => Ok(Err(error)),
                }
            }
        };
        let array = py.detach(|| with_cache(team, |cache| cache.run(subscripts, &shapes, &options, compute)));
        let array = array.map_err(exception)??.into_bound(py);
        warn(py, T::DTYPE, found)?;
        if is_new { scalar_or_array(array) } else { Ok(array) }
    }

    fn run_with_exponent<T: Element + numpy::Element>(self) -> PyResult<(Bound<'py, PyAny>, i64)> {
        let Call { py, subscripts, operands, options, .. } = self;
        let team = team(py, None)?;
        let shapes: SmallVec<[&[usize]; 4]> = operands.iter().map(Operand::shape).collect();
        // SAFETY: as in `run`.
        let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| unsafe { operand.view() }).collect();
        let arrays: SmallVec<[&dyn einsum_dist::Operand<T>; 4]> = views.iter().map(|view| view as _).collect();
        let compute = |program: &mut Program<T>| program.run_with_exponent(&arrays);
        let result = py.detach(|| with_cache(team, |cache| cache.run(subscripts, &shapes, &options, compute)));
        let (array, exponent) = result.map_err(exception)?;
        Ok((scalar_or_array(array.into_pyarray(py).into_any())?, exponent))
    }
}

/// Calls `run` with this thread's cache for a pool. While it runs, the cache is not in the thread-local list, because
/// Python code may run and contract something else when the GIL is taken.
fn with_cache<R>(team: Team, run: impl FnOnce(&mut ProgramCache) -> R) -> R {
    let mut caches = CACHES.take();
    let known = caches.iter().position(|(known, _)| known.is(&team));
    let mut mine =
        known.map_or_else(|| (team.clone(), ProgramCache::in_pool(team.pool.clone())), |at| caches.remove(at));
    let result = run(&mut mine.1);
    if caches.len() >= MAX_CACHES {
        let oldest = caches.remove(0);
        if oldest.0.is_of_parent() {
            std::mem::forget(oldest);
        }
    }
    caches.push(mine);
    CACHES.set(caches);
    result
}
