//! NumPy arrays as views of the library.
//!
//! An array is used in place if its element type is one of the library's, its bytes are in native order, and its
//! elements are aligned and a whole number of elements apart. [`Operand::new`] and [`Output::new`] return `None` for
//! all other arrays, and the Python layer copies those.

use std::ptr::null_mut;

use einsum_dist::Dtype;
use einsum_dist::ndarray::{ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};
use numpy::npyffi::flags::{NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE};
use numpy::npyffi::types::NPY_TYPES;
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// An array that can be read in place.
pub struct Operand<'a, 'py> {
    array: &'a Bound<'py, PyUntypedArray>,
    pub dtype: Dtype,
}

/// An array that can be written in place.
pub struct Output<'a, 'py>(Operand<'a, 'py>);

/// The position of a tensor's elements, as in `ndarray`.
struct Layout {
    first: *mut u8,
    shape: IxDyn,
    strides: IxDyn,
    inverted: SmallVec<[usize; 4]>,
}

fn dtype_of(array: &Bound<'_, PyUntypedArray>) -> Option<Dtype> {
    let descr = array.dtype();
    let number = descr.num();
    let known = [
        (NPY_TYPES::NPY_DOUBLE, Dtype::Float64),
        (NPY_TYPES::NPY_FLOAT, Dtype::Float32),
        (NPY_TYPES::NPY_CDOUBLE, Dtype::Complex128),
        (NPY_TYPES::NPY_CFLOAT, Dtype::Complex64),
    ];
    let (_, dtype) = known.into_iter().find(|(code, _)| *code as i32 == number)?;
    (descr.is_native_byteorder() == Some(true)).then_some(dtype)
}

/// The strides of a dense array with its axes in this order, innermost first. Extents of 0 count as 1, because `ndarray`
/// requires that strides of empty arrays do not overlap either.
fn dense_strides(shape: &[usize], axes: impl Iterator<Item = usize>) -> IxDyn {
    let (mut strides, mut elements) = (IxDyn::zeros(shape.len()), 1);
    for axis in axes {
        strides[axis] = elements;
        elements *= shape[axis].max(1);
    }
    strides
}

fn flags(array: &Bound<'_, PyUntypedArray>) -> i32 {
    // SAFETY: the pointer is to a live array object, whose flags are read with the GIL held.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

impl<'a, 'py> Operand<'a, 'py> {
    /// Returns `None` if the array cannot be read in place.
    pub fn new(array: &'a Bound<'py, PyUntypedArray>) -> Option<Self> {
        let dtype = dtype_of(array)?;
        let size = dtype.size() as isize;
        let whole = |(&extent, &stride): (&usize, &isize)| extent <= 1 || stride % size == 0;
        let aligned = flags(array) & NPY_ARRAY_ALIGNED != 0;
        (aligned && array.shape().iter().zip(array.strides()).all(whole)).then_some(Operand { array, dtype })
    }

    pub fn shape(&self) -> &'a [usize] {
        self.array.shape()
    }

    /// A view of the elements, which must be of type `T`.
    ///
    /// # Safety
    /// `T` is the type of [`Operand::dtype`]. The array outlives the view, and its elements are not written while the
    /// view exists.
    pub unsafe fn view<T>(&self) -> ArrayViewD<'a, T> {
        let Layout { first, shape, strides, inverted } = self.layout();
        // SAFETY: NumPy guarantees that all elements are inside the array's memory; alignment and strides were checked
        // in `new`. The caller guarantees the rest.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(shape.strides(strides), first.cast()) };
        inverted.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
        view
    }

    /// The range of addresses that contains all elements; empty if there are none.
    fn span(&self) -> (usize, usize) {
        let start = self.data() as usize;
        let mut span = (start, start + self.dtype.size());
        for (&extent, &stride) in self.array.shape().iter().zip(self.array.strides()) {
            let Some(steps) = extent.checked_sub(1) else { return (start, start) };
            let reach = stride.unsigned_abs() * steps;
            if stride < 0 { span.0 -= reach } else { span.1 += reach }
        }
        span
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: as in `flags`.
        unsafe { (*self.array.as_array_ptr()).fields.data.cast() }
    }

    fn layout(&self) -> Layout {
        let size = self.dtype.size() as isize;
        let (shape, bytes) = (IxDyn(self.array.shape()), self.array.strides());
        let (mut first, mut inverted) = (self.data(), SmallVec::new());
        if shape.slice().contains(&0) {
            let strides = dense_strides(shape.slice(), (0..bytes.len()).rev());
            return Layout { first, shape, strides, inverted };
        }
        let mut strides = IxDyn::zeros(bytes.len());
        for (axis, &stride) in bytes.iter().enumerate() {
            let extent = shape[axis];
            if extent <= 1 {
                continue;
            }
            if stride < 0 {
                first = first.wrapping_offset(stride * (extent as isize - 1));
                inverted.push(axis);
            }
            strides[axis] = (stride / size).unsigned_abs();
        }
        Layout { first, shape, strides, inverted }
    }
}

impl<'a, 'py> Output<'a, 'py> {
    /// Returns `None` if the array cannot be written in place, also because it shares memory with an operand, or because
    /// two of its own elements do.
    pub fn new(array: &'a Bound<'py, PyUntypedArray>, operands: &[Operand<'_, 'py>]) -> Option<Self> {
        let out = Operand::new(array)?;
        let (start, end) = out.span();
        let meets = |operand: &Operand| {
            let (from, to) = operand.span();
            from < end && start < to
        };
        let usable = flags(array) & NPY_ARRAY_WRITEABLE != 0 && out.is_injective() && !operands.iter().any(meets);
        usable.then_some(Output(out))
    }

    pub fn dtype(&self) -> Dtype {
        self.0.dtype
    }

    /// A mutable view of the elements, which must be of type `T`.
    ///
    /// # Safety
    /// `T` is the type of [`Output::dtype`]. The array outlives the view, and its elements are neither read nor written
    /// by others while the view exists.
    pub unsafe fn view_mut<T>(&mut self) -> ArrayViewMutD<'a, T> {
        let Layout { first, shape, strides, inverted } = self.0.layout();
        // SAFETY: as for `Operand::view`; no two elements share memory, as checked in `new`.
        let mut view = unsafe { ArrayViewMutD::from_shape_ptr(shape.strides(strides), first.cast()) };
        inverted.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
        view
    }
}

/// Returns a new result as NumPy does: a scalar instead of an array without dimensions.
pub fn scalar_or_array<'py>(array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let dimensions = array.cast::<PyUntypedArray>()?.ndim();
    if dimensions == 0 { array.get_item(PyTuple::empty(array.py())) } else { Ok(array) }
}

pub type Operands<'a, 'py> = SmallVec<[Operand<'a, 'py>; 4]>;

/// Returns the operands if there are any, all can be used in place, and all have the same element type.
pub fn in_place<'a, 'py>(arrays: &'a [Bound<'py, PyAny>]) -> Option<Operands<'a, 'py>> {
    let operands = arrays.iter().map(|array| Operand::new(array.cast_exact::<PyUntypedArray>().ok()?));
    let operands: Operands = operands.collect::<Option<_>>()?;
    let dtype = operands.first()?.dtype;
    operands.iter().all(|operand| operand.dtype == dtype).then_some(operands)
}

/// Returns a new dense array, whose axes have the given order in memory (outermost first), and a view of its
/// uninitialised elements.
///
/// # Errors
/// MemoryError, or ValueError if the array has too many dimensions for NumPy.
///
/// # Safety
/// The array outlives the view, and nothing else uses its elements while the view exists.
pub unsafe fn new_array<'a, T: numpy::Element>(
    py: Python<'_>,
    shape: &[usize],
    order: &[usize],
) -> PyResult<(Py<PyAny>, ArrayViewMutD<'a, T>)> {
    let strides = dense_strides(shape, order.iter().rev().copied());
    let mut extents: SmallVec<[npy_intp; 8]> = shape.iter().map(|&extent| extent as npy_intp).collect();
    let mut bytes: SmallVec<[npy_intp; 8]> =
        strides.slice().iter().map(|&stride| (stride * size_of::<T>()) as npy_intp).collect();
    let descr = T::get_dtype(py).into_dtype_ptr();
    // SAFETY: shape and strides have as many entries as stated, and describe dense memory of the size that NumPy
    // allocates for this shape. The call takes over the reference to the element type.
    let array = unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let (extents, strides) = (extents.as_mut_ptr(), bytes.as_mut_ptr());
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            shape.len() as i32,
            extents,
            strides,
            null_mut(),
            0,
            null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)?
    };
    let untyped = array.cast::<PyUntypedArray>()?;
    // SAFETY: the array is alive, as above.
    let first = unsafe { (*untyped.as_array_ptr()).fields.data };
    // SAFETY: the array is new, so nothing else refers to its memory, and it has this layout. All bit patterns are
    // numbers.
    let view = unsafe { ArrayViewMutD::from_shape_ptr(IxDyn(shape).strides(strides), first.cast()) };
    Ok((array.unbind(), view))
}

impl Operand<'_, '_> {
    /// Whether no two indices refer to the same element. Returns false for some exotic layouts in which this is so.
    fn is_injective(&self) -> bool {
        let dims = self.array.shape().iter().zip(self.array.strides()).filter(|(extent, _)| **extent > 1);
        let mut dims: SmallVec<[(usize, usize); 4]> = dims.map(|(&e, &s)| (s.unsigned_abs(), e)).collect();
        dims.sort_unstable();
        let mut reach = self.dtype.size();
        self.array.shape().contains(&0)
            || dims.iter().all(|&(stride, extent)| {
                let fits = stride >= reach;
                reach += stride * (extent - 1);
                fits
            })
    }
}
