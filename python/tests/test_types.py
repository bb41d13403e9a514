"""The types in the package: they describe the native module, accept right programs and reject wrong ones."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")
HERE = pathlib.Path(__file__).parent


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)


def test_right_programs_are_accepted():
    checked = run("mypy", "--strict", "--no-incremental", str(HERE / "typed.py"))
    # `np.ndarray` without parameters is what users write.
    errors = [line for line in checked.stdout.splitlines() if "error:" in line and "type-arg" not in line]
    assert not errors, checked.stdout


def test_wrong_programs_are_rejected():
    wrong = HERE / "typed_wrong.py"
    checked = run("mypy", "--no-incremental", str(wrong))
    marked = {number for number, line in enumerate(wrong.read_text().splitlines(), 1) if line.endswith("# wrong")}
    found = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if "error:" in line}
    assert found == marked, checked.stdout


def test_the_stub_describes_the_native_module():
    checked = run("mypy.stubtest", "einsum_dist._einsum_dist")
    assert checked.returncode == 0, checked.stdout
