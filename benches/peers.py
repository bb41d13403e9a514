#!/usr/bin/env python3
"""A server that runs and times one of the other libraries. Usage: `peers.py torch | tblis | numpy | mkl`.

The protocol is that of benches/local.rs, except that a case contains an expression without brackets and its path. Every
library runs in its own process, because two copies of MKL or OpenMP in one process resolve each other's symbols.
"""

import ctypes
import glob
import importlib.metadata
import json
import sys
import time
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    sys.exit(print(json.dumps({"error": str(error)})))

DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
LETTER = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
ROW_MAJOR, NO_TRANSPOSE = 101, 111


class Case:
    """The operands, extents, element type and path of a case."""

    def __init__(self, request):
        self.expression, self.path = request["expression"], [tuple(pair) for pair in request["path"]]
        self.extents, self.dtype = request["extents"], request["dtype"]
        self.operands = [self.array(labels, seed) for labels, seed in request["operands"]]
        self.shape = [self.extents[label] for label in request["out"]]

    def array(self, labels, seed):
        shape = [self.extents[label] for label in labels]
        count = int(np.prod(shape))
        values = noise(count, seed)
        if self.dtype[0] == "c":
            values = values + 1j * noise(count, seed + 1)
        array = self.aligned(shape)
        array[...] = values.reshape(shape)
        return array

    def empty(self):
        return self.aligned(self.shape)

    def aligned(self, shape):
        """Returns an array that starts at a cache line, like all arrays in benches/local.rs. NumPy does not guarantee
        this alignment."""
        size = int(np.prod(shape)) * np.dtype(DTYPES[self.dtype]).itemsize
        room = np.empty(size + 64, np.uint8)
        first = -room.ctypes.data % 64
        return room[first : first + size].view(DTYPES[self.dtype]).reshape(shape)


def noise(count, first):
    """Returns the same operands as benches/local.rs."""
    h = np.arange(count, dtype=np.uint32)
    h *= np.uint32(2)
    h += np.uint32(first)
    h *= np.uint32(0x9E3779B1)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h >>= np.uint32(8)
    return h / 2.0**24 - 0.5


# The methods of a library return a function that runs a case, and the array into which this function writes. The array
# is None if the function returns its result.


class Torch:
    def __init__(self):
        import opt_einsum
        import torch

        self.library, self.opt_einsum = torch, opt_einsum

    def version(self):
        blas = [line.strip(" -") for line in self.library.__config__.show().splitlines() if "Math Kernel" in line]
        blas = [line.split(" for ")[0] for line in blas] or ["its own BLAS"]
        return f"torch {self.library.__version__} with {blas[0]}, opt_einsum {self.opt_einsum.__version__}"

    def einsum(self, case):
        """Every run allocates its result, but torch's einsum only creates a view of a permuted operand, which is copied
        into a preallocated array.

        If the case has a path, opt_einsum contracts along it."""
        operands = [self.library.from_numpy(operand) for operand in case.operands]
        if len(operands) == 1 and operands[0].ndim == len(case.shape):
            out, view = self.library.from_numpy(case.empty()), self.library.einsum(case.expression, *operands)
            return lambda: out.copy_(view), out
        if case.path:
            return lambda: self.opt_einsum.contract(case.expression, *operands, optimize=case.path), None
        return lambda: self.library.einsum(case.expression, *operands), None

    def bmm(self, case):
        a, b, out = (self.library.from_numpy(x) for x in (*case.operands, case.empty()))
        return lambda: self.library.bmm(a, b, out=out), out


class Tblis:
    def __init__(self):
        import pytblis

        self.library = pytblis

    def version(self):
        return f"pytblis {importlib.metadata.version('pytblis')}"

    def einsum(self, case):
        """Writes the result into a preallocated array, unless the case has a path."""
        if case.path:
            path = ["einsum_path", *case.path]
            return lambda: self.library.einsum(case.expression, *case.operands, optimize=path), None
        out = case.empty()
        return lambda: self.library.contract(case.expression, *case.operands, out=out), out


class Numpy:
    def __init__(self):
        import opt_einsum

        self.opt_einsum = opt_einsum
        found = glob.glob(str(Path(np.__file__).parent.parent / "numpy.libs" / "libscipy_openblas*"))
        # A NumPy that was not installed by pip may not contain its own OpenBLAS. In this case, this line raises
        # IndexError and the library is reported as missing.
        self.library = ctypes.CDLL(found[0])
        self.suffix = "64_" if "openblas64" in found[0] else ""

    def version(self):
        tell = getattr(self.library, f"scipy_openblas_get_config{self.suffix}")
        tell.restype = ctypes.c_char_p
        blas = " ".join(tell().decode().split())
        return f"NumPy {np.__version__} with {blas}, opt_einsum {self.opt_einsum.__version__}"

    def einsum(self, case):
        """Every run allocates its result."""
        optimize = case.path or True
        return lambda: self.opt_einsum.contract(case.expression, *case.operands, optimize=optimize), None

    def plain(self, case):
        """Every run allocates its result."""
        return lambda: np.einsum(case.expression, *case.operands, optimize=True), None

    def matmul(self, case):
        out = case.empty()
        return lambda: np.matmul(*case.operands, out=out), out

    def direct(self, case):
        """Calls the NumPy function that corresponds to a bandwidth-bound expression."""
        out = case.empty()
        if len(case.operands) == 1:
            view = np.einsum(case.expression, *case.operands)
            return lambda: np.copyto(out, view), out
        function = {
            "mk,k->m": np.matmul,
            "i,i->": np.dot,
            "i,j->ij": np.multiply.outer,
            "cij,cij->cij": np.multiply,
        }[case.expression]
        return lambda: function(*case.operands, out=out), out

    def blas(self, case):
        function = getattr(self.library, f"scipy_cblas_{LETTER[case.dtype]}gemm{self.suffix}")
        return cblas(function, ctypes.c_int64 if self.suffix else ctypes.c_int, case)


class Mkl:
    def __init__(self):
        folder = Path(sys.prefix) / "lib"
        ctypes.CDLL(str(folder / "libiomp5.so"), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(sorted(glob.glob(str(folder / "libmkl_rt.so*")))[0])

    def version(self):
        text = ctypes.create_string_buffer(256)
        self.library.mkl_get_version_string(text, 256)
        return " ".join(text.value.decode().split(" for ")[0].split())

    def blas(self, case):
        return cblas(getattr(self.library, f"cblas_{LETTER[case.dtype]}gemm"), ctypes.c_int, case)

    def batch(self, case):
        m, n, k, count = (ctypes.c_int(case.extents[label]) for label in "mnkb")
        square = lambda x, y: ctypes.c_int(x.value * y.value)
        one, zero = scalars(case.dtype)
        (a, b), out = case.operands, case.empty()
        arguments = (
            *(*layout(), m, n, k, one, pointer(a), k, square(m, k), pointer(b), n, square(k, n)),
            *(zero, pointer(out), n, square(m, n), count),
        )
        function = getattr(self.library, f"cblas_{LETTER[case.dtype]}gemm_batch_strided")
        function.restype = None
        return lambda: function(*arguments), out


def cblas(function, integer, case):
    m, n, k = (integer(case.extents[label]) for label in "mnk")
    one, zero = scalars(case.dtype)
    (a, b), out = case.operands, case.empty()
    arguments = (*layout(), m, n, k, one, pointer(a), k, pointer(b), n, zero, pointer(out), n)
    function.restype = None
    return lambda: function(*arguments), out


def layout():
    return [ctypes.c_int(x) for x in (ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE)]


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def scalars(dtype):
    """Returns the numbers one and zero in the form that BLAS expects."""
    real = ctypes.c_float if dtype in ("f32", "c64") else ctypes.c_double
    if dtype[0] != "c":
        return real(1), real(0)
    return ctypes.byref((real * 2)(1, 0)), ctypes.byref((real * 2)(0, 0))


class Slot:
    def __init__(self, library, request):
        # The call contains only the addresses of the operands, so the case must keep the operands alive.
        self.case = Case(request)
        self.call, self.out = getattr(library, request["what"])(self.case)
        self.result = None

    def run(self, seconds):
        times, first = [], time.perf_counter()
        while not times or time.perf_counter() - first < seconds:
            # Free the previous result first, so that no library has two results in memory.
            self.result = None
            start = time.perf_counter()
            self.result = self.call()
            times.append(time.perf_counter() - start)
        return times

    def sample(self, count):
        values = np.ascontiguousarray(np.asarray(self.result if self.out is None else self.out)).reshape(-1)
        places = [(i * 0x9E3779B97F4A7C15 % 2**64) * values.size >> 64 for i in range(count)]
        values = [complex(values[place]) for place in places]
        return [[value.real, value.imag] for value in values]


def main():
    libraries = {"torch": Torch, "tblis": Tblis, "numpy": Numpy, "mkl": Mkl}
    try:
        library, slots = libraries[sys.argv[1]](), {}
    except (ImportError, OSError, IndexError) as error:
        return print(json.dumps({"error": str(error).splitlines()[0]}))

    def answer(request):
        match request["do"]:
            case "version":
                return {"version": library.version()}
            case "prepare":
                slots[request["slot"]] = Slot(library, request["case"])
            case "run":
                return {"seconds": slots[request["slot"]].run(request["seconds"])}
            case "sample":
                return {"values": slots[request["slot"]].sample(request["count"])}
            case "drop":
                del slots[request["slot"]]
        return {}

    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
