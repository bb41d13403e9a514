"""Runs the notebooks in python/examples, whose asserts must hold.

The notebook mpi4py runs in tests/python_mpi.sh, which sets EINSUM_DIST_MPIRUN to the launcher of MPI.
"""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")
kernelspec = pytest.importorskip("jupyter_client.kernelspec")

EXAMPLES = Path(__file__).parent.parent / "examples"
PACKAGES = {
    "attention": [],
    "circuit_amplitude": ["quimb", "cotengra"],
    "coupled_cluster_terms": ["pyscf"],
    "mpi4py": [],
    "plan_and_timeline": [],
}


def test_every_notebook_is_listed():
    assert sorted(path.stem for path in EXAMPLES.glob("*.ipynb")) == sorted(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_notebooks_are_stored_without_outputs(name):
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or (not cell.outputs and cell.execution_count is None)


@pytest.mark.parametrize("name", PACKAGES)
def test_notebooks_run(name, tmp_path, monkeypatch):
    if name == "mpi4py" and "EINSUM_DIST_MPIRUN" not in os.environ:
        pytest.skip("EINSUM_DIST_MPIRUN is not set")
    for package in PACKAGES[name]:
        pytest.importorskip(package)
    # The kernel reads and writes no settings, history or connection files of the user.
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    if "EINSUM_DIST_MPIRUN" in os.environ:
        monkeypatch.setenv("MPIRUN", os.environ["EINSUM_DIST_MPIRUN"])
    # A kernel of the same name that the user has installed may belong to another interpreter.
    own = kernelspec.KernelSpecManager(kernel_dirs=[])
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        km=manager.AsyncKernelManager(kernel_name="python3", kernel_spec_manager=own),
        timeout=120,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
