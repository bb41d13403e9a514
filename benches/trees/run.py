"""Times trees of contractions by several programs and libraries, in turns: python benches/trees/run.py FILE.cfg ...

Every turn is a new process (two of einsum-dist, because its report has one median) with the same operands in memory, and all
contract the same pairs in the same order. `first_ms` is the first contraction of the process. `warm_ms` is the median of the
contractions that follow for --seconds; with bench_tree, it is the second contraction of a process. Both are medians over the
rounds, in each of which another program is the first. `prepare_ms` is what a program does before with the tree alone, and is in
neither: einsum-dist plans and compiles, etops and bench_tree (einsum_ir's own program) optimize and compile. Other libraries
prepare in their first contraction.

Results of einsum-dist and of bench_tree are written to memory that they allocated before, whose pages the first run touches.
etops also reuses its memory. The other libraries allocate results and intermediates in each run, as their users' programs do.

The results of all are compared, except those of bench_tree, which has operands of its own. `others` is the number of
processors that other programs used, on average over the turns. If that disturbs turns, there are up to twice as many rounds,
and only quiet turns count if there are at least three.

Trees of more than 10^12 operations are left out without --full. They run in one round and once in each process, and have only
first times, except with bench_tree, which always runs twice. Each turn begins with a process that touches free memory: a
virtual machine's host may have taken this memory back, and the next process would pay for its return.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import machine
import numpy as np
import program
import results
import table
import tree as trees
from engines import ENGINES

OURS, BENCH_TREE = "einsum-dist", "einsum_ir bench_tree"
LARGE_OPERATIONS = 10**12
# Deviation of norms, and of elements in relation to the root mean square.
TOLERANCE = 1e-3
# Processors that other programs may use in a quiet turn, and the number of such turns that suffices.
QUIET, FEWEST_QUIET = 0.15, 3
DATA = pathlib.Path(__file__).parent.parent / "data" / "trees"


def write_operands(tree, folder):
    """Files with random operands, scaled such that sums have about the size of their terms. Returns their names."""
    rng = np.random.default_rng(0)
    summed = {label for term in tree.inputs for label in term} - set(tree.root.labels)
    files, arrays = [], {}
    for number, term in enumerate(tree.inputs):
        scale = tree.elements(summed.intersection(term)) ** -0.25
        values = rng.uniform(-scale, scale, [tree.sizes[label] for label in term]).astype(np.float32)
        files.append(str(pathlib.Path(folder) / f"{number:03}.npy"))
        np.save(files[-1], values)
        arrays[f"{number:03}"] = values
    np.savez(pathlib.Path(folder) / "operands.npz", **arrays)
    return files


class Timer:
    """The programs, and what they have in common."""

    def __init__(self, options):
        self.options = options
        kernel = options.kernel or machine.widest()
        # Ours is free to choose among the kernels of all instructions if none are forbidden.
        self.kernel = options.kernel or "auto"
        self.environment = machine.environment(options.threads, kernel)
        self.version = f"einsum-dist {program.version(options.program)}, commit {program.commit(DATA)}"
        self.common = {
            "processor": machine.processor(),
            "instructions": machine.KERNELS[kernel],
            "threads": options.threads,
            "date": datetime.date.today().isoformat(),
        }

    def engines(self):
        """The names of those that are installed."""
        names = [OURS, *(name for name in ENGINES if installed(name)), *([BENCH_TREE] if program.EINSUM_IR else [])]
        return [name for name in names if not self.options.engines or name in self.options.engines]

    def measure(self, file):
        """The rows of a tree."""
        tree = trees.read(file)
        rounds = 1 if tree.operations > LARGE_OPERATIONS else self.options.rounds
        names = self.engines()
        answers = {name: [] for name in names}
        with tempfile.TemporaryDirectory() as folder:
            operands = write_operands(tree, folder)
            planned = self.report(tree, operands, "--explain")
            for number in range(2 * rounds if rounds > 1 else 1):
                if number >= rounds and all(enough(found, rounds) for found in answers.values()):
                    break
                for name in names[number % len(names) :] + names[: number % len(names)]:
                    if not failed(answers[name]):
                        machine.touch(3 * planned["peak_bytes"]["planned"])
                        answers[name].append(self.turn(name, tree, file, folder, operands))
        compare(answers)
        case = {**self.common, "tree": tree.name, "gflop": f"{tree.operations / 1e9:.5g}"}
        rows = [{**case, "engine": name, **row(answers[name], rounds)} for name in names]
        return [{**found, "version": self.version} if found["engine"] == OURS else found for found in rows]

    def report(self, tree, operands, *flags):
        options = self.options
        return program.report(options.program, tree, operands, options.threads, self.kernel, self.environment, *flags)

    def turn(self, engine, tree, file, folder, operands):
        """The answer of an engine, with the number of processors that other programs used."""
        start, busy = time.perf_counter(), machine.busy_seconds()
        try:
            answer = self.answer(engine, tree, file, folder, operands)
        except RuntimeError as error:
            answer = {"note": str(error)}
        return {**answer, "others": max(machine.busy_seconds() - busy, 0.0) / (time.perf_counter() - start)}

    def answer(self, engine, tree, file, folder, operands):
        seconds = 0 if tree.operations > LARGE_OPERATIONS else self.options.seconds
        if engine == OURS:
            return program.ours(lambda *flags: self.report(tree, operands, *flags), seconds)
        if engine == BENCH_TREE:
            return program.einsum_ir(tree, self.environment)
        script = str(pathlib.Path(__file__).parent / "engines.py")
        arguments = [engine, str(file), f"{folder}/operands.npz", str(self.options.threads), str(seconds)]
        return json.loads(program.output([sys.executable, script, *arguments], self.environment))


def failed(answers):
    return any("note" in answer for answer in answers)


def quiet(answers):
    """The answers of turns in which other programs did not compute."""
    return [answer for answer in answers if answer["others"] <= QUIET]


def enough(answers, rounds):
    return failed(answers) or len(quiet(answers)) >= min(FEWEST_QUIET, rounds)


def installed(engine):
    return all(importlib.util.find_spec(package) for package in ENGINES[engine][0])


def compare(answers):
    """Replaces the answers that differ from the first engine's by a note."""
    for place in ("norm", "sample"):
        expected = None
        for name, given in answers.items():
            if place not in given[0]:
                continue
            values = np.atleast_1d(given[0][place])
            expected = values if expected is None else expected
            error = np.max(np.abs(values - expected)) / max(np.sqrt(np.mean(np.square(expected))), 1e-30)
            if not error <= TOLERANCE:
                answers[name] = [{"note": f"another result: {place} differs by {error:.1e}"}]


def row(answers, rounds):
    """The columns of an engine, from quiet turns if there are enough."""
    if failed(answers):
        return {"note": next(answer["note"] for answer in answers if "note" in answer)}
    answers = quiet(answers) if enough(answers, rounds) else answers
    warm = [statistics.median(answer["warm"]) for answer in answers if answer["warm"]]
    columns = {
        "first_ms": [answer["first"] for answer in answers if "first" in answer],
        "warm_ms": warm,
        "least_warm_ms": [min(warm)] if warm else [],
        "prepare_ms": [answer["prepare"] for answer in answers],
    }
    found = {name: f"{statistics.median(values) * 1e3:.4g}" for name, values in columns.items() if values}
    others = statistics.mean(answer["others"] for answer in answers)
    return {**found, "rounds": len(answers), "others": f"{others:.2f}", "version": answers[0].get("version", "")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", metavar="FILE.cfg", help="by default, all of benches/data/trees")
    parser.add_argument("--program", default=program.DEFAULT)
    parser.add_argument("--threads", type=int, default=2, help="of each program")
    parser.add_argument(
        "--kernel", choices=[*machine.KERNELS][:3], help="instead of the widest; avx2 restricts all programs"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn, after the first run")
    parser.add_argument("--engines", type=lambda text: text.split(","), help="only these, separated by commas")
    parser.add_argument("--full", action="store_true", help="also trees of more than 10^12 operations")
    parser.add_argument("--results", type=pathlib.Path, default=results.FILE)
    options = parser.parse_args()
    if program.EINSUM_IR and not os.access(program.EINSUM_IR, os.X_OK):
        parser.error(f"EINSUM_IR_BENCH is not a program: {program.EINSUM_IR}")
    timer = Timer(options)
    missing = [name for name in ENGINES if not installed(name)] + [BENCH_TREE] * (not program.EINSUM_IR)
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}", file=sys.stderr)
    for file in options.files or sorted(DATA.glob("*.cfg")):
        if trees.read(file).operations > LARGE_OPERATIONS and not options.full:
            print(f"{file} is left out without --full: it takes minutes", file=sys.stderr)
            continue
        rows = timer.measure(file)
        results.merge(rows, options.results)
        for found in rows:
            shown = found.get("note") or f"first {found.get('first_ms', '-')} ms, warm {found.get('warm_ms', '-')} ms"
            print(f"{found['tree']:10} {found['engine']:22} {shown}, others {found.get('others', '')}", flush=True)
    table.write(options.results)


if __name__ == "__main__":
    main()
