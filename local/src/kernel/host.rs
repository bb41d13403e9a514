//! Describes this machine as a [`Target`].

use std::fs;
use std::sync::OnceLock;

use super::simd::widest;
use crate::local_plan::{Caches, Isa, KernelFamily, Target};

/// The target with the widest instruction set, the default family, and the threads of the current rayon pool.
pub fn host() -> Target {
    target(widest(), default_family(), rayon::current_num_threads())
}

/// Includes LIBXSMM if that generates code here.
pub fn default_family() -> KernelFamily {
    if generates() { KernelFamily::Mixed } else { KernelFamily::Own }
}

/// Tests small products, because code generation can be disabled at run time.
fn generates() -> bool {
    #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use super::xsmm::{Real, Tile};
        fn all<R: Real>() -> bool {
            let tile = |by_rows| Tile::<R>::get([16; 3], [16; 3], by_rows);
            [false, true].into_iter().all(|by_rows| tile(by_rows).is_some())
        }
        static GENERATES: OnceLock<bool> = OnceLock::new();
        *GENERATES.get_or_init(|| has_xsmm() && all::<f32>() && all::<f64>())
    }
    #[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    false
}

/// Unlike [`host`], does not start a thread pool.
pub fn target(isa: Isa, family: KernelFamily, threads: usize) -> Target {
    static CACHES: OnceLock<Caches> = OnceLock::new();
    Target { isa, family, caches: *CACHES.get_or_init(caches), threads }
}

/// Whether this build and this processor can run code of LIBXSMM.
pub fn has_xsmm() -> bool {
    #[cfg(all(feature = "libxsmm", target_arch = "x86_64"))]
    return is_x86_feature_detected!("avx");
    #[cfg(not(all(feature = "libxsmm", target_arch = "x86_64")))]
    return cfg!(all(feature = "libxsmm", target_arch = "aarch64"));
}

/// The second level is divided by the cores that share it. Systems other than Linux have the default sizes.
fn caches() -> Caches {
    let mut caches = Caches::default();
    for index in 0..8 {
        let read = |what: &str| {
            let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}"));
            text.ok().map(|text| text.trim().to_owned())
        };
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else { break };
        let Some(bytes) = size.strip_suffix('K').and_then(|size| size.parse::<usize>().ok()).map(|k| k << 10) else {
            continue;
        };
        match (level.as_str(), kind.as_str()) {
            ("1", "Data" | "Unified") => caches.l1 = bytes,
            ("2", "Data" | "Unified") => caches.l2 = bytes / sharers(read("shared_cpu_list").as_deref()),
            _ => {}
        }
    }
    caches
}

/// Counts the hardware threads in a list such as `0-3,8`, clamped to 1 to 4.
fn sharers(list: Option<&str>) -> usize {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.trim().parse::<usize>().ok()?.checked_sub(first.trim().parse().ok()?)? + 1)
    };
    list.and_then(|list| list.split(',').map(count).sum::<Option<usize>>()).unwrap_or(1).clamp(1, 4)
}

#[cfg(test)]
mod tests;
