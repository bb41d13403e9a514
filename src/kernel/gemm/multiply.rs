//! Which code multiplies a register tile: a micro-kernel of this crate, or one that LIBXSMM has generated.

use super::super::Element;
use super::super::micro::{Call, Kernel};
use crate::local_plan::{Family, Isa, Spot};

/// The code for tiles of the sizes that came last.
pub(super) enum Multiply<T: Element> {
    Own(Own<T>),
    #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
    Xsmm(super::generated::Generated<T>),
}

impl<T: Element> Multiply<T> {
    /// For tiles of at most `vectors` by `columns`; `packed`: the columns of right lie side by side.
    pub fn new(isa: Isa, family: Family, packed: bool, [vectors, columns]: [usize; 2]) -> Self {
        match family {
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Family::Xsmm => Multiply::Xsmm(super::generated::Generated::new(packed)),
            _ => Multiply::Own(Own::new(isa, packed, [vectors, columns])),
        }
    }

    /// Computes tiles where they belong, if the code can do many at once.
    ///
    /// # Safety
    /// As [`Call`] says, for so many columns.
    #[inline(always)]
    pub unsafe fn spots(&mut self, call: &Call<T::Real>, columns: usize, spots: &[Spot]) -> bool {
        match self {
            // SAFETY: the caller's promise.
            Multiply::Own(own) => unsafe { own.call(call, columns, spots) },
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Multiply::Xsmm(_) => return false,
        }
        true
    }

    /// Computes a tile at offset 0 where it belongs, if the code can do that with this one; its rows lie side by side.
    ///
    /// # Safety
    /// As [`Call`] says, for so many columns.
    pub unsafe fn direct(&mut self, call: &Call<T::Real>, columns: usize) -> bool {
        match self {
            Multiply::Own(_) => {
                let _ = (call, columns);
                false
            }
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            // SAFETY: the caller's promise.
            Multiply::Xsmm(generated) => unsafe { generated.direct(call, columns) },
        }
    }

    /// Computes a tile at offset 0 into a dense buffer whose columns are `lead` elements apart; beta is 0.
    ///
    /// # Safety
    /// As [`Call`] says, for so many columns.
    #[inline(always)]
    pub unsafe fn tile(&mut self, call: &Call<T::Real>, columns: usize, lead: usize) {
        match self {
            // SAFETY: the caller's promise.
            Multiply::Own(own) => unsafe {
                let _ = lead;
                own.call(call, columns, &[Spot::dense(own.lanes)]);
            },
            #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
            // SAFETY: the caller's promise.
            Multiply::Xsmm(generated) => unsafe { generated.tile(call, columns, lead) },
        }
    }
}

/// Micro-kernels of this crate, looked up once for each size of tile.
pub(super) struct Own<T: Element> {
    isa: Isa,
    packed: bool,
    /// By vectors and columns, less one.
    found: [[Option<Kernel<T::Real>>; 16]; 3],
    /// Real numbers of a vector.
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
    /// As [`Call`] says, for so many columns.
    #[inline(always)]
    unsafe fn call(&mut self, call: &Call<T::Real>, columns: usize, spots: &[Spot]) {
        let kernel = self.get(call, columns);
        // SAFETY: the caller's promise; the kernel has the vectors and columns of the call.
        unsafe { kernel(call, spots) }
    }

    /// The kernel with the vectors and columns of a call.
    #[inline(always)]
    pub fn get(&mut self, call: &Call<T::Real>, columns: usize) -> Kernel<T::Real> {
        // Lanes are a power of two.
        let vectors = (call.rows + self.lanes - 1) >> self.lanes.trailing_zeros();
        self.found[vectors - 1][columns - 1].unwrap_or_else(|| self.find(vectors, columns))
    }
}
