//! Lists the kernels that are available on this machine.

use einsum_dist::Dtype;
use einsum_dist::kernel::{available, has_xsmm, host};
use einsum_dist::local_plan::{Caches, Isa, KernelFamily, Target};

/// Every family and instruction set that can contract this type on this machine.
pub fn kernels(dtype: Dtype) -> Vec<Target> {
    let own = Isa::ALL.into_iter().filter(|&isa| available(isa));
    let own = own.map(|isa| Target { isa, family: KernelFamily::Own, caches: Caches::default(), threads: 1 });
    let generated = (has_xsmm() && !dtype.is_complex()).then(|| Target { family: KernelFamily::Xsmm, ..host() });
    own.chain(generated).collect()
}

pub fn name(target: &Target) -> String {
    match target.family {
        KernelFamily::Own => target.isa.name().to_owned(),
        KernelFamily::Xsmm => format!("libxsmm {}", target.isa.name()),
        KernelFamily::Mixed => format!("best {}", target.isa.name()),
    }
}
