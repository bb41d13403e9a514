#!/usr/bin/env python3
"""Times local contractions of this library and of its peers, alternating, and writes tables under benches/results/.

    peers.py [--only SUITE,..] [--threads 1,2] [--kernel NAME] [--quick]

Ours runs in a server process (benches/local.rs), the peers in this one; `make bench` sets up both. In every round each
contender rests until the threads of the one before sleep, runs once untimed, then timed for a while. A process is
started per number of threads, as most libraries read it once.

Both processes ask the C library for huge pages, as NumPy does for its own arrays, so that nobody's pages are larger.
"""

import argparse
import ctypes
import glob
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import report
import suites

ROOT = Path(__file__).parent.parent

# How long a thread of a peer may look for work before it sleeps, in milliseconds, and how long to wait for that.
KMP_BLOCKTIME = "10"
REST = 0.05


def environment(threads):
    names = ("OMP", "OPENBLAS", "MKL", "TBLIS", "BLIS", "NUMEXPR")
    return {
        **os.environ,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        "KMP_BLOCKTIME": KMP_BLOCKTIME,
        "OPENBLAS_THREAD_TIMEOUT": "24",
        "LD_BIND_NOW": "1",
        "MKL_DYNAMIC": "FALSE",
        "MKL_THREADING_LAYER": "INTEL",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


class Server:
    """Ours."""

    def __init__(self, program, threads):
        self.process = subprocess.Popen(
            [program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the server has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise LookupError(answer["error"])
        return answer

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Ours:
    """A slot of the server."""

    def __init__(self, server, slot, what, case, kernel=None):
        self.server, self.slot = server, slot
        expression, order = suites.nested(case)
        request = dict(
            what=what,
            expression=expression,
            operands=[(case.operands[at], seed(at)) for at in order],
            out=case.out,
            extents=case.extents,
            dtype=case.dtype,
            kernel=kernel,
        )
        self.kernel = server.ask(do="prepare", slot=slot, case=request)["kernel"]

    def run(self, seconds):
        return self.server.ask(do="run", slot=self.slot, seconds=seconds)["seconds"]

    def sample(self):
        return [complex(*value) for value in self.server.ask(do="sample", slot=self.slot, count=SAMPLES)["values"]]

    def close(self):
        self.server.ask(do="drop", slot=self.slot)


class Peer:
    """A function of this process; its result is an array, or lies in `out`."""

    def __init__(self, call, out=None):
        self.call, self.out = call, out

    def run(self, seconds):
        times, first = [], time.perf_counter()
        while not times or time.perf_counter() - first < seconds:
            start = time.perf_counter()
            result = self.call()
            times.append(time.perf_counter() - start)
        self.result = self.out if self.out is not None else result
        del result
        return times

    def sample(self):
        values = np.ascontiguousarray(np.asarray(self.result)).reshape(-1)
        self.result = None
        return [complex(values[place(i, values.size)]) for i in range(SAMPLES)]

    def close(self):
        self.call = self.out = self.result = None


SAMPLES = 200


def place(i, size):
    return (i * 0x9E3779B97F4A7C15 % 2**64) * size >> 64


def seed(operand):
    return operand * 0x01000193


def noise(count, first, step):
    """The operands of benches/local.rs."""
    h = np.arange(count, dtype=np.uint32)
    h *= np.uint32(step)
    h += np.uint32(first)
    h *= np.uint32(0x9E3779B1)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h >>= np.uint32(8)
    return h / 2.0**24 - 0.5


def array(case, operand):
    labels = case.operands[operand]
    shape, first = [case.extents[label] for label in labels], seed(operand)
    values = noise(case.size(labels), first, 2)
    if case.dtype[0] == "c":
        values = values + 1j * noise(case.size(labels), first + 1, 2)
    return values.astype(DTYPES[case.dtype]).reshape(shape)


class Peers:
    """Every library that is there; `missing` says why one is not."""

    def __init__(self, threads):
        self.versions, self.missing = {}, {}
        for name in ("openblas", "torch", "tblis", "opt_einsum", "mkl"):
            try:
                self.versions[name] = getattr(self, f"load_{name}")(threads)
            except (ImportError, OSError, AttributeError, IndexError) as error:
                self.missing[name] = str(error).splitlines()[0]

    def load_openblas(self, threads):
        libs = Path(np.__file__).parent.parent / "numpy.libs"
        self.openblas_library = ctypes.CDLL(glob.glob(str(libs / "libscipy_openblas*"))[0])
        self.openblas_suffix = "64_" if "openblas64" in self.openblas_library._name else ""
        tell = getattr(self.openblas_library, f"scipy_openblas_get_config{self.openblas_suffix}")
        tell.restype = ctypes.c_char_p
        return f"NumPy {np.__version__} with {tell().decode()}"

    def load_mkl(self, threads):
        folders = (Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin")
        found = lambda name: [path for folder in folders for path in sorted(glob.glob(str(folder / name)))][0]
        ctypes.CDLL(found("libiomp5.so"), mode=ctypes.RTLD_GLOBAL)
        self.mkl_library = ctypes.CDLL(found("libmkl_rt.so*"))
        text = ctypes.create_string_buffer(256)
        self.mkl_library.mkl_get_version_string(text, 256)
        return text.value.decode().strip().removesuffix(" for Intel(R) 64 architecture applications")

    def load_torch(self, threads):
        import torch

        self.torch_module = torch
        torch.set_num_threads(threads)
        mkl = [line.strip(" -") for line in torch.__config__.show().splitlines() if "Math Kernel" in line]
        return f"torch {torch.__version__} with {', '.join(mkl) or 'its own BLAS'}"

    def load_tblis(self, threads):
        import importlib.metadata

        import pytblis

        self.tblis_module = pytblis
        pytblis.set_num_threads(threads)
        return f"pytblis {importlib.metadata.version('pytblis')}"

    def load_opt_einsum(self, threads):
        import opt_einsum

        self.opt_einsum_module = opt_einsum
        return f"opt_einsum {opt_einsum.__version__}"

    def make(self, name, case):
        if not hasattr(self, f"{LIBRARY.get(name, name)}_{'library' if name in BLAS else 'module'}"):
            raise LookupError("not installed")
        operands = [array(case, at) for at in range(len(case.operands))]
        return getattr(self, name)(case, *operands)

    def empty(self, case):
        return np.empty([case.extents[label] for label in case.out], DTYPES[case.dtype])

    def torch(self, case, *operands):
        tensors = [self.torch_module.from_numpy(operand) for operand in operands]
        if len(tensors) == 1:
            # einsum would return a view.
            out = self.torch_module.from_numpy(self.empty(case))
            view = self.torch_module.einsum(case.expression, *tensors)
            return Peer(lambda: out.copy_(view), out)
        if case.path:
            contract = self.opt_einsum_module.contract
            return Peer(lambda: contract(case.expression, *tensors, optimize=case.path))
        return Peer(lambda: self.torch_module.einsum(case.expression, *tensors))

    def torch_bmm(self, case, a, b):
        a, b, out = (self.torch_module.from_numpy(x) for x in (a, b, self.empty(case)))
        return Peer(lambda: self.torch_module.bmm(a, b, out=out), out)

    def tblis(self, case, *operands):
        if case.path:
            path = ["einsum_path", *(tuple(pair) for pair in case.path)]
            return Peer(lambda: self.tblis_module.einsum(case.expression, *operands, optimize=path))
        out = self.empty(case)
        return Peer(lambda: self.tblis_module.contract(case.expression, *operands, out=out), out)

    def numpy(self, case, *operands):
        """np.matmul for plain products, else opt_einsum."""
        if case.expression == "mk,kn->mn":
            return self.numpy_matmul(case, *operands)
        contract, optimize = self.opt_einsum_module.contract, case.path or True
        return Peer(lambda: contract(case.expression, *operands, optimize=optimize))

    def numpy_matmul(self, case, a, b):
        out = self.empty(case)
        return Peer(lambda: np.matmul(a, b, out=out), out)

    def numpy_einsum(self, case, *operands):
        """What NumPy has for each of the bandwidth-bound cases."""
        out = self.empty(case)
        if len(operands) == 1:
            view = np.einsum(case.expression, *operands)
            return Peer(lambda: np.copyto(out, view), out)
        a, b = operands
        call = {
            "mk,k->m": lambda: np.matmul(a, b, out=out),
            "i,i->": lambda: np.dot(a, b, out=out),
            "i,j->ij": lambda: np.multiply.outer(a, b, out=out),
            "cij,cij->cij": lambda: np.multiply(a, b, out=out),
        }[case.expression]
        return Peer(call, out)

    def openblas(self, case, a, b):
        function = f"scipy_cblas_{LETTER[case.dtype]}gemm{self.openblas_suffix}"
        integer = ctypes.c_int64 if self.openblas_suffix else ctypes.c_int
        return self.cblas(getattr(self.openblas_library, function), integer, case, a, b)

    def mkl(self, case, a, b):
        return self.cblas(getattr(self.mkl_library, f"cblas_{LETTER[case.dtype]}gemm"), ctypes.c_int, case, a, b)

    def cblas(self, function, integer, case, a, b):
        m, n, k = (case.extents[label] for label in "mnk")
        out = self.empty(case)
        one, zero = scalar(1, case.dtype), scalar(0, case.dtype)
        place = lambda x: ctypes.c_void_p(x.ctypes.data)
        head = [ctypes.c_int(x) for x in (ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE)]
        sizes = [integer(x) for x in (m, n, k)]
        arguments = (*head, *sizes, one, place(a), sizes[2], place(b), sizes[1], zero, place(out), sizes[1])
        function.restype = None
        # The arrays live as long as the closure.
        return Peer(lambda keep=(a, b): function(*arguments), out)

    def mkl_batch(self, case, a, b):
        m, n, k, count = (case.extents[label] for label in "mnkb")
        out = self.empty(case)
        place, integer, long = (lambda x: ctypes.c_void_p(x.ctypes.data)), ctypes.c_int, ctypes.c_int
        head = [integer(x) for x in (ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k)]
        arguments = (
            *(*head, scalar(1, case.dtype), place(a), integer(k), long(m * k), place(b), integer(n), long(k * n)),
            *(scalar(0, case.dtype), place(out), integer(n), long(m * n), integer(count)),
        )
        function = getattr(self.mkl_library, f"cblas_{LETTER[case.dtype]}gemm_batch_strided")
        function.restype = None
        return Peer(lambda keep=(a, b): function(*arguments), out)


ROW_MAJOR, NO_TRANSPOSE = 101, 111
LETTER = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
BLAS = ("openblas", "mkl", "mkl_batch")
LIBRARY = {
    "mkl_batch": "mkl",
    "torch_bmm": "torch",
    "numpy": "opt_einsum",
    "numpy_matmul": "opt_einsum",
    "numpy_einsum": "opt_einsum",
}


def scalar(value, dtype):
    if dtype == "f32":
        return ctypes.c_float(value)
    if dtype == "f64":
        return ctypes.c_double(value)
    kind = ctypes.c_float if dtype == "c64" else ctypes.c_double
    return ctypes.byref((kind * 2)(value, 0))


class Timer:
    """The rounds of one process."""

    def __init__(self, arguments):
        self.peers = Peers(arguments.threads)
        self.server = Server(arguments.server, arguments.threads)
        self.serial = Server(arguments.server, 1)
        self.kernel = arguments.kernel or None
        self.rounds, self.seconds = (3, 0.06) if arguments.quick else (7, 0.2)
        # The largest share of a processor that the peers had while ours ran, and the other way round.
        self.disturbance = [0.0, 0.0]

    def contender(self, slot, name, case):
        binary = "contract" if len(case.operands) == 2 else "program" if case.path else "unary"
        match name:
            case "ours":
                return Ours(self.server, slot, binary, case, self.kernel)
            case "ours_1":
                return Ours(self.serial, slot, binary, case, self.kernel)
            case "stream" | "libxsmm":
                return Ours(self.server, slot, name, case)
        return self.peers.make(name, case)

    def measure(self, case):
        contenders, notes = {}, {}
        for slot, name in enumerate(case.contenders):
            try:
                contenders[name] = self.contender(slot, name, case)
            except LookupError as error:
                notes[name] = str(error)
        times = {name: [] for name in contenders}
        spent = dict.fromkeys(contenders, 0.0)
        for round in range(self.rounds):
            names = list(contenders)
            for name in names[round % len(names) :] + names[: round % len(names)]:
                # What takes long needs fewer rounds, and no warmth.
                if round >= 2 and spent[name] > 6 * self.rounds * self.seconds:
                    continue
                first = time.perf_counter()
                times[name] += self.turn(contenders[name], warm=not times[name] or min(times[name]) < 1)
                spent[name] += time.perf_counter() - first
                if round == 0:
                    self.check(case, name, contenders)
        for contender in contenders.values():
            contender.close()
        return times, notes

    def turn(self, contender, warm):
        time.sleep(REST)
        if warm:
            contender.run(0.0)
        ours = isinstance(contender, Ours)
        others = time.process_time if ours else self.server.processor_seconds
        before, start = others(), time.perf_counter()
        times = contender.run(self.seconds)
        share = (others() - before) / (time.perf_counter() - start)
        if sum(times) > 0.1:
            self.disturbance[not ours] = max(self.disturbance[not ours], share)
        return times

    def check(self, case, name, contenders):
        """Everyone computes the same; the first contender that was checked is what others are compared with."""
        if name == "stream":
            return
        sample = np.array(contenders[name].sample())
        if not hasattr(case, "expected"):
            case.expected = sample
            return
        scale = float(np.sqrt(np.mean(np.abs(case.expected) ** 2))) or 1.0
        error = float(np.max(np.abs(sample - case.expected))) / scale
        bound = 1e-3 if case.dtype in ("f32", "c64") else 1e-10
        if not error < bound:
            raise SystemExit(f"{case.expression} {case.extents}: {name} differs by {error:.1e}")

    def suite(self, suite, threads):
        rows = []
        for case in suites.cases(suite):
            times, notes = self.measure(case)
            for name, all_times in times.items():
                best, median = min(all_times), statistics.median(all_times)
                rows.append(report.Row(suite, case, threads, name, best, median, len(all_times)))
            ours = next((row for row in rows if row.name == case.name and row.contender == "ours"), None)
            shown = [f"{row.contender} {row.rate:.1f}" for row in rows[-len(times) :]]
            shown += [f"{name}: {why}" for name, why in notes.items()]
            print(f"{suite:10} {threads} {case.dtype:4} {case.name:16} {case.unit}: {', '.join(shown)}", flush=True)
        return rows


def child(arguments):
    timer = Timer(arguments)
    for what, text in [*timer.peers.versions.items(), *timer.peers.missing.items()]:
        print(f"{what}: {text}")
    for suite in arguments.only:
        if arguments.threads in suites.THREADS.get(suite, (arguments.threads,)):
            rows = timer.suite(suite, arguments.threads)
            facts = dict(peers=timer.peers.versions, missing=timer.peers.missing, disturbance=timer.disturbance)
            report.write(rows, suite, arguments, facts)


def server():
    """Builds the server and finds it."""
    command = ["cargo", "bench", "--no-run", "--bench", "local", "--message-format=json-render-diagnostics"]
    command += os.environ.get("SERVER_FLAGS", "").split()
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    built = (json.loads(line) for line in lines)
    return [made["executable"] for made in built if made.get("executable") and made["target"]["name"] == "local"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="all", help=f"of: {', '.join(suites.SUITES)}")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--kernel", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--server", help="the built server; without it, it is built")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.only = list(suites.SUITES) if arguments.only == "all" else arguments.only.replace(",", " ").split()
    unknown = [suite for suite in arguments.only if suite not in suites.SUITES]
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(suites.SUITES)}")
    if arguments.child:
        arguments.threads = int(arguments.threads)
        return child(arguments)
    program = arguments.server or server()
    for threads in arguments.threads.replace(",", " ").split():
        command = [sys.executable, __file__, "--child", "--server", program, "--threads", threads]
        command += ["--only", ",".join(arguments.only), "--kernel", arguments.kernel]
        subprocess.run(command + ["--quick"] * arguments.quick, env=environment(threads), check=True)
    report.summarise()


if __name__ == "__main__":
    if "--child" in sys.argv:
        import numpy as np
    main()
