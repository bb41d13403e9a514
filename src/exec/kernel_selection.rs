//! Resolves a plan's kernel choice.
//!
//! Invariant: a [`ResolvedKernel`] can run on this machine, in this build, for its element type. A prescribed kernel is
//! never replaced.

use crate::dtype::Dtype;
use crate::kernel::{available, default_family, has_xsmm, target, widest};
use crate::local_plan::{Isa, KernelFamily, Target};
use crate::plan::KernelChoice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedKernel {
    Planned {
        isa: Isa,
        family: KernelFamily,
    },
    /// Unoptimised loops over all indices.
    Reference,
}

/// A prescribed kernel cannot run on this machine or in this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel {} is not available: {why} (available: {})", kernel.name(), names(available))]
pub struct KernelError {
    /// The prescribed kernel.
    pub kernel: KernelChoice,
    /// Why it cannot run.
    pub why: String,
    /// The kernels that can.
    pub available: Vec<KernelChoice>,
}

fn names(choices: &[KernelChoice]) -> String {
    choices.iter().map(|choice| choice.name()).collect::<Vec<_>>().join(", ")
}

impl ResolvedKernel {
    /// # Errors
    /// If the kernel cannot run on this machine, in this build, or for this element type.
    pub fn resolve(kernel: KernelChoice, dtype: Dtype) -> Result<ResolvedKernel, KernelError> {
        find(kernel, dtype).map_err(|why| {
            let others = KernelChoice::ALL.into_iter().filter(|&other| find(other, dtype).is_ok());
            KernelError { kernel, why, available: others.collect() }
        })
    }

    /// In reports, before any contraction is planned.
    pub const fn name(self) -> &'static str {
        match self {
            ResolvedKernel::Planned { family: KernelFamily::Xsmm, .. } => "xsmm",
            ResolvedKernel::Planned { isa, family: KernelFamily::Own | KernelFamily::Mixed } => isa.name(),
            ResolvedKernel::Reference => "reference",
        }
    }

    /// In reports, if LIBXSMM (`xsmm`) and this crate's kernels (`own`) run any contraction.
    pub const fn name_of(self, xsmm: bool, own: bool) -> &'static str {
        match self {
            ResolvedKernel::Planned { isa, family: KernelFamily::Mixed } if xsmm => match (own, isa) {
                (false, _) => "xsmm",
                (true, Isa::Avx512) => "avx512+xsmm",
                (true, Isa::Avx2) => "avx2+xsmm",
                (true, Isa::Neon) => "neon+xsmm",
                (true, Isa::Generic) => "generic+xsmm",
            },
            _ => self.name(),
        }
    }

    /// The target of local plans on `threads` threads; `None` for the reference kernel.
    pub fn target(self, threads: usize) -> Option<Target> {
        match self {
            ResolvedKernel::Planned { isa, family } => Some(target(isa, family, threads)),
            ResolvedKernel::Reference => None,
        }
    }

    /// For all operations except contractions.
    pub(super) fn isa(self) -> Isa {
        match self {
            ResolvedKernel::Planned { isa, .. } => isa,
            ResolvedKernel::Reference => widest(),
        }
    }
}

fn find(kernel: KernelChoice, dtype: Dtype) -> Result<ResolvedKernel, String> {
    let own = |isa| ResolvedKernel::Planned { isa, family: KernelFamily::Own };
    let forced = |isa| if available(isa) { Ok(own(isa)) } else { Err(missing(isa)) };
    match kernel {
        KernelChoice::Auto => Ok(ResolvedKernel::Planned { isa: widest(), family: default_family() }),
        KernelChoice::Portable => Ok(own(widest())),
        KernelChoice::Avx2 => forced(Isa::Avx2),
        KernelChoice::Avx512 => forced(Isa::Avx512),
        KernelChoice::Neon => forced(Isa::Neon),
        KernelChoice::Reference => Ok(ResolvedKernel::Reference),
        KernelChoice::Xsmm if !cfg!(feature = "libxsmm") => {
            Err("this build has no LIBXSMM (build with `--features libxsmm`)".to_owned())
        }
        KernelChoice::Xsmm if dtype.is_complex() => Err(format!("LIBXSMM has no complex kernels, as for {dtype}")),
        KernelChoice::Xsmm if !has_xsmm() => Err("LIBXSMM generates no code for this processor".to_owned()),
        KernelChoice::Xsmm => Ok(ResolvedKernel::Planned { isa: widest(), family: KernelFamily::Xsmm }),
    }
}

fn missing(isa: Isa) -> String {
    let (architecture, instructions) = match isa {
        Isa::Avx2 => ("x86_64", "AVX2 with FMA"),
        Isa::Avx512 => ("x86_64", "AVX-512 F, VL, DQ and BW"),
        Isa::Neon | Isa::Generic => ("aarch64", "NEON"),
    };
    match std::env::consts::ARCH {
        here if here == architecture => format!("this processor has no {instructions}"),
        here => format!("{instructions} is of {architecture} processors, this one is {here}"),
    }
}

#[cfg(test)]
mod tests;
