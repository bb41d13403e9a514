"""The processor, its vector instructions, its load, and the environment in which all programs run."""

import os
import pathlib
import platform
import resource
import subprocess
import sys

OTHER = "other instructions"
# Kernel of einsum-dist to the name of its instruction set.
KERNELS = {"avx2": "AVX2", "avx512": "AVX-512", "neon": "AArch64", "portable": OTHER}

# Variables by which other libraries do without AVX-512.
WITHOUT_AVX512 = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "LIBXSMM_TARGET": "hsw",
}


def cpuinfo():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    pairs = (line.partition(":")[::2] for line in lines)
    found = {}
    for name, value in pairs:
        found.setdefault(name.strip(), value.strip())
    return found


def processor():
    """The name of the processor. Names of virtual processors are often short, so the model is a part of it."""
    found = cpuinfo()
    if "model name" in found:
        return f"{found['model name']} (family {found['cpu family']}, model {found['model']})"
    return f"AArch64 (implementer {found.get('CPU implementer', '?')}, part {found.get('CPU part', '?')})"


def widest():
    """The kernel of einsum-dist for the widest vector instructions of this processor."""
    if platform.machine() == "aarch64":
        return "neon"
    flags = cpuinfo().get("flags", "").split()
    return next((kernel for kernel, flag in (("avx512", "avx512f"), ("avx2", "avx2")) if flag in flags), "portable")


def environment(threads, kernel):
    """As in `make bench`, all programs get huge pages from the C library, so that they have the same page size."""
    names = ("OMP", "OPENBLAS", "MKL")
    return {
        **os.environ,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        "MKL_DYNAMIC": "FALSE",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        **(WITHOUT_AVX512 if kernel == "avx2" != widest() else {}),
    }


def touch(size):
    """Has a process write to so many bytes, but not to more than three quarters of the free memory."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    code = f"import numpy; numpy.ones({int(min(size, 0.75 * free))}, 'u1')"
    subprocess.run([sys.executable, "-c", code], check=True)


def busy_seconds():
    """Processor time of all processes so far, with time that a hypervisor took, and of the children of this process."""
    fields = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    user, nice, system, _, _, irq, softirq, steal = fields
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    everything = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return everything - own.ru_utime - own.ru_stime
