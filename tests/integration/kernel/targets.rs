//! What kernels there are on this machine.

use einsum_dist::Dtype;
use einsum_dist::kernel::{available, has_xsmm, host};
use einsum_dist::local_plan::{Caches, Family, Isa, Target};

/// Every family and instruction set that contracts this type here.
pub fn kernels(dtype: Dtype) -> Vec<Target> {
    let own = Isa::ALL.into_iter().filter(|&isa| available(isa));
    let own = own.map(|isa| Target { isa, family: Family::Own, caches: Caches::default(), threads: 1 });
    let generated = (has_xsmm() && !dtype.is_complex()).then(|| Target { family: Family::Xsmm, ..host() });
    own.chain(generated).collect()
}

pub fn name(target: &Target) -> String {
    match target.family {
        Family::Own => target.isa.name().to_owned(),
        Family::Xsmm => format!("libxsmm {}", target.isa.name()),
        Family::Mixed => format!("best {}", target.isa.name()),
    }
}
