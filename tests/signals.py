#!/usr/bin/env python3
"""Sends signals at random moments to runs that write files, and checks the files that remain.

    tests/signals.py PROGRAM [--launcher "mpirun.mpich"] [--ranks N] [--runs 200] [--seed 27] [--signals INT,TERM,HUP]

Each run overwrites a result, a trace and a timeline. One run in ten starts with an empty cache (--empty-cache). After
the run, each file must be either the old or a complete new one, and no other file may be in its folder or in the cache.
The exit status of a single process must be that of the signal, or 0 if the signal arrived after the run had finished.
Without --launcher, ranks are threads of the process. With --launcher, the signal is sent to the launcher, to its
process group (as Ctrl-C does), or to one rank. Use a release build on an idle machine, because the random moments are
spread over the time of an undisturbed run.

Prints a line for each failure, followed by the statistics and `N passed, M failed`. The exit code is 1 if a test
failed. SIGHUP stops the launcher of MPICH, which then kills its ranks with SIGKILL, so that they cannot remove their
files. With --allow-leftovers-of-hup, such a run may leave a temporary file, which the next run must remove.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WRITES = ["mk,kn->mn", "-sm=1200,k=64,n=1500", "-t1", "--memory-limit", "2MB", "-q"]
WRITES += ["-o", "c.npy", "--trace", "t.json", "--timeline", "t.svg"]
OLD = b"old"
NAMES = ["c.npy", "t.json", "t.svg"]


class Trial:
    """The command, environment and folder for all runs of a configuration."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder / "files"
        self.cache = folder / "cache"
        self.session = folder / "session"
        for path in (self.folder, self.cache, self.session):
            path.mkdir()
        self.environment = dict(os.environ, EINSUM_DIST_CACHE=str(self.cache), OMPI_MCA_orte_tmpdir_base=str(self.session))
        self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        ranks = str(arguments.ranks)
        if arguments.launcher:
            self.command = [*shlex.split(arguments.launcher), "-n", ranks, arguments.program, *WRITES]
        else:
            self.command = [arguments.program, *WRITES, "-n", ranks]

    def start(self):
        # The run has its own process group, as if a shell had started it.
        quiet = subprocess.DEVNULL
        return subprocess.Popen(self.command, cwd=self.folder, env=self.environment, process_group=0, stdin=quiet, stdout=quiet, stderr=quiet)

    def whole(self):
        """Runs without a signal. Returns the seconds and the contents of the result file."""
        started = time.monotonic()
        code = self.start().wait()
        assert code == 0, f"the run fails without any signal: {self.command}"
        return time.monotonic() - started, (self.folder / "c.npy").read_bytes()

    def prepare(self, empty_cache):
        for name in NAMES:
            (self.folder / name).write_bytes(OLD)
        if empty_cache:
            shutil.rmtree(self.cache)
            self.cache.mkdir()

    def ranks(self, launcher):
        """Returns the processes of the program among the descendants of the launcher."""
        found, below = [], [launcher]
        while below:
            parent = below.pop()
            try:
                text = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text()
                children = [int(child) for child in text.split()]
            except OSError:
                continue
            below += children
            for child in children:
                try:
                    # Rank 0 may have a child process that runs the same program and removes files after a crash.
                    ranks = WRITES[0].encode() in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                    if ranks and os.path.samefile(f"/proc/{child}/exe", self.arguments.program):
                        found.append(child)
                except OSError:
                    pass
        return found

    def send(self, run, number, whom):
        if whom == "group":
            os.killpg(run.pid, number)
        elif whom == "rank":
            ranks = sorted(self.ranks(run.pid))
            if ranks:
                os.kill(random.choice(ranks), number)
        else:
            os.kill(run.pid, number)

    def unwanted_files(self):
        """Returns the existing files that must not remain after a run."""
        there = [path.name for path in self.folder.iterdir() if path.name not in NAMES]
        return there + [path.name for path in self.cache.rglob("*") if path.name.startswith(".") or ".part" in path.name]

    def settle(self):
        """Waits up to 6 s for unwanted files to disappear, because launchers may end before their ranks. Returns the
        files that remain."""
        until = time.monotonic() + 6
        while self.unwanted_files() and time.monotonic() < until:
            time.sleep(0.02)
        return self.unwanted_files()

    def faults(self, result):
        """Describes the files that are neither the old ones nor complete new ones."""
        found = []
        for name in NAMES:
            content = (self.folder / name).read_bytes() if (self.folder / name).exists() else None
            whole = content == OLD or content is not None and self.complete(name, content, result)
            if not whole:
                found.append(f"{name} is gone" if content is None else f"{name} is neither old nor new: {len(content)} bytes")
        return found

    @staticmethod
    def complete(name, content, result):
        if name == "c.npy":
            return content == result
        if name == "t.svg":
            return content.startswith(b"<svg") and content.rstrip().endswith(b"</svg>")
        try:
            json.loads(content)
            return True
        except ValueError:
            return False


def main():
    # The parent process may ignore these signals, and child processes would inherit this.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--launcher")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--signals", default="INT,TERM,HUP")
    parser.add_argument("--empty-cache", type=float, default=0.1, metavar="SHARE", help="of runs that measure rates first")
    parser.add_argument("--allow-leftovers-of-hup", action="store_true")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="einsum-dist-signals-"))
    figures = collections.Counter()
    failures = 0
    try:
        trial = Trial(arguments, folder)
        measuring, result = trial.whole()
        seconds = min(trial.whole()[0] for _ in range(3))
        for number in range(arguments.runs):
            name = random.choice(arguments.signals.split(","))
            whom = random.choice(["launcher", "group", "rank"]) if arguments.launcher else "process"
            empty_cache = random.random() < arguments.empty_cache
            moment = random.uniform(0, 1.1 * (measuring if empty_cache else seconds))
            trial.prepare(empty_cache)
            run = trial.start()
            time.sleep(moment)
            early = run.poll() is None
            if early:
                trial.send(run, getattr(signal, f"SIG{name}"), whom)
            try:
                code = run.wait(timeout=60)
            except subprocess.TimeoutExpired:
                trial.send(run, signal.SIGKILL, "group")
                code = run.wait()
                print(f"run {number}: SIG{name} to {whom} after {moment:.3f} s does not end it", flush=True)
                failures += 1
            left = trial.settle()
            excused = left and arguments.allow_leftovers_of_hup and name == "HUP" and whom in ("launcher", "group")
            if excused:
                trial.whole()
                left = trial.unwanted_files()
            wrong = trial.faults(result) + [f"{stray} is left" for stray in left]
            if not arguments.launcher and code not in (0, -getattr(signal, f"SIG{name}")):
                wrong.append(f"the status is {code}")
            if wrong:
                failures += 1
                print(f"run {number}: SIG{name} to {whom} after {moment:.3f} s: {'; '.join(wrong)}", flush=True)
                for stray in trial.folder.iterdir():
                    stray.unlink()
            kind = "removed by the next run" if excused else "in time" if early and code != 0 else "too late"
            figures[f"SIG{name} to {whom}, {kind}"] += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{arguments.runs - failures} of {arguments.runs} signals left old or complete files and nothing else; seed {arguments.seed}, "
          f"a whole run takes {seconds:.2f} s ({measuring:.2f} s with an empty cache)")
    for what, count in sorted(figures.items()):
        print(f"  {count:4} {what}")
    print(f"{arguments.runs - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
