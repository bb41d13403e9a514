//! Leases: rights to read, or read and write, one box of one buffer until dropped.
//!
//! Invariant: while a [`WriteLease`] is alive, no other live lease overlaps its box. The ledger of [`Store`] enforces
//! this, so views through `&self` and `&mut self` are sound for the right element type.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder};

use super::store::{BoxLocation, LeaseError, Slot, Store};
use super::strided::{Located, Strided};
use crate::dtype::Dtype;
use crate::kernel::{Element, Tensor, TensorMut};

#[derive(Debug)]
struct Lease {
    store: Arc<Store>,
    id: u64,
    place: BoxLocation,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.store.release(self.id);
    }
}

impl Lease {
    fn slot(&self) -> &Slot {
        self.store.slot(self.place.buffer)
    }

    fn dtype(&self) -> Dtype {
        self.slot().dtype
    }

    fn strided(&self) -> &Strided {
        self.place.part.as_deref().unwrap_or(&self.slot().strided)
    }

    fn start(&self) -> *mut u8 {
        let slot = self.slot();
        if self.strided().elements() == 0 {
            return slot.origin;
        }
        // SAFETY: the box is not empty and inside the slot's array (`Store::locate`), so its first element is inside
        // the allocation.
        unsafe { slot.origin.offset(self.place.offset * self.dtype().size() as isize) }
    }

    fn bytes(&self) -> usize {
        self.strided().elements() * self.dtype().size()
    }

    fn dense_bytes(&self) -> Option<(*mut u8, usize)> {
        self.strided().is_dense().then(|| (self.start(), self.bytes()))
    }

    fn for_each_run(&self, mut visit: impl FnMut(isize, usize)) {
        let size = self.dtype().size();
        let (dims, run) = self.strided().dense_suffix();
        if self.strided().elements() > 0 {
            let leading = self.strided().extents.len() - dims;
            self.strided().for_each_leading(leading, |offset| visit(offset * size as isize, run * size));
        }
    }

    /// # Panics
    /// If `T` is not the buffer's element type.
    fn typed<T: Element>(&self) -> *mut T {
        assert!(T::DTYPE == self.dtype(), "the buffer holds {}, not {}", self.dtype(), T::DTYPE);
        self.start().cast()
    }

    fn array_parts<T: Element>(&self) -> (*mut T, IxDyn, IxDyn) {
        let mut start = self.typed::<T>();
        let mut strides = IxDyn::zeros(self.strided().strides.len());
        for (d, (&stride, &extent)) in self.strided().strides.iter().zip(&self.strided().extents).enumerate() {
            strides[d] = stride.unsigned_abs();
            if stride < 0 && extent > 0 && self.strided().elements() > 0 {
                // SAFETY: the new start is the element at the last index of this dimension, which is in the box.
                start = unsafe { start.offset(stride * (extent as isize - 1)) };
            }
        }
        (start, IxDyn(&self.strided().extents), strides)
    }

    fn flipped(&self) -> impl Iterator<Item = Axis> + '_ {
        let dims = self.strided().strides.iter().zip(&self.strided().extents).enumerate();
        dims.filter(|(_, (stride, extent))| **stride < 0 && **extent > 0).map(|(d, _)| Axis(d))
    }
}

#[derive(Debug)]
pub struct ReadLease(Lease);

#[derive(Debug)]
pub struct WriteLease(Lease);

impl Store {
    /// # Errors
    /// If the buffer does not exist, if the box is not inside it, or if a live write lease overlaps the box.
    pub fn read(self: &Arc<Self>, buffer: usize, bounds: &[Range<usize>]) -> Result<ReadLease, LeaseError> {
        let place = self.locate(buffer, bounds)?;
        let id = self.enter(&place, bounds, false)?;
        Ok(ReadLease::new(self.clone(), id, place))
    }

    /// # Errors
    /// If [`Store::read`] would fail, if a live read lease overlaps the box, or if the buffer is an operand.
    pub fn write(self: &Arc<Self>, buffer: usize, bounds: &[Range<usize>]) -> Result<WriteLease, LeaseError> {
        let place = self.locate(buffer, bounds)?;
        if !self.slot(buffer).writable {
            return Err(LeaseError::ReadOnly { buffer });
        }
        let id = self.enter(&place, bounds, true)?;
        Ok(WriteLease::new(self.clone(), id, place))
    }
}

macro_rules! impl_located {
    ($lease:ty) => {
        impl Located for $lease {
            fn start(&self) -> *mut u8 {
                self.0.start()
            }

            fn strided(&self) -> &Strided {
                self.0.strided()
            }

            fn element(&self) -> usize {
                self.0.dtype().size()
            }
        }
    };
}

impl_located!(ReadLease);
impl_located!(WriteLease);

impl ReadLease {
    pub(super) fn new(store: Arc<Store>, id: u64, place: BoxLocation) -> ReadLease {
        ReadLease(Lease { store, id, place })
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    pub fn extents(&self) -> &[usize] {
        &self.0.strided().extents
    }

    /// The box as an array.
    ///
    /// # Panics
    /// If `T` is not the buffer's element type.
    pub fn view<T: Element>(&self) -> ArrayViewD<'_, T> {
        let (start, extents, strides) = self.0.array_parts::<T>();
        // SAFETY: every index is an element of the box, and an initialised value of `T`: the slot's memory has this
        // dtype, and was zeroed or is the user's. While this lease is alive, no live write lease overlaps the box.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(extents.strides(strides), start.cast_const()) };
        self.0.flipped().for_each(|axis| view.invert_axis(axis));
        view
    }

    /// For kernels.
    ///
    /// # Panics
    /// If `T` is not the buffer's element type.
    pub fn tensor<T: Element>(&self) -> Tensor<'_, T> {
        let Strided { extents, strides } = self.0.strided();
        // SAFETY: as in `view`, except that strides keep their signs.
        unsafe { Tensor::new(self.0.typed(), extents, strides) }
    }

    /// The bytes of the box if they are contiguous in row-major order.
    pub fn as_dense(&self) -> Option<&[u8]> {
        // SAFETY: a dense box is `bytes` initialised bytes, and nothing writes them while the lease is alive.
        self.0.dense_bytes().map(|(start, bytes)| unsafe { std::slice::from_raw_parts(start, bytes) })
    }

    /// Copies the box into `out`, of exactly its size, in row-major order.
    pub fn pack(&self, out: &mut [u8]) {
        assert!(out.len() == self.bytes(), "the target has the size of the box");
        let (start, mut done) = (self.0.start(), 0);
        self.0.for_each_run(|offset, bytes| {
            // SAFETY: the run is inside the leased box; `out` is a disjoint exclusive slice with enough room, as
            // asserted.
            unsafe { std::ptr::copy_nonoverlapping(start.offset(offset), out[done..done + bytes].as_mut_ptr(), bytes) };
            done += bytes;
        });
    }

    /// Like [`ReadLease::pack`], for boxes in sequence.
    pub fn pack_all(boxes: &[ReadLease], mut out: &mut [u8]) {
        for lease in boxes {
            let (head, tail) = out.split_at_mut(lease.bytes());
            lease.pack(head);
            out = tail;
        }
    }
}

impl WriteLease {
    pub(super) fn new(store: Arc<Store>, id: u64, place: BoxLocation) -> WriteLease {
        WriteLease(Lease { store, id, place })
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    pub fn extents(&self) -> &[usize] {
        &self.0.strided().extents
    }

    /// The box as a mutable array.
    ///
    /// # Panics
    /// If `T` is not the buffer's element type.
    pub fn view_mut<T: Element>(&mut self) -> ArrayViewMutD<'_, T> {
        let (start, extents, strides) = self.0.array_parts::<T>();
        // SAFETY: as in `ReadLease::view`, and no other lease overlaps the box. Writable slots are owned dense arrays
        // or an `ArrayViewMut`, so distinct indices are distinct elements.
        let mut view = unsafe { ArrayViewMutD::from_shape_ptr(extents.strides(strides), start) };
        self.0.flipped().for_each(|axis| view.invert_axis(axis));
        view
    }

    /// For kernels.
    ///
    /// # Panics
    /// If `T` is not the buffer's element type.
    pub fn tensor_mut<T: Element>(&mut self) -> TensorMut<'_, T> {
        let Strided { extents, strides } = self.0.strided();
        // SAFETY: as in `view_mut`, except that strides keep their signs.
        unsafe { TensorMut::new(self.0.typed(), extents, strides) }
    }

    /// The bytes of the box if they are contiguous in row-major order.
    pub fn as_dense_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: a dense box is `bytes` initialised bytes, and nothing else accesses them while the lease is alive.
        self.0.dense_bytes().map(|(start, bytes)| unsafe { std::slice::from_raw_parts_mut(start, bytes) })
    }

    /// Copies `from`, of exactly the size of the box, into it in row-major order.
    pub fn unpack(&mut self, from: &[u8]) {
        assert!(from.len() == self.bytes(), "the source has the size of the box");
        let (start, mut done) = (self.0.start(), 0);
        self.0.for_each_run(|offset, bytes| {
            // SAFETY: the run is inside the exclusively leased box; `from` is a disjoint slice with enough bytes.
            unsafe { std::ptr::copy_nonoverlapping(from[done..done + bytes].as_ptr(), start.offset(offset), bytes) };
            done += bytes;
        });
    }

    /// Like [`WriteLease::unpack`], for boxes in sequence.
    pub fn unpack_all(boxes: &mut [WriteLease], mut from: &[u8]) {
        for lease in boxes {
            let (head, tail) = from.split_at(lease.bytes());
            lease.unpack(head);
            from = tail;
        }
    }

    /// Copies a box with the same extents and element type, but possibly other strides.
    pub fn copy_from(&mut self, from: &ReadLease) {
        assert!(self.extents() == from.extents() && self.0.dtype() == from.0.dtype(), "the boxes have one shape");
        if let Some(dense) = from.as_dense() {
            self.unpack(dense);
        } else if let Some(dense) = self.as_dense_mut() {
            from.pack(dense);
        } else {
            self.copy_runs(from);
        }
    }

    fn copy_runs(&mut self, from: &ReadLease) {
        let (source, target) = (from.0.strided(), self.0.strided());
        let dims = source.dense_suffix().0.min(target.dense_suffix().0);
        let leading = target.extents.len() - dims;
        let size = self.0.dtype().size();
        let run: usize = target.extents[leading..].iter().product::<usize>() * size;
        let (read, write) = (from.0.start(), self.0.start());
        Strided::for_each_leading_of([source, target], leading, |[source, target]| {
            // SAFETY: each offset is an element's, and the `run` bytes from there are dense in both boxes, which do not
            // overlap, because a write lease excludes every other lease that overlaps its box.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    read.offset(source * size as isize),
                    write.offset(target * size as isize),
                    run,
                );
            }
        });
    }
}
