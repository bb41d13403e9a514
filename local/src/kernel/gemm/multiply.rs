//! Selects the code for register tiles: our own micro-kernels or LIBXSMM.

use super::super::Element;
use super::super::micro::{Call, Kernel};
use crate::local_plan::{Isa, KernelFamily, TileOffsets};

pub(super) enum Multiply<T: Element> {
    Own(Own<T>),
    #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
    Xsmm(super::generated::Generated<T>),
}

impl<T: Element> Multiply<T> {
    /// Tiles have at most `vectors` by `columns`. If `packed`, `right` is in panels.
    pub fn new(isa: Isa, family: KernelFamily, packed: bool, [vectors, columns]: [usize; 2]) -> Self {
        match family {
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            KernelFamily::Xsmm => Multiply::Xsmm(super::generated::Generated::new(packed)),
            _ => Multiply::Own(Own::new(isa, packed, [vectors, columns])),
        }
    }

    /// Computes a tile for each entry of `tile_offsets`; returns false if the code computes only one per call.
    ///
    /// # Safety
    /// Same as for [`Call`], with `columns` columns.
    #[inline(always)]
    pub unsafe fn compute_tiles(&mut self, call: &Call<T::Real>, columns: usize, tile_offsets: &[TileOffsets]) -> bool {
        match self {
            // SAFETY: guaranteed by the caller.
            Multiply::Own(own) => unsafe { own.call(call, columns, tile_offsets) },
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Multiply::Xsmm(_) => return false,
        }
        true
    }

    /// Computes a tile in `out`, where its rows are contiguous; returns false if the code cannot.
    ///
    /// # Safety
    /// Same as for [`Call`], with `columns` columns.
    pub unsafe fn direct(&mut self, call: &Call<T::Real>, columns: usize) -> bool {
        match self {
            Multiply::Own(_) => {
                let _ = (call, columns);
                false
            }
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            // SAFETY: guaranteed by the caller.
            Multiply::Xsmm(generated) => unsafe { generated.direct(call, columns) },
        }
    }

    /// Computes a tile with `beta` = 0 in a buffer whose columns are `lead` elements apart.
    ///
    /// # Safety
    /// Same as for [`Call`], with `columns` columns.
    #[inline(always)]
    pub unsafe fn tile(&mut self, call: &Call<T::Real>, columns: usize, lead: usize) {
        match self {
            // SAFETY: guaranteed by the caller.
            Multiply::Own(own) => unsafe {
                let _ = lead;
                own.call(call, columns, &[TileOffsets::dense(own.lanes)]);
            },
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            // SAFETY: guaranteed by the caller.
            Multiply::Xsmm(generated) => unsafe { generated.tile(call, columns, lead) },
        }
    }
}

pub(super) struct Own<T: Element> {
    isa: Isa,
    packed: bool,
    /// By vectors and columns, each minus one.
    found: [[Option<Kernel<T::Real>>; 16]; 3],
    lanes: usize,
}

impl<T: Element> Own<T> {
    fn new(isa: Isa, packed: bool, [vectors, columns]: [usize; 2]) -> Self {
        let mut own = Own { isa, packed, found: [[None; 16]; 3], lanes: isa.vector_bytes() / size_of::<T::Real>() };
        own.find(vectors, columns);
        own
    }

    fn find(&mut self, vectors: usize, columns: usize) -> Kernel<T::Real> {
        let kernel = T::kernel(self.isa, vectors, columns, self.packed);
        self.found[vectors - 1][columns - 1] = Some(kernel);
        kernel
    }

    /// # Safety
    /// Same as for [`Call`], with `columns` columns.
    #[inline(always)]
    unsafe fn call(&mut self, call: &Call<T::Real>, columns: usize, tile_offsets: &[TileOffsets]) {
        let kernel = self.get(call, columns);
        // SAFETY: guaranteed by the caller; the kernel has this size.
        unsafe { kernel(call, tile_offsets) }
    }

    #[inline(always)]
    pub fn get(&mut self, call: &Call<T::Real>, columns: usize) -> Kernel<T::Real> {
        // A shift replaces the division by a power of two.
        let vectors = (call.rows + self.lanes - 1) >> self.lanes.trailing_zeros();
        self.found[vectors - 1][columns - 1].unwrap_or_else(|| self.find(vectors, columns))
    }
}
