//! Unit tests of `kernel_selection`.

use super::*;

#[test]
fn every_choice_is_resolved_or_explained() {
    for dtype in [Dtype::Float32, Dtype::Complex128] {
        for kernel in KernelChoice::ALL {
            assert_eq!(kernel.name().parse(), Ok(kernel));
            match ResolvedKernel::resolve(kernel, dtype) {
                Ok(contractor) => assert!(!["auto", "portable"].contains(&contractor.name())),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.starts_with(&format!("kernel {} is not available: ", kernel.name())), "{text}");
                    assert!(!error.available.contains(&kernel), "{text}");
                    assert!(text.contains("(available: auto, ") && text.ends_with(", reference)"), "{text}");
                }
            }
        }
    }
}

#[test]
fn what_ran_is_named() {
    let planned = |isa, family| ResolvedKernel::Planned { isa, family };
    let mixed = planned(Isa::Avx2, KernelFamily::Mixed);
    assert_eq!(mixed.name_of(false, false), "avx2");
    assert_eq!(mixed.name_of(false, true), "avx2");
    assert_eq!(mixed.name_of(true, false), "xsmm");
    assert_eq!(mixed.name_of(true, true), "avx2+xsmm");
    assert_eq!(planned(Isa::Avx512, KernelFamily::Xsmm).name_of(true, true), "xsmm");
    assert_eq!(planned(Isa::Avx512, KernelFamily::Own).name_of(false, true), "avx512");
    assert_eq!(ResolvedKernel::Reference.name_of(false, false), "reference");
}

#[test]
fn instructions_of_other_processors() {
    let text = |kernel| ResolvedKernel::resolve(kernel, Dtype::Float64).unwrap_err().to_string();
    if cfg!(target_arch = "x86_64") {
        assert!(text(KernelChoice::Neon).contains("NEON is of aarch64 processors, this one is x86_64"));
    } else {
        assert!(text(KernelChoice::Avx2).contains("AVX2 with FMA is of x86_64 processors, this one is "));
    }
}

#[test]
fn names_say_what_runs() {
    let planned = |isa, family| ResolvedKernel::Planned { isa, family }.name();
    assert_eq!(planned(Isa::Avx512, KernelFamily::Own), "avx512");
    assert_eq!(planned(Isa::Generic, KernelFamily::Own), "generic");
    assert_eq!(planned(Isa::Avx512, KernelFamily::Xsmm), "xsmm");
    assert_eq!(ResolvedKernel::Reference.name(), "reference");
}
