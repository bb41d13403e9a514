#!/usr/bin/env python3
"""Kills runs with a checkpoint at random moments, starts them again until they end, and compares their results.

    tests/checkpoints.py PROGRAM [--launcher "mpirun.mpich"] [--ranks N] [--kills 20] [--seed 27]

Each trial starts a run of more than a hundred slices, kills it with SIGKILL, and starts it again, until it ends or has
been killed five times; then it may end. The result must have the bits of an undisturbed run, no other file may remain,
and in some trials the last run must have continued from a checkpoint. Without --launcher, ranks are threads of the
process. With --launcher, the signal is sent to one rank, to all ranks, or to the launcher and all ranks.

Prints a line for each failure, followed by `N passed, M failed`. The exit code is 1 if a test failed.
"""

import argparse
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

SLICED = ["[ak,bk->ab],bd->ad", "-sa=4000,b=4000,k=5,d=1", "-t1", "--kernel=reference", "-oc.npy"]
SAVING = ["--checkpoint=state", "--checkpoint-every=0.01"]
QUIET = dict(stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Trial:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder / "files"
        self.folder.mkdir()
        self.environment = dict(os.environ, EINSUM_DIST_RATES="default", EINSUM_DIST_CACHE=str(folder / "cache"))
        self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_orte_tmpdir_base": str(folder)}
        ranks = str(arguments.ranks)
        here = [arguments.program, *SLICED, "-n", ranks]
        limit = self.planned(here, "1GiB")["peak_bytes"]["planned"]
        for permille in (20, 15, 12, 10, 8, 7, 6, 5):
            report = self.planned(here, str(limit * permille // 1000))
            if report and report["slices"] > 100:
                break
        else:
            sys.exit("no memory limit leads to a hundred slices")
        limited = [f"--memory-limit={limit * permille // 1000}"]
        launched = [*shlex.split(arguments.launcher), "-n", ranks, arguments.program, *SLICED] if arguments.launcher else here
        self.command = launched + limited

    def planned(self, here, limit):
        command = [*here, "--explain", "--json", SAVING[0], "--memory-limit", limit]
        ended = subprocess.run(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, **QUIET)
        return json.loads(ended.stdout) if ended.returncode == 0 else None

    def start(self, flags=SAVING):
        command = self.command + flags
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, process_group=0, stdout=subprocess.PIPE, text=True, **QUIET)

    def ranks(self, launcher):
        found, below = [], [launcher]
        while below:
            parent = below.pop()
            try:
                children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            except OSError:
                continue
            below += [int(child) for child in children]
            for child in children:
                try:
                    words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                    if SLICED[0].encode() in words and os.path.samefile(f"/proc/{child}/exe", self.arguments.program):
                        found.append(int(child))
                except OSError:
                    pass
        return found

    def kill(self, run):
        whom = [run.pid]
        if self.arguments.launcher:
            ranks = self.ranks(run.pid)
            whom = random.choice([ranks[-1:], ranks, [run.pid, *ranks]])
        for process in whom:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        run.communicate()

    def survives(self, seconds, result, most):
        """Returns the number of kills, whether the last run continued, and a list of faults."""
        for name in self.folder.iterdir():
            name.unlink()
        kills = 0
        while True:
            run = self.start()
            if kills < most:
                try:
                    run.wait(timeout=random.uniform(0, 0.9 * seconds))
                except subprocess.TimeoutExpired:
                    self.kill(run)
                    kills += 1
                    continue
            out, _ = run.communicate()
            faults = [f"exit code {run.returncode}"] if run.returncode != 0 else []
            until = time.monotonic() + 5
            while (names := [path.name for path in self.folder.iterdir()]) != ["c.npy"] and time.monotonic() < until:
                time.sleep(0.05)
            if names != ["c.npy"]:
                faults.append(f"the files are {names}")
            elif (self.folder / "c.npy").read_bytes() != result:
                faults.append("the result has other bits")
            return kills, "slices are from the checkpoint" in out, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--launcher")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=27)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="einsum-dist-checkpoints-"))
    kills, trials, continued, failures = 0, 0, 0, 0
    try:
        trial = Trial(arguments, folder)
        started = time.monotonic()
        run = trial.start(SAVING[:1])
        run.communicate()
        seconds = time.monotonic() - started
        assert run.returncode == 0, f"the run fails without any signal: {trial.command}"
        result = (trial.folder / "c.npy").read_bytes()
        # A trial without a kill counts as well, so the loop ends even if runs are shorter than expected.
        while kills < arguments.kills and trials < 3 * arguments.kills:
            more, resumed, faults = trial.survives(seconds, result, min(5, arguments.kills - kills))
            kills, trials, continued = kills + more, trials + 1, continued + resumed
            if faults:
                failures += 1
                print(f"trial {trials} after {more} kills: {'; '.join(faults)}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if kills < arguments.kills or not continued:
        failures += 1
        print(f"{kills} kills, and {continued} of {trials} runs continued from a checkpoint")
    print(f"{kills} kills in {trials} trials, of which {continued} ended from a checkpoint; a run takes {seconds:.2f} s")
    print(f"{trials - min(failures, trials)} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
