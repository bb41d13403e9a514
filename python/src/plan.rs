//! Plans: how an expression is contracted, without data.

use std::collections::HashMap;
use std::sync::Arc;

use einsum_dist::{
    AlgorithmName, Dtype, FixedDistributions, GivenPath, KernelChoice, Label, Machine, PathReport, PlanOptions,
    Problem, World,
};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::dist_tensor::Distribution;
use super::error::exception;
use super::program::Program;
use super::threads::get_num_threads;

/// A plan: the order of contractions, the algorithm and distribution of each, and the predicted time.
///
/// Plans are made by :func:`plan`, without data, for any number of ranks.
#[pyclass(frozen, module = "einsum_dist", name = "Plan")]
pub struct Plan {
    pub inner: Arc<einsum_dist::Plan>,
    /// The number of threads, if it was given.
    pub threads: Option<usize>,
}

/// The options of `plan`, as the Python layer passes them on.
#[derive(FromPyObject)]
pub struct Options {
    #[pyo3(item)]
    dtype: String,
    #[pyo3(item)]
    path: String,
    #[pyo3(item)]
    sliced: Option<Vec<(String, usize)>>,
    #[pyo3(item)]
    path_cache: Option<std::path::PathBuf>,
    #[pyo3(item)]
    path_seconds: Option<f64>,
    #[pyo3(item)]
    runs: usize,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    slice_groups: Option<usize>,
    #[pyo3(item)]
    ranks: Option<usize>,
    #[pyo3(item)]
    threads: Option<usize>,
    #[pyo3(item)]
    machine: Option<String>,
    #[pyo3(item)]
    algorithm: Option<String>,
    #[pyo3(item)]
    objective: String,
    #[pyo3(item)]
    kernel: Option<String>,
    #[pyo3(item)]
    constant: Vec<usize>,
    #[pyo3(item)]
    conjugate: Vec<usize>,
    #[pyo3(item)]
    accumulate: bool,
    #[pyo3(item)]
    distributions: Option<String>,
}

/// Returns the value with this name, or a ValueError.
fn named<V: std::str::FromStr<Err = String>>(name: &str) -> PyResult<V> {
    name.parse().map_err(|error: String| PyValueError::new_err(error.replace('`', "'")))
}

/// Returns the element type with NumPy's name for it.
pub fn dtype_of(name: &str) -> PyResult<Dtype> {
    let all = [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128];
    let unknown =
        || PyValueError::new_err(format!("the dtype is {name}, but must be float32, float64, complex64 or complex128"));
    all.into_iter().find(|dtype| dtype.name() == name).ok_or_else(unknown)
}

/// The names of each operand's and the result's dimensions, and the extent of each name.
type Terms = (Vec<Vec<String>>, Vec<String>, HashMap<String, usize>);

/// The dimensions of an expression as optimizers of opt_einsum and cotengra read them. For `einsum_dist._path`.
#[pyfunction]
pub fn terms(subscripts: &str, shapes: Vec<Vec<usize>>) -> PyResult<Terms> {
    let shaped = Problem::parse(subscripts).and_then(|problem| problem.shapes(&shapes)).map_err(exception)?;
    let einsums = shaped.einsums();
    if einsums.nodes.len() != einsums.operands + 1 {
        return Err(PyValueError::new_err("an optimizer needs an expression without nested einsums"));
    }
    let named = |labels: &[Label]| labels.iter().map(|label| einsums.names[label.0 as usize].clone()).collect();
    let inputs = einsums.nodes[..einsums.operands].iter().map(|node| named(&node.labels)).collect();
    let sizes = einsums.names.iter().cloned().zip(einsums.extents.iter().copied()).collect();
    Ok((inputs, named(einsums.output()), sizes))
}

/// Make a plan. For `einsum_dist._plan`, which has checked and converted the arguments.
#[pyfunction]
#[pyo3(signature = (subscripts, shapes, options))]
pub fn plan(py: Python<'_>, subscripts: &str, shapes: Vec<Vec<usize>>, options: Options) -> PyResult<Plan> {
    let threads = options.threads.unwrap_or_else(|| get_num_threads(py));
    let machine = match &options.machine {
        Some(text) => {
            let mut machine = Machine::from_toml_with(text, options.ranks).map_err(PyValueError::new_err)?;
            machine.workers = options.threads.unwrap_or(machine.workers);
            machine
        }
        None => Machine::new(options.ranks.unwrap_or(1), threads),
    };
    let algorithm = options.algorithm.as_deref().filter(|&name| name != "auto");
    let given = named::<GivenPath>(&options.path)?;
    let wanted = PlanOptions::default()
        .dtype(dtype_of(&options.dtype)?)
        .path(given.order)
        .sliced(options.sliced.unwrap_or(given.sliced))
        .path_seconds(options.path_seconds)
        .runs(options.runs)
        .memory_limit(options.memory_limit)
        .slice_groups(options.slice_groups)
        .algorithm(algorithm.map(named::<AlgorithmName>).transpose()?)
        .objective(named(&options.objective)?)
        .kernel(options.kernel.as_deref().map_or(Ok(KernelChoice::Auto), named)?)
        .constant(options.constant)
        .conjugate(options.conjugate)
        .accumulate(options.accumulate);
    let distributions = options.distributions;
    let here = options.machine.is_none() && options.ranks.is_none();
    let planned = py.detach(|| -> einsum_dist::Result<_> {
        let shaped = Problem::parse(subscripts)?.shapes(&shapes)?;
        let (world, folder) = (World::single(), options.path_cache.as_deref());
        let plan = |wanted: &PlanOptions| -> einsum_dist::Result<_> {
            let (searched, warnings) = shaped.cached_tree(&world, folder, &machine, wanted, &|_| ())?;
            let tree = &searched.tree;
            let fixed = match &distributions {
                Some(text) => FixedDistributions::within(text, tree, machine.ranks)?,
                None => FixedDistributions::default(),
            };
            Ok((shaped.plan_tree(tree, &machine, &wanted.clone().fixed(fixed))?, searched, warnings))
        };
        let wanted = if here && shapes.len() > 2 { world.with_free_memory(&wanted)? } else { wanted };
        let planned = plan(&wanted)?;
        let limited = world.within_memory(&planned.0, &planned.1, &wanted)?;
        Ok(limited.and_then(|limited| plan(&limited).ok()).unwrap_or(planned))
    });
    let (plan, _, warnings) = planned.map_err(exception)?;
    for warning in warnings {
        let warning = std::ffi::CString::new(format!("path_cache: {warning}"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
    }
    Ok(Plan { inner: Arc::new(plan), threads: options.threads })
}

#[pymethods]
impl Plan {
    /// The plan as text: the path, and a table of all steps.
    fn explain(&self) -> String {
        self.inner.explain().to_string()
    }

    /// The plan as a dict with the contents of ``einsum-dist --explain --json``: its steps, ranks, bytes and times.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = py.detach(|| serde_json::to_string(&self.inner.report(None)));
        let report = report.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (report,))
    }

    /// The timeline of a simulated run as an SVG picture; above 1,024 ranks in one group, of one rank of each class, or
    /// None if replicas of the result are added.
    fn timeline_svg(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| Some(self.inner.simulate()?.svg(&self.inner.expression)))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("einsum_dist._html")?.call_method1("plan_html", (slf,))
    }

    /// Simulate a run of the plan on its machine, as for :meth:`timeline_svg`. Returns a dict or None.
    ///
    /// ``seconds`` is the predicted time, ``working_share`` the share of it in which workers compute, and
    /// ``hidden_share`` the share of transfers that run while workers compute (None without transfers).
    fn simulate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(timeline) = py.detach(|| self.inner.simulate()) else { return Ok(None) };
        let simulated = PyDict::new(py);
        simulated.set_item("seconds", timeline.seconds)?;
        simulated.set_item("working_share", timeline.working_share())?;
        simulated.set_item("hidden_share", timeline.hidden_share())?;
        Ok(Some(simulated))
    }

    /// Compile the plan into a :class:`Program`, which can be called on changing arrays.
    fn compile(&self) -> Program {
        Program::new(self.inner.clone(), self.threads)
    }

    /// The expression.
    #[getter]
    fn subscripts(&self) -> &str {
        &self.inner.expression
    }

    /// The order of contractions: pairs of positions in the list of operands, as in opt_einsum and NumPy.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.inner.path.iter().map(|&[first, second]| (first, second)))
    }

    /// The order of contractions in cotengra's SSA form: pairs of numbers of tensors, where the operands have the numbers
    /// from 0, followed by the results in the order of contractions.
    #[getter]
    fn ssa_path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.inner.ssa_path().into_iter().map(|[first, second]| (first, second)))
    }

    /// Names of the sliced dimensions, as in cotengra.
    #[getter]
    fn sliced_inds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.slices.iter().map(|slice| self.inner.name(slice.label)))
    }

    /// The order and the slices as a JSON object, which ``--path`` and the argument ``path`` of :func:`plan` take.
    fn path_json(&self) -> String {
        self.inner.path_json()
    }

    /// Number of operations. A multiply-add counts as 2 (8 for complex numbers).
    #[getter]
    fn flops(&self) -> f64 {
        self.inner.total_gflop() * 1e9
    }

    /// Number of elements of the largest intermediate, as if the plan had no slices; 0 if there is none.
    #[getter]
    fn largest_intermediate(&self) -> f64 {
        PathReport::of(&self.inner).and_then(|path| path.largest).map_or(0.0, |(log2, _)| log2.exp2().round())
    }

    /// The sliced dimensions, as a dict from name to the number of pieces.
    #[getter]
    fn slices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let slices = PyDict::new(py);
        for slice in &self.inner.slices {
            slices.set_item(self.inner.name(slice.label), slice.pieces())?;
        }
        Ok(slices)
    }

    /// Number of bytes that the busiest rank needs, including its operands and result.
    #[getter]
    fn peak_bytes(&self) -> u64 {
        self.inner.sampled_ranks().into_iter().map(|rank| self.inner.peak_bytes(rank)).max().unwrap_or(0)
    }

    /// Predicted time of a run, in seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        self.inner.seconds()
    }

    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    /// Element type, as a name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.inner.dtype.name()
    }

    /// Shapes of the operands.
    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let shapes = (0..self.inner.operands).map(|index| PyTuple::new(py, self.inner.operand_shape(index)));
        PyList::new(py, shapes.collect::<PyResult<Vec<_>>>()?)
    }

    /// Shape of the result.
    #[getter]
    fn output_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.output_shape())
    }

    /// The distribution of an operand over ranks.
    fn operand_distribution(&self, index: usize) -> PyResult<Distribution> {
        if index >= self.inner.operands {
            return Err(PyIndexError::new_err(format!("operand {index} of {}", self.inner.operands)));
        }
        Ok(Distribution(self.inner.operand(index).distribution.clone()))
    }

    /// The distribution of the result over ranks.
    fn output_distribution(&self) -> Distribution {
        Distribution(self.inner.output().distribution.clone())
    }

    /// Number of bytes that a rank receives in a run.
    fn bytes_received(&self, rank: usize) -> PyResult<u64> {
        if rank >= self.inner.ranks() {
            return Err(PyIndexError::new_err(format!("rank {rank} of {}", self.inner.ranks())));
        }
        Ok(self.inner.bytes_received(rank).into_iter().sum())
    }

    /// A number that is the same for equal plans, with which ranks can check that they have the same plan.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    fn __repr__(&self) -> String {
        let plan = &self.inner;
        format!(
            "<Plan {} {} ranks={} flops={:.3e}>",
            plan.expression,
            plan.dtype.name(),
            plan.ranks(),
            plan.total_gflop() * 1e9
        )
    }

    fn __str__(&self) -> String {
        self.explain()
    }
}
