//! Distributions, and tensors of which every rank has its own blocks.

use std::cell::{Ref, RefCell, RefMut};
use std::ops::Range;
use std::path::PathBuf;

use einsum_dist::{Dtype, Element, Error, FixedDistributions};
use num_complex::Complex;
use numpy::{PyArray, ToPyArray};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use super::array::scalar_or_array;
use super::bound::ThreadBound;
use super::error::exception;
use super::plan::dtype_of;
use super::world::World;

/// How a tensor is distributed over ranks.
///
/// ``Distribution("m:2 n:3", "mn")`` divides m into 2 and n into 3 parts, for 6 ranks. The notation is that of the flag
/// ``--distribution``.
#[pyclass(frozen, eq, from_py_object, module = "einsum_dist")]
#[derive(Clone, PartialEq)]
pub struct Distribution(pub einsum_dist::Distribution);

/// The names of dimensions: a text with one letter each, or a list.
#[derive(FromPyObject)]
enum Names {
    Letters(String),
    List(Vec<String>),
}

#[pymethods]
impl Distribution {
    #[new]
    fn new(text: &str, names: Names) -> PyResult<Distribution> {
        let names = match names {
            Names::Letters(text) => text.chars().map(String::from).collect(),
            Names::List(names) => names,
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fixed = FixedDistributions::parse(text, &[&names, &[]]);
        let fixed = fixed.map_err(|error| PyValueError::new_err(error.to_string().replace('`', "'")))?;
        let distribution = fixed.operands.into_iter().next().flatten();
        distribution.map(Distribution).ok_or_else(|| PyValueError::new_err("the text describes no distribution"))
    }

    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = (0..64).map(|dim| format!("d{dim}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("<Distribution {}>", self.0.describe(&names))
    }
}

/// A tensor of one of the four element types.
pub enum Tensor {
    Float32(einsum_dist::DistTensor<f32>),
    Float64(einsum_dist::DistTensor<f64>),
    Complex64(einsum_dist::DistTensor<Complex<f32>>),
    Complex128(einsum_dist::DistTensor<Complex<f64>>),
}

/// Calls a function with the tensor, whatever its element type is.
macro_rules! with_tensor {
    ($any:expr, $tensor:ident => $result:expr) => {
        match $any {
            Tensor::Float32($tensor) => $result,
            Tensor::Float64($tensor) => $result,
            Tensor::Complex64($tensor) => $result,
            Tensor::Complex128($tensor) => $result,
        }
    };
}

/// Makes a tensor of an element type that is known at run time. `$make` is an expression of type `Result<DistTensor<_>>`.
macro_rules! make_tensor {
    ($dtype:expr, $make:expr) => {
        match $dtype {
            Dtype::Float32 => $make.map(Tensor::Float32),
            Dtype::Float64 => $make.map(Tensor::Float64),
            Dtype::Complex64 => $make.map(Tensor::Complex64),
            Dtype::Complex128 => $make.map(Tensor::Complex128),
        }
        .map_err(exception)
    };
}

impl Tensor {
    pub fn zeros(
        world: &einsum_dist::World,
        shape: &[usize],
        distribution: &einsum_dist::Distribution,
        dtype: Dtype,
    ) -> PyResult<Tensor> {
        make_tensor!(dtype, einsum_dist::DistTensor::try_zeros(world, shape, distribution))
    }

    fn dtype(&self) -> Dtype {
        match self {
            Tensor::Float32(_) => Dtype::Float32,
            Tensor::Float64(_) => Dtype::Float64,
            Tensor::Complex64(_) => Dtype::Complex64,
            Tensor::Complex128(_) => Dtype::Complex128,
        }
    }
}

/// Copies blocks into the pairs of [`DistTensor::local`].
fn fill(local: &Bound<'_, PyList>, blocks: &[Bound<'_, PyAny>]) -> PyResult<()> {
    if local.len() != blocks.len() {
        let message = format!("{} blocks for {} local ranks with a part of the tensor", blocks.len(), local.len());
        return Err(PyValueError::new_err(message));
    }
    let numpy = local.py().import("numpy")?;
    for (pair, block) in local.iter().zip(blocks) {
        let view = pair.get_item(1)?;
        let (wanted, given) = (view.getattr("shape")?, numpy.call_method1("shape", (block,))?);
        if !wanted.eq(&given)? {
            return Err(PyValueError::new_err(format!("a block has shape {given}, its rank's part has {wanted}")));
        }
        numpy.call_method1("copyto", (view, block))?;
    }
    Ok(())
}

/// Raises on all processes if one has an error, because they would wait for it in their next collective call.
fn agreed<V>(world: &einsum_dist::World, mine: PyResult<V>) -> PyResult<V> {
    let here = mine.as_ref().map_or_else(|error| Err(Error::Usage(error.to_string())), |_| Ok(()));
    let all = world.agree(here).map_err(exception);
    mine.and_then(|value| all.map(|()| value))
}

/// Returns what selects a block in an array of the whole tensor, from the ranges of the block in each dimension.
fn place<'py, 'a>(
    py: Python<'py>,
    dims: impl ExactSizeIterator<Item = &'a [Range<usize>]> + Clone,
) -> PyResult<Bound<'py, PyAny>> {
    if dims.clone().all(|ranges| ranges.len() <= 1) {
        let slice = |ranges: &[Range<usize>]| {
            let Range { start, end } = ranges.first().cloned().unwrap_or(0..0);
            PySlice::new(py, start as isize, end as isize, 1)
        };
        return Ok(PyTuple::new(py, dims.map(slice))?.into_any());
    }
    let indices =
        dims.map(|ranges| PyArray::from_iter(py, ranges.iter().cloned().flatten().map(|index| index as isize)));
    py.import("numpy")?.call_method1("ix_", PyTuple::new(py, indices)?)
}

/// Returns the element type that a dtype of NumPy stands for; float64 for `None`.
fn named_dtype(py: Python<'_>, dtype: Option<Bound<'_, PyAny>>) -> PyResult<Dtype> {
    let Some(dtype) = dtype else { return Ok(Dtype::Float64) };
    dtype_of(&py.import("numpy")?.call_method1("dtype", (dtype,))?.getattr("name")?.extract::<String>()?)
}

/// A tensor of which every rank of a :class:`World` has its own blocks.
#[pyclass(frozen, module = "einsum_dist")]
pub struct DistTensor {
    world: Py<World>,
    tensor: ThreadBound<RefCell<Tensor>>,
}

impl DistTensor {
    pub fn of(world: Py<World>, tensor: Tensor) -> DistTensor {
        DistTensor { world, tensor: ThreadBound::new(RefCell::new(tensor)) }
    }

    pub fn borrow(&self) -> PyResult<Ref<'_, Tensor>> {
        self.tensor.get()?.try_borrow().map_err(|_| PyRuntimeError::new_err("the tensor is the output of this run"))
    }

    pub fn borrow_mut(&self) -> PyResult<RefMut<'_, Tensor>> {
        self.tensor.get()?.try_borrow_mut().map_err(|_| PyValueError::new_err("an operand is also the output"))
    }
}

#[pymethods]
impl DistTensor {
    /// A tensor of zeros. Collective.
    #[staticmethod]
    #[pyo3(signature = (world, shape, distribution, dtype=None))]
    fn zeros(
        world: &Bound<'_, World>,
        shape: Vec<usize>,
        distribution: &Distribution,
        dtype: Option<Bound<'_, PyAny>>,
    ) -> PyResult<DistTensor> {
        let inner = world.get().get()?;
        let dtype = agreed(&inner, named_dtype(world.py(), dtype))?;
        let tensor = Tensor::zeros(&inner, &shape, &distribution.0, dtype)?;
        Ok(DistTensor::of(world.clone().unbind(), tensor))
    }

    /// A tensor from the blocks of the local ranks, which are copied: one array for each local rank that stores a part
    /// of the tensor, in order of ranks. The element type is float64, unless all processes give another. Collective.
    #[staticmethod]
    #[pyo3(signature = (world, shape, distribution, blocks, dtype=None))]
    fn from_local<'py>(
        world: &Bound<'py, World>,
        shape: Vec<usize>,
        distribution: &Distribution,
        blocks: Vec<Bound<'py, PyAny>>,
        dtype: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, DistTensor>> {
        let py = world.py();
        let slf = Bound::new(py, DistTensor::zeros(world, shape, distribution, dtype)?)?;
        let filled = DistTensor::local(&slf).and_then(|local| fill(&local, &blocks));
        agreed(&world.get().get()?, filled).map(|()| slf)
    }

    /// A tensor with the elements of a whole array, of which every process copies its own blocks. Collective.
    ///
    /// All processes pass the same array; with ``numpy.load(path, mmap_mode="r")``, each reads only its own blocks. The
    /// element type is that of the array unless all processes give another, to which the elements are converted.
    #[staticmethod]
    #[pyo3(signature = (world, array, distribution, dtype=None))]
    fn from_array<'py>(
        world: &Bound<'py, World>,
        array: Bound<'py, PyAny>,
        distribution: &Distribution,
        dtype: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, DistTensor>> {
        let py = world.py();
        let inner = world.get().get()?;
        let numpy = py.import("numpy")?;
        let prepare = || {
            let array = numpy.call_method1("asarray", (array,))?;
            let dtype = dtype.map_or_else(|| array.getattr("dtype"), Ok)?;
            let shape: Vec<usize> = array.getattr("shape")?.extract()?;
            Ok((array, named_dtype(py, Some(dtype))?, shape))
        };
        let (array, dtype, shape) = agreed(&inner, prepare())?;
        let kind = format!("{} of shape {shape:?}", dtype.name());
        let all = inner.all_gather(kind.as_bytes()).map_err(exception)?;
        if let Some(other) = all.iter().find(|other| ***other != *kind.as_bytes()) {
            let message = format!("one process has {kind}, another {}", String::from_utf8_lossy(other));
            return Err(PyValueError::new_err(message));
        }
        let tensor = Tensor::zeros(&inner, &shape, &distribution.0, dtype)?;
        let slf = Bound::new(py, DistTensor::of(world.clone().unbind(), tensor))?;
        let copy = || {
            for pair in DistTensor::local(&slf)?.iter() {
                numpy.call_method1("copyto", (pair.get_item(1)?, array.get_item(pair.get_item(0)?)?))?;
            }
            Ok(())
        };
        agreed(&inner, copy()).map(|()| slf)
    }

    /// Read the array in a .npy file; every rank reads only its own blocks. Collective.
    ///
    /// The element type is float64 unless all processes give another. A file of a wider type is refused.
    #[staticmethod]
    #[pyo3(signature = (world, path, distribution, dtype=None))]
    fn from_npy(
        world: &Bound<'_, World>,
        path: PathBuf,
        distribution: &Distribution,
        dtype: Option<Bound<'_, PyAny>>,
    ) -> PyResult<DistTensor> {
        let (inner, to) = (world.get().get()?, &distribution.0);
        let dtype = agreed(&inner, named_dtype(world.py(), dtype))?;
        let tensor = make_tensor!(dtype, einsum_dist::DistTensor::from_npy(&inner, &path, to))?;
        Ok(DistTensor::of(world.clone().unbind(), tensor))
    }

    /// The local blocks, in order of ranks: pairs of the block's place in the whole tensor and a view of its elements.
    ///
    /// An array of the whole tensor has the same elements at ``array[place]``. The place is a tuple of slices or, if the
    /// block is not one box because of block-cyclic cuts, of index arrays as ``numpy.ix_`` makes them. The views are not
    /// copies: writing to them changes the tensor, so another thread must not do that during a run.
    #[getter]
    fn local<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let mut tensor = slf.get().borrow_mut()?;
        with_tensor!(&mut *tensor, tensor => {
            let blocks = tensor.blocks_mut().map(|(region, block)| {
                // SAFETY: the tensor never moves its blocks, and this object, which the view refers to, keeps it. As with
                // all arrays of NumPy, Python code must not write to a view while another call reads or writes it.
                let view = unsafe { PyArray::borrow_from_array(&block, slf.clone().into_any()) };
                PyTuple::new(py, [place(py, region.dims().iter().map(|dim| dim.ranges()))?, view.into_any()])
            });
            PyList::new(py, blocks.collect::<PyResult<Vec<_>>>()?)
        })
    }

    /// The whole tensor as an array, on every process. Collective.
    fn gather<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let world = self.world.get().get()?;
        let tensor = self.borrow()?;
        with_tensor!(&*tensor, tensor => scalar_or_array(tensor.gather(&world).map_err(exception)?.to_pyarray(py).into_any()))
    }

    /// The same tensor in another distribution. Collective.
    fn redistribute(&self, py: Python<'_>, distribution: &Distribution) -> PyResult<DistTensor> {
        fn moved<T: Element>(
            tensor: &einsum_dist::DistTensor<T>,
            world: &einsum_dist::World,
            to: &einsum_dist::Distribution,
        ) -> PyResult<einsum_dist::DistTensor<T>> {
            tensor.redistribute(world, to).map_err(exception)
        }
        let (world, to) = (self.world.get().get()?, &distribution.0);
        let tensor = match &*self.borrow()? {
            Tensor::Float32(tensor) => Tensor::Float32(moved(tensor, &world, to)?),
            Tensor::Float64(tensor) => Tensor::Float64(moved(tensor, &world, to)?),
            Tensor::Complex64(tensor) => Tensor::Complex64(moved(tensor, &world, to)?),
            Tensor::Complex128(tensor) => Tensor::Complex128(moved(tensor, &world, to)?),
        };
        Ok(DistTensor::of(self.world.clone_ref(py), tensor))
    }

    /// Write the tensor to a .npy file; every rank writes its own blocks. Collective.
    fn write_npy(&self, path: PathBuf) -> PyResult<()> {
        let world = self.world.get().get()?;
        let tensor = self.borrow()?;
        with_tensor!(&*tensor, tensor => tensor.write_npy(&world, &path).map_err(exception))
    }

    /// Shape of the whole tensor.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        with_tensor!(&*self.borrow()?, tensor => PyTuple::new(py, tensor.shape()))
    }

    /// Element type, as a name.
    #[getter]
    fn dtype(&self) -> PyResult<&'static str> {
        Ok(self.borrow()?.dtype().name())
    }

    /// The distribution over ranks.
    #[getter]
    fn distribution(&self) -> PyResult<Distribution> {
        with_tensor!(&*self.borrow()?, tensor => Ok(Distribution(tensor.distribution().clone())))
    }
}
