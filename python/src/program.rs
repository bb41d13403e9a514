//! Compiled plans, which are called on arrays.
//!
//! A program of the library belongs to the thread that compiled it, but Python threads may share a [`Program`]. So
//! every thread compiles the plan at its first call, and keeps the result in a thread-local table. The thread that drops
//! a program drops its own copy at once, and other threads when they next compile a plan.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use einsum_dist::ndarray::ArrayViewD;
use einsum_dist::{Dtype, Element, Plan, World};
use num_complex::Complex;
use numpy::{IntoPyArray, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use super::array::{Operand, Operands, Output, in_place, new_array, scalar_or_array};
use super::error::exception;
use super::order::axis_order;
use super::range::{examine, warn};
use super::threads::{Team, team};

/// A compiled plan. Call it with arrays of the planned shapes and element type.
///
/// Every Python thread compiles its own copy at its first call; the calls of different threads are independent.
/// Intermediates that depend only on constant operands are kept between calls, until :meth:`renew`.
#[pyclass(frozen, module = "einsum_dist", name = "Program")]
pub struct Program {
    plan: Arc<Plan>,
    /// The number of threads, if the plan prescribes it.
    threads: Option<usize>,
    identity: Arc<u64>,
    renewals: AtomicU64,
}

/// What a thread has compiled for a [`Program`].
struct Compiled {
    owner: Weak<u64>,
    team: Team,
    renewals: u64,
    program: Box<dyn Any>,
}

impl Compiled {
    /// Leaks what the parent of this process has compiled. The threads of its ranks do not exist here, so nothing may
    /// wait for them.
    fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Other threads drop their copies when they compile something or end.
        let known = COMPILED.try_with(|all| all.try_borrow_mut().ok()?.remove(&self.identity));
        if let Ok(Some(known)) = known
            && known.team.is_of_parent()
        {
            known.forget();
        }
    }
}

thread_local! {
    static COMPILED: RefCell<HashMap<u64, Compiled>> = RefCell::default();
}

impl Program {
    pub fn new(plan: Arc<Plan>, threads: Option<usize>) -> Program {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Program { plan, threads, identity: Arc::new(NEXT.fetch_add(1, Ordering::Relaxed)), renewals: AtomicU64::new(0) }
    }

    /// Returns what this thread has compiled, for the current number of threads and since the last fork.
    fn compiled<T: Element>(&self, team: Team) -> einsum_dist::Result<Compiled> {
        let renewals = self.renewals.load(Ordering::Relaxed);
        if let Some(mut known) = COMPILED.with_borrow_mut(|all| all.remove(&self.identity)) {
            if known.team.is_of_parent() {
                known.forget();
            } else if known.team.is(&team) {
                if known.renewals != renewals
                    && let Some(program) = known.program.downcast_mut::<einsum_dist::Program<T>>()
                {
                    program.renew();
                    known.renewals = renewals;
                }
                return Ok(known);
            }
        }
        let unused = |compiled: &Compiled| compiled.owner.strong_count() == 0;
        COMPILED.with_borrow_mut(|all| all.retain(|_, compiled| !unused(compiled)));
        let world = match self.plan.ranks() {
            1 => World::single_in(team.pool.clone()),
            ranks => World::in_process(ranks),
        };
        let program = Box::new(world.compile::<T>(&self.plan)?);
        Ok(Compiled { owner: Arc::downgrade(&self.identity), team, renewals, program })
    }

    fn run<'py, T: Element + numpy::Element>(
        &self,
        py: Python<'py>,
        operands: &[Operand<'_, 'py>],
        [alpha, beta]: [Complex<f64>; 2],
        out: Option<(Output<'_, 'py>, Bound<'py, PyAny>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: as in `contract`.
        let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| unsafe { operand.view() }).collect();
        let arrays: SmallVec<[&dyn einsum_dist::Operand<T>; 4]> = views.iter().map(|view| view as _).collect();
        let is_new = out.is_none();
        let (array, mut view) = match out {
            // SAFETY: as in `contract`.
            Some((mut out, array)) => (array.unbind(), unsafe { out.view_mut::<T>() }),
            None => {
                let order = axis_order(&self.plan, &views);
                // SAFETY: `array` lives until the end of this call.
                unsafe { new_array::<T>(py, &self.plan.output_shape(), &order)? }
            }
        };
        let [alpha, beta] = [alpha, beta].map(|factor| T::from_f64(factor.re, factor.im));
        let team = team(py, self.threads)?;
        let outcome = py.detach(|| {
            let mut compiled = self.compiled::<T>(team)?;
            if let Some(program) = compiled.program.downcast_mut::<einsum_dist::Program<T>>() {
                program.run_into(alpha, &arrays, beta, &mut view)?;
            }
            COMPILED.with_borrow_mut(|all| all.insert(*self.identity, compiled));
            Ok(if beta == T::ZERO { examine(&self.plan, alpha, &views, &view) } else { None })
        });
        warn(py, T::DTYPE, outcome.map_err(exception)?)?;
        let array = array.into_bound(py);
        if is_new { scalar_or_array(array) } else { Ok(array) }
    }
}

impl Program {
    /// Returns the operands if all can be used in place and have the planned element type.
    fn in_place<'a, 'py>(&self, arrays: &'a [Bound<'py, PyAny>]) -> Option<Operands<'a, 'py>> {
        in_place(arrays).filter(|views| views[0].dtype == self.plan.dtype)
    }

    fn run_with_exponent<'py, T: Element + numpy::Element>(
        &self,
        py: Python<'py>,
        operands: &[Operand<'_, 'py>],
    ) -> PyResult<(Bound<'py, PyAny>, i64)> {
        // SAFETY: as in `contract`.
        let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| unsafe { operand.view() }).collect();
        let arrays: SmallVec<[&dyn einsum_dist::Operand<T>; 4]> = views.iter().map(|view| view as _).collect();
        let team = team(py, self.threads)?;
        let outcome = py.detach(|| {
            let mut compiled = self.compiled::<T>(team)?;
            let program = compiled.program.downcast_mut::<einsum_dist::Program<T>>();
            let outcome = program.map(|program| program.run_with_exponent(&arrays)).transpose()?;
            COMPILED.with_borrow_mut(|all| all.insert(*self.identity, compiled));
            Ok(outcome)
        });
        let (array, exponent) =
            outcome.map_err(exception)?.ok_or_else(|| PyTypeError::new_err("the plan has another element type"))?;
        Ok((scalar_or_array(array.into_pyarray(py).into_any())?, exponent))
    }

    fn dispatch<'py>(
        &self,
        py: Python<'py>,
        operands: &[Operand<'_, 'py>],
        factors: [Complex<f64>; 2],
        out: Option<(Output<'_, 'py>, Bound<'py, PyAny>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.plan.dtype {
            Dtype::Float32 => self.run::<f32>(py, operands, factors, out),
            Dtype::Float64 => self.run::<f64>(py, operands, factors, out),
            Dtype::Complex64 => self.run::<Complex<f32>>(py, operands, factors, out),
            Dtype::Complex128 => self.run::<Complex<f64>>(py, operands, factors, out),
        }
    }
}

#[pymethods]
impl Program {
    /// Contract arrays of the planned shapes.
    ///
    /// Returns ``alpha`` times the contraction plus ``beta`` times ``out``, in ``out`` if it is given.
    /// With ``strip_exponent=True``, returns a mantissa and an exponent, as :func:`contract` does.
    #[pyo3(signature = (*operands, out=None, alpha=None, beta=None, strip_exponent=false))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        operands: &Bound<'py, PyTuple>,
        out: Option<Bound<'py, PyAny>>,
        alpha: Option<Bound<'py, PyAny>>,
        beta: Option<Bound<'py, PyAny>>,
        strip_exponent: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        static CALL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let arrays: SmallVec<[Bound<PyAny>; 4]> = operands.iter().collect();
        if out.is_none()
            && alpha.is_none()
            && beta.is_none()
            && !strip_exponent
            && let Some(views) = slf.get().in_place(&arrays)
        {
            return slf.get().dispatch(py, &views, [Complex::new(1.0, 0.0), Complex::new(0.0, 0.0)], None);
        }
        CALL.import(py, "einsum_dist._normalize", "call")?.call1((slf, operands, out, alpha, beta, strip_exponent))
    }

    /// Contract arrays that can be used in place. For `einsum_dist._normalize`, which has converted the arguments.
    fn _run<'py>(
        &self,
        py: Python<'py>,
        operands: Vec<Bound<'py, PyAny>>,
        alpha: Complex<f64>,
        beta: Complex<f64>,
        out: Option<Bound<'py, PyUntypedArray>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wrong = || PyTypeError::new_err("operands or output cannot be used in place");
        let views = self.in_place(&operands).ok_or_else(wrong)?;
        let out = out.as_ref().map(|array| {
            let usable = Output::new(array, &views).filter(|out| out.dtype() == self.plan.dtype);
            Ok::<_, PyErr>((usable.ok_or_else(wrong)?, array.clone().into_any()))
        });
        self.dispatch(py, &views, [alpha, beta], out.transpose()?)
    }

    /// Contract arrays that can be used in place. Returns the result and the power of two by which it is to be multiplied.
    fn _run_with_exponent<'py>(
        &self,
        py: Python<'py>,
        operands: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, i64)> {
        let views = self.in_place(&operands);
        let views = views.ok_or_else(|| PyTypeError::new_err("operands cannot be used in place"))?;
        match self.plan.dtype {
            Dtype::Float32 => self.run_with_exponent::<f32>(py, &views),
            Dtype::Float64 => self.run_with_exponent::<f64>(py, &views),
            Dtype::Complex64 => self.run_with_exponent::<Complex<f32>>(py, &views),
            Dtype::Complex128 => self.run_with_exponent::<Complex<f64>>(py, &views),
        }
    }

    /// Discard the intermediates that were kept for constant operands, so that the next call computes them again.
    fn renew(&self) {
        self.renewals.fetch_add(1, Ordering::Relaxed);
    }

    /// The plan.
    #[getter]
    fn plan(&self) -> super::plan::Plan {
        super::plan::Plan { inner: self.plan.clone(), threads: self.threads }
    }

    fn __repr__(&self) -> String {
        format!("<Program {} {} ranks={}>", self.plan.expression, self.plan.dtype.name(), self.plan.ranks())
    }
}
