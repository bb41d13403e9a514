#!/usr/bin/env python3
"""Measures local contractions by this library and by other libraries, and writes tables and plots to benches/results/.

    compare.py [--only SUITE,..] [--threads 1,2] [--contenders NAME,..] [--kernel NAME] [--quick]
    compare.py --report       rewrites the Markdown and the plot from the existing tables, without timing anything

Every library runs in its own server process, which uses no processor time between requests. Our server is
benches/local.rs; the servers of the other libraries run benches/peers.py. In every round, the contenders run one after
another in rotating order. Each contender waits until the threads of its predecessor sleep, runs once untimed, and then
runs timed for a fixed duration. All processes request huge pages from the C library, as NumPy does for its arrays, so
that all libraries have the same page size.
"""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import report
import suites

ROOT = Path(__file__).parent.parent

# Pause before each turn, in seconds. The pause is longer than the time for which the threads of any library spin before
# they sleep; `environment` shortens this time where possible.
REST = 0.05

SAMPLES = 200

# Maps each contender to its server process and operation.
CONTENDERS = {
    "torch": ("torch", "einsum"),
    "torch bmm": ("torch", "bmm"),
    "tblis": ("tblis", "einsum"),
    "opt_einsum": ("numpy", "einsum"),
    "numpy": ("numpy", "direct"),
    "numpy matmul": ("numpy", "matmul"),
    "numpy einsum": ("numpy", "plain"),
    "openblas": ("numpy", "blas"),
    "mkl": ("mkl", "blas"),
    "mkl batch": ("mkl", "batch"),
}


def environment(threads):
    names = ("OMP", "OPENBLAS", "MKL", "TBLIS", "BLIS")
    return {
        **os.environ,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        "KMP_BLOCKTIME": "10",
        "OPENBLAS_THREAD_TIMEOUT": "24",
        "MKL_DYNAMIC": "FALSE",
        "MKL_THREADING_LAYER": "INTEL",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


class Server:
    def __init__(self, command, threads):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = subprocess.Popen(command, env=environment(threads), **pipes)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise LookupError("has ended") from None
        line = self.process.stdout.readline()
        if not line:
            raise LookupError("has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise LookupError(answer["error"])
        return answer

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def busy_seconds():
    """Total processor time of all processes on all processors so far, including time that a hypervisor stole."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Contender:
    """A contender is a case that a server has prepared in one of its slots."""

    def __init__(self, server, slot, request):
        self.server, self.slot = server, slot
        self.answer = server.ask(do="prepare", slot=slot, case=request)

    def run(self, seconds):
        return self.server.ask(do="run", slot=self.slot, seconds=seconds)["seconds"]

    def sample(self):
        values = self.server.ask(do="sample", slot=self.slot, count=SAMPLES)["values"]
        return [complex(*value) for value in values]

    def close(self):
        self.server.ask(do="drop", slot=self.slot)


class Timer:
    """The server processes for one number of threads."""

    def __init__(self, program, threads, arguments):
        self.threads, self.kernel, self.command = threads, arguments.kernel or None, arguments.command
        self.wanted = arguments.contenders
        self.rounds, self.seconds = (3, 0.06) if arguments.quick else (7, 0.2)
        self.servers = {"ours": Server([program, str(threads)], threads)}
        self.servers["one"] = Server([program, "1"], 1)
        self.versions, self.missing = {}, {}
        wanted = [library for name, (library, _) in CONTENDERS.items() if self.wants(name)]
        for library in dict.fromkeys(wanted):
            server = Server([sys.executable, str(ROOT / "benches" / "peers.py"), library], threads)
            try:
                self.versions[library] = server.ask(do="version")["version"]
                self.servers[library] = server
            except LookupError as error:
                self.missing[library] = str(error)
        # Largest fraction of a processor that idle servers used while a different server ran.
        self.disturbance = 0.0

    def wants(self, name):
        return not self.wanted or name in self.wanted

    def close(self):
        for server in self.servers.values():
            server.close()

    def contender(self, slot, name, case):
        request = dict(expression=case.expression, path=case.path, out=case.out)
        request.update(extents=case.extents, dtype=case.dtype)
        order = range(len(case.operands))
        if name in CONTENDERS:
            library, what = CONTENDERS[name]
            if library not in self.servers:
                raise LookupError(f"{library} is not there")
        elif name in ("stream", "libxsmm"):
            library, what = "ours", name
        else:
            library, what = {"ours": "ours", "ours, 1 worker": "one"}[name], "contract"
            if case.path:
                what = "program"
                request["expression"], order = suites.nested(case)
            elif len(case.operands) == 1:
                what = "unary"
            request["kernel"] = self.kernel
        request["what"] = what
        request["operands"] = [(case.operands[at], at * 0x01000193) for at in order]
        return Contender(self.servers[library], slot, request)

    def measure(self, case):
        """Returns two dictionaries with contenders as keys. The first contains the measurements. The second
        contains the reasons why contenders did not run.

        A measurement consists of the seconds of all timed runs in each turn, the number of undisturbed turns, and the
        server's answer to `prepare`."""
        contenders, notes = {}, {}
        for slot, name in enumerate(filter(self.wants, case.contenders)):
            try:
                contenders[name] = self.contender(slot, name, case)
            except LookupError as error:
                notes[name] = str(error)
        times = {name: [] for name in contenders}
        quiet, spent = dict.fromkeys(contenders, 0), dict.fromkeys(contenders, 0.0)
        expected = None
        # If other programs disturb turns, all contenders run additional turns, up to twice the normal number.
        for at in range(2 * self.rounds):
            if at >= self.rounds and all(count >= min(3, self.rounds) for count in quiet.values()):
                break
            names = list(contenders)
            for name in names[at % len(names) :] + names[: at % len(names)]:
                # Slow contenders need fewer rounds and no warm-up run.
                if at >= 2 and spent[name] > 6 * self.rounds * self.seconds:
                    continue
                start = time.perf_counter()
                seconds, was_quiet = self.turn(contenders[name], warm=not times[name] or min(times[name][-1]) < 1)
                times[name].append(seconds)
                quiet[name] += was_quiet
                spent[name] += time.perf_counter() - start
                if at == 0 and name != "stream":
                    expected = self.check(case, name, contenders[name].sample(), expected)
        answers = {name: contender.answer for name, contender in contenders.items()}
        for contender in contenders.values():
            contender.close()
        return {name: (times[name], quiet[name], answers[name]) for name in times}, notes

    def turn(self, contender, warm):
        time.sleep(REST)
        if warm:
            contender.run(0.0)
        others = [server for server in self.servers.values() if server is not contender.server]

        def used():
            resting = sum(server.processor_seconds() for server in others)
            return resting, contender.server.processor_seconds(), busy_seconds(), time.perf_counter()

        before = used()
        times = contender.run(self.seconds)
        resting, own, all_of_them, wall = (after - earlier for earlier, after in zip(before, used()))
        if wall > 0.1:
            self.disturbance = max(self.disturbance, resting / wall)
        threads = 1 if contender.server is self.servers["one"] else self.threads
        return times, (all_of_them - own) / wall < os.cpu_count() - threads + 0.15

    def check(self, case, name, sample, expected):
        """Requires that every contender computes the same result as the first one."""
        if expected is None:
            return sample
        scale = math.sqrt(sum(abs(x) ** 2 for x in expected) / len(expected)) or 1.0
        error = max(abs(x - y) for x, y in zip(sample, expected)) / scale
        if not error < (1e-3 if case.dtype in ("f32", "c64") else 1e-10):
            raise SystemExit(f"{case.expression} {case.extents} {case.dtype}: {name} differs by {error:.1e}")
        return expected

    def suite(self, suite):
        rows = []
        for case in suites.cases(suite):
            measured, notes = self.measure(case)
            for name, (seconds, quiet, answer) in measured.items():
                kernel = answer.get("kernel", "")
                rows.append(report.row(suite, case, self.threads, name, kernel, seconds, quiet))
            shown = [f"{row['contender']} {row['rate']}" for row in rows[-len(measured) :]]
            shown += [f"{name}: {why}" for name, why in notes.items()]
            print(f"{suite} {self.threads} {case.dtype} {case.name:16} {case.unit}: {', '.join(shown)}", flush=True)
        return rows


def server():
    """Builds the server and returns the path of its executable."""
    command = ["cargo", "bench", "--no-run", "--bench", "local", "--message-format=json-render-diagnostics"]
    command += shlex.split(os.environ.get("SERVER_FLAGS", ""))
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    built = (json.loads(line) for line in lines)
    return [made["executable"] for made in built if made.get("executable") and made["target"]["name"] == "local"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="all", help=f"of: {', '.join(suites.SUITES)}")
    parser.add_argument("--threads", default="1,2")
    names = f"ours, stream, libxsmm, {', '.join(CONTENDERS)}"
    parser.add_argument("--contenders", default="", help=f"only these, of: {names}; writes nothing")
    parser.add_argument("--kernel", default="", help="force a kernel of ours")
    parser.add_argument("--quick", action="store_true", help="three short rounds")
    parser.add_argument("--server", help="the built server; without it, it is built")
    parser.add_argument("--report", action="store_true", help="time nothing")
    arguments = parser.parse_args()
    # Result files must not contain the path of a program on this machine.
    arguments.command = [text for text in sys.argv[1:] if text not in ("--server", arguments.server)]
    split = lambda text: text.replace(",", " ").split()
    arguments.contenders = [name.strip() for name in arguments.contenders.split(",") if name.strip()]
    only = list(suites.SUITES) if arguments.only in ("", "all") else split(arguments.only)
    unknown = [suite for suite in only if suite not in suites.SUITES]
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(suites.SUITES)}")
    if not arguments.report:
        program = arguments.server or server()
        for threads in map(int, split(arguments.threads)):
            wanted = [suite for suite in only if threads in suites.THREADS.get(suite, (threads,))]
            if wanted:
                timer = Timer(program, threads, arguments)
                for suite in wanted:
                    rows = timer.suite(suite)
                    # Results for a restricted set of contenders must not overwrite complete tables.
                    if not timer.wanted:
                        report.write(suite, timer, rows)
                timer.close()
    if not arguments.contenders:
        report.summarise()


if __name__ == "__main__":
    main()
