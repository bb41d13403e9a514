//! Ranks: a world of ranks in this process or of MPI processes, and the programs that run on it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use einsum_dist::ndarray::ArrayViewD;
use einsum_dist::{Dtype, Element, RunOptions, Seconds};
use num_complex::Complex;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use smallvec::SmallVec;

use super::array::{Operand, in_place, new_array, scalar_or_array};
use super::bound::{ThreadBound, detached};
use super::dist_tensor::{DistTensor, Tensor};
use super::error::exception;
use super::order::axis_order;
use super::plan::Plan;

/// The ranks that run programs: groups of threads in this process, or the processes of an MPI program.
///
/// "Collective" calls must be made by all processes of the world, in the same order. A world, its tensors and its
/// programs belong to the Python thread that created them.
#[pyclass(frozen, module = "einsum_dist")]
pub struct World {
    inner: ThreadBound<RefCell<Open>>,
}

/// A program, until its world is closed.
type SharedProgram = Rc<RefCell<Option<AnyProgram>>>;

struct Open {
    world: Option<einsum_dist::World>,
    /// The programs of the world, which are dropped before the world is closed.
    programs: Vec<Weak<RefCell<Option<AnyProgram>>>>,
}

fn run_options(timeout: Option<f64>, overlap: bool) -> PyResult<RunOptions> {
    let timeout = timeout.map(|seconds| {
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
        timeout.ok_or_else(|| {
            PyValueError::new_err(format!("timeout must be a positive number of seconds, not {seconds}"))
        })
    });
    Ok(RunOptions { overlap, timeout: timeout.transpose()?, ..RunOptions::default() })
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the world is closed")
}

impl World {
    fn new(world: einsum_dist::World) -> World {
        World { inner: ThreadBound::new(RefCell::new(Open { world: Some(world), programs: Vec::new() })) }
    }

    /// # Errors
    /// RuntimeError if the world is closed, or belongs to another thread.
    pub fn get(&self) -> PyResult<einsum_dist::World> {
        self.inner.get()?.borrow().world.clone().ok_or_else(closed)
    }
}

#[pymethods]
impl World {
    /// A world of ranks inside this process. Each rank has a communication thread and workers.
    ///
    /// Parameters
    /// ----------
    /// timeout : float, optional
    ///     A run fails if a rank waits for other ranks for more than this number of seconds while no bytes move. It must
    ///     exceed the longest time during which any rank computes or transfers a gigabyte. Ranks are threads here, which
    ///     cannot be killed, so the run fails only when the silent rank returns. There is no timeout by default.
    /// overlap : bool
    ///     False makes each rank alternate between work and transfers, instead of overlapping them.
    #[staticmethod]
    #[pyo3(signature = (ranks, *, timeout=None, overlap=true))]
    fn in_process(ranks: usize, timeout: Option<f64>, overlap: bool) -> PyResult<World> {
        if ranks == 0 {
            return Err(PyValueError::new_err("a world has at least one rank"));
        }
        let options = run_options(timeout, overlap)?;
        Ok(World::new(einsum_dist::World::in_process(ranks).with(options)))
    }

    /// A world of the processes in an mpi4py communicator, by default ``MPI.COMM_WORLD``. Collective.
    ///
    /// The communicator is duplicated, so messages of this package cannot be confused with those of the caller.
    /// ``timeout`` and ``overlap`` are as in :meth:`in_process`. A process that waits for longer than the timeout ends all
    /// processes. Processes also wait for each other between runs, so the timeout must exceed the time that any process
    /// spends elsewhere, for example in other Python code or while it reads files.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     If this package was built without MPI, or with another MPI library than mpi4py (the message names both).
    #[staticmethod]
    #[pyo3(signature = (comm=None, *, timeout=None, overlap=true))]
    fn mpi(py: Python<'_>, comm: Option<Bound<'_, PyAny>>, timeout: Option<f64>, overlap: bool) -> PyResult<World> {
        let options = run_options(timeout, overlap)?;
        Ok(World::new(of_mpi(py, comm)?.with(options)))
    }

    /// Close the world: its programs can no longer run, and what the processes share is released. Collective.
    ///
    /// A ``with`` block does this at its end, unless an exception leaves the block.
    fn close(&self) -> PyResult<()> {
        let mut open = self.inner.get()?.borrow_mut();
        for program in open.programs.drain(..).filter_map(|program| program.upgrade()) {
            program.borrow_mut().take();
        }
        let Some(world) = open.world.take() else { return Ok(()) };
        world.finish().map_err(exception)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _error, _traceback))]
    fn __exit__(&self, kind: Option<Bound<'_, PyType>>, _error: Py<PyAny>, _traceback: Py<PyAny>) -> PyResult<()> {
        // After an error, other processes may never arrive here.
        if kind.is_none() { self.close() } else { Ok(()) }
    }

    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> PyResult<usize> {
        Ok(self.get()?.ranks())
    }

    /// Numbers of the ranks in this process.
    #[getter]
    fn local_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ranks = self.get()?.local_ranks();
        py.import("builtins")?.getattr("range")?.call1((ranks.start, ranks.end))
    }

    /// Name of the method by which ranks exchange blocks.
    #[getter]
    fn transport(&self) -> PyResult<String> {
        Ok(self.get()?.transport().to_owned())
    }

    /// Numbers of bytes that the ranks of this process have received and sent so far.
    #[getter]
    fn moved(&self) -> PyResult<(u64, u64)> {
        let moved = self.get()?.moved();
        Ok((moved.received, moved.sent))
    }

    /// Compile a plan for this world. Collective.
    fn compile(slf: &Bound<'_, Self>, plan: &Plan) -> PyResult<WorldProgram> {
        let world = slf.get().get()?;
        let plan = &plan.inner;
        let start = Instant::now();
        let program = match plan.dtype {
            Dtype::Float32 => world.compile(plan).map(AnyProgram::Float32),
            Dtype::Float64 => world.compile(plan).map(AnyProgram::Float64),
            Dtype::Complex64 => world.compile(plan).map(AnyProgram::Complex64),
            Dtype::Complex128 => world.compile(plan).map(AnyProgram::Complex128),
        };
        let program = Rc::new(RefCell::new(Some(program.map_err(exception)?)));
        let compile_seconds = start.elapsed().as_secs_f64();
        let mut open = slf.get().inner.get()?.borrow_mut();
        open.programs.retain(|program| program.strong_count() > 0);
        open.programs.push(Rc::downgrade(&program));
        Ok(WorldProgram {
            world: slf.clone().unbind(),
            program: ThreadBound::new(program),
            compile_seconds,
            run_seconds: ThreadBound::new(Cell::new(None)),
        })
    }

    fn __repr__(&self) -> String {
        match self.get() {
            Ok(world) => format!("<World of {} ranks, transport {}>", world.ranks(), world.transport()),
            Err(_) => "<World, closed or of another thread>".to_owned(),
        }
    }
}

#[cfg(not(feature = "mpi"))]
fn of_mpi(_py: Python<'_>, _comm: Option<Bound<'_, PyAny>>) -> PyResult<einsum_dist::World> {
    Err(PyRuntimeError::new_err(
        "this build of einsum_dist has no MPI; build it with the MPI of mpi4py: \
         MPICC=mpicc maturin build --release --manifest-path python/Cargo.toml --features mpi",
    ))
}

#[cfg(feature = "mpi")]
fn of_mpi(py: Python<'_>, comm: Option<Bound<'_, PyAny>>) -> PyResult<einsum_dist::World> {
    let mpi4py = py.import("mpi4py.MPI")?;
    let theirs: String = mpi4py.call_method0("Get_library_version")?.extract()?;
    let theirs = theirs.trim_end_matches('\0').trim();
    let (family, ours) = einsum_dist::World::mpi_library();
    // If a process loads two MPI libraries, calls of either side may reach the library that was loaded first. The
    // library that answers is then that of mpi4py, and only the family tells that this build is for another.
    let ours = if (family == "Open MPI") == theirs.starts_with("Open MPI") { ours.trim() } else { family };
    if ours != theirs {
        let line = |text: &str| text.lines().next().unwrap_or("an unknown MPI").to_owned();
        return Err(PyRuntimeError::new_err(format!(
            "einsum_dist is built with {}, but mpi4py with {}: build both with the same MPI",
            line(ours),
            line(theirs)
        )));
    }
    let comm = comm.map_or_else(|| mpi4py.getattr("COMM_WORLD"), Ok)?;
    if !comm.is_instance(&mpi4py.getattr("Intracomm")?)? || comm.eq(mpi4py.getattr("COMM_NULL")?)? {
        return Err(PyTypeError::new_err("comm must be an intracommunicator of mpi4py, and not COMM_NULL"));
    }
    let address: usize = mpi4py.call_method1("_addressof", (&comm,))?.extract()?;
    // SAFETY: `comm` is a live communicator of mpi4py, whose MPI library is ours, as checked above.
    let foreign = unsafe { super::communicator::Foreign::at(address) };
    let world = einsum_dist::World::from_communicator(&foreign);
    world.map_err(exception)
}

enum AnyProgram {
    Float32(einsum_dist::Program<f32>),
    Float64(einsum_dist::Program<f64>),
    Complex64(einsum_dist::Program<Complex<f32>>),
    Complex128(einsum_dist::Program<Complex<f64>>),
}

/// Calls a function with the program, whatever its element type is.
macro_rules! with_program {
    ($any:expr, $program:ident => $result:expr) => {
        match $any {
            AnyProgram::Float32($program) => $result,
            AnyProgram::Float64($program) => $result,
            AnyProgram::Complex64($program) => $result,
            AnyProgram::Complex128($program) => $result,
        }
    };
}

/// A plan that is compiled for a :class:`World`.
///
/// Call it with whole arrays, which every process must pass, or run it with :class:`DistTensor` objects, of which every
/// rank has only its own blocks.
#[pyclass(frozen, module = "einsum_dist")]
pub struct WorldProgram {
    world: Py<World>,
    program: ThreadBound<SharedProgram>,
    compile_seconds: f64,
    /// The time of the last run on the ranks of this process.
    run_seconds: ThreadBound<Cell<Option<f64>>>,
}

#[pymethods]
impl WorldProgram {
    /// Contract whole arrays; every process passes all of them, and gets the whole result. Collective.
    #[pyo3(signature = (*operands))]
    fn __call__<'py>(&self, py: Python<'py>, operands: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let mut program = self.program.get()?.borrow_mut();
        let program = program.as_mut().ok_or_else(closed)?;
        let dtype = with_program!(&*program, program => program.plan().dtype);
        let prepared = py.import("einsum_dist._normalize")?.call_method1("converted", (operands, dtype.name()))?;
        let arrays: Vec<Bound<PyAny>> = prepared.extract()?;
        let views = if arrays.is_empty() { Some(SmallVec::new()) } else { in_place(&arrays) };
        let views = views.ok_or_else(|| PyTypeError::new_err("the operands have other types than the plan"))?;
        let start = Instant::now();
        let result = with_program!(program, program => run_whole(py, program, &views))?;
        self.run_seconds.get()?.set(Some(start.elapsed().as_secs_f64()));
        Ok(result)
    }

    /// Contract distributed tensors: ``alpha`` times the contraction plus ``beta`` times ``out``. Collective.
    ///
    /// Returns ``out`` if it is given, and otherwise a new tensor in the distribution of the plan. No tensor is gathered.
    #[pyo3(signature = (*operands, out=None, alpha=Complex::new(1.0, 0.0), beta=Complex::new(0.0, 0.0)), text_signature = "(*operands, out=None, alpha=1, beta=0)")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        operands: Vec<Bound<'py, DistTensor>>,
        out: Option<Bound<'py, DistTensor>>,
        alpha: Complex<f64>,
        beta: Complex<f64>,
    ) -> PyResult<Bound<'py, DistTensor>> {
        let mut program = self.program.get()?.borrow_mut();
        let program = program.as_mut().ok_or_else(closed)?;
        let plan = with_program!(&*program, program => program.plan().clone());
        if out.is_none() && beta != Complex::new(0.0, 0.0) {
            return Err(PyValueError::new_err("beta is not 0, but there is no out to scale"));
        }
        if !plan.dtype.is_complex() && (alpha.im != 0.0 || beta.im != 0.0) {
            return Err(PyTypeError::new_err(format!(
                "a factor is complex, but the program is for {}",
                plan.dtype.name()
            )));
        }
        let out = match out {
            Some(out) => out,
            None => {
                let shape = plan.output_shape();
                let tensor = Tensor::zeros(&self.world.get().get()?, &shape, &plan.output().distribution, plan.dtype)?;
                Bound::new(py, DistTensor::of(self.world.clone_ref(py), tensor))?
            }
        };
        let tensors: Vec<_> = operands.iter().map(|tensor| tensor.get().borrow()).collect::<PyResult<_>>()?;
        let wrong = || PyTypeError::new_err("all tensors must have the element type of the program");
        let mut target = out.get().borrow_mut()?;
        let factors = [alpha, beta];
        macro_rules! run {
            ($kind:ident, $program:expr) => {{
                let tensors: Option<Vec<_>> = tensors
                    .iter()
                    .map(|tensor| if let Tensor::$kind(tensor) = &**tensor { Some(tensor) } else { None })
                    .collect();
                let Tensor::$kind(target) = &mut *target else { return Err(wrong()) };
                run_blocks(py, $program, factors, &tensors.ok_or_else(wrong)?, target)?;
            }};
        }
        let start = Instant::now();
        match program {
            AnyProgram::Float32(program) => run!(Float32, program),
            AnyProgram::Float64(program) => run!(Float64, program),
            AnyProgram::Complex64(program) => run!(Complex64, program),
            AnyProgram::Complex128(program) => run!(Complex128, program),
        }
        self.run_seconds.get()?.set(Some(start.elapsed().as_secs_f64()));
        drop(target);
        Ok(out)
    }

    /// Discard the intermediates that were kept for constant operands, so that the next run computes them again.
    fn renew(&self) -> PyResult<()> {
        let mut program = self.program.get()?.borrow_mut();
        with_program!(program.as_mut().ok_or_else(closed)?, program => program.renew());
        Ok(())
    }

    /// The plan and the measurements of the last run as a dict, as ``einsum-dist --json`` prints them. Collective.
    ///
    /// ``seconds`` and ``gflops`` are those of the last run on the slowest process. A call with whole arrays includes
    /// the time to distribute the operands and to gather the result. ``compile_seconds`` is the time on this process.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let program = self.program.get()?.borrow();
        let mut report = with_program!(program.as_ref().ok_or_else(closed)?, program => {
            program.measured().map(|measured| program.plan().report(Some(&measured)))
        })
        .map_err(exception)?;
        let world = self.world.get().get()?;
        report.transport = Some(world.transport().to_owned());
        report.compile_seconds = Some(self.compile_seconds);
        if let Some(seconds) = self.slowest(&world)? {
            let gflop = with_program!(program.as_ref().ok_or_else(closed)?, program => program.plan().total_gflop());
            report.seconds = Some(Seconds { min: seconds, median: seconds, max: seconds, runs: 1 });
            report.gflops = Some(gflop / seconds);
        }
        let text = serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,))
    }
}

impl WorldProgram {
    /// The longest time of the last run on any process, or `None` before the first run. Collective.
    fn slowest(&self, world: &einsum_dist::World) -> PyResult<Option<f64>> {
        // `max` ignores a process that has not run the program.
        let mine = self.run_seconds.get()?.get().unwrap_or(f64::NAN);
        let all = world.all_gather(&mine.to_le_bytes()).map_err(exception)?;
        let seconds = all.iter().filter_map(|bytes| bytes.as_slice().try_into().ok()).map(f64::from_le_bytes);
        Ok(Some(seconds.fold(f64::NAN, f64::max)).filter(|seconds| !seconds.is_nan()))
    }
}

fn run_whole<'py, T: Element + numpy::Element>(
    py: Python<'py>,
    program: &mut einsum_dist::Program<T>,
    operands: &[Operand<'_, 'py>],
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: as in `contract`.
    let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| unsafe { operand.view() }).collect();
    let arrays: SmallVec<[&dyn einsum_dist::Operand<T>; 4]> = views.iter().map(|view| view as _).collect();
    let order = axis_order(program.plan(), &views);
    // SAFETY: `array` lives until the end of this call.
    let (array, mut out) = unsafe { new_array::<T>(py, &program.plan().output_shape(), &order)? };
    // SAFETY: the closure uses views and the program only.
    unsafe { detached(py, || program.run_into(T::ONE, &arrays, T::ZERO, &mut out)) }.map_err(exception)?;
    scalar_or_array(array.into_bound(py))
}

fn run_blocks<T: Element>(
    py: Python<'_>,
    program: &mut einsum_dist::Program<T>,
    factors: [Complex<f64>; 2],
    operands: &[&einsum_dist::DistTensor<T>],
    out: &mut einsum_dist::DistTensor<T>,
) -> PyResult<()> {
    let [alpha, beta] = factors.map(|factor| T::from_f64(factor.re, factor.im));
    // SAFETY: the closure uses tensors of the library and the program only.
    unsafe { detached(py, || program.run_dist(alpha, operands, beta, out)) }.map_err(exception)
}
