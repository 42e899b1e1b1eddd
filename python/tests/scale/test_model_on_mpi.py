"""tl.Model.map and `tl run --on mpi` under mpiexec."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from planned import TOOL, needs_tool
from small_model import rows, written

pytest.importorskip("mpi4py", reason="the package mpi4py is not installed")
pytestmark = [
    needs_tool,
    pytest.mark.skipif(shutil.which("mpiexec") is None, reason="there is no mpiexec; install Open MPI or MPICH"),
]
PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from mpi4py import MPI
import tl_runtime as tl
from small_model import rows
rank = MPI.COMM_WORLD.Get_rank()
model = tl.Model(sys.argv[1], bind={"batch": 4})
x = rows(1001) if rank == 0 else None


class Unsendable(Exception):
    def __reduce__(self):
        raise TypeError("not this one")


class Wrong:
    def __array__(self, *_, **__):
        raise Unsendable("no array")


def wrong_array():
    model.map(Wrong(), on="mpi")


def no_bar():
    sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
    model.map(x, on="mpi", progress=True)


def no_processor():
    other = tl.Model(sys.argv[1], bind={"batch": 8}) if rank == 1 else model
    if rank == 1:
        from tl_runtime._engines import model as models
        models._processor = lambda: set()
        models._check_processor = lambda *_: (_ for _ in ()).throw(ValueError("not this processor"))
    other.map(x, on="mpi")


FAILING = {"wrong array": wrong_array, "no bar": no_bar, "no processor": no_processor}
if sys.argv[2] == "dies" and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "wrong":
    try:
        model.map(np.ones((4, 2)) if rank == 0 else None, on="mpi")
    except TypeError as error:  # told by one process: mpiexec may mix the lines of several
        told = MPI.COMM_WORLD.gather(f"{rank} {error}")
        if rank == 0:
            for line in told:
                print(line)
    sys.exit()
if sys.argv[2] in FAILING:
    try:
        FAILING[sys.argv[2]]()
    except Exception as error:
        told = MPI.COMM_WORLD.gather(f"{rank} {type(error).__name__}: {error}")
        if rank == 0:
            for line in told:
                print(line)
    sys.exit()
y = model.map(x, on=MPI.COMM_WORLD, batch=20)
assert (y is None) == (rank != 0)
if rank == 0:
    assert np.array_equal(y, model(x))
    print("equal", y.shape)
"""


def mpiexec(ranks, *command):
    open_mpi = "Open" in subprocess.run(["mpiexec", "--version"], capture_output=True, text=True, check=False).stdout
    flags = ["--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"] if open_mpi else []
    return subprocess.run(
        ["mpiexec", *flags, "-n", str(ranks), *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_results_come_in_order(tmp_path, ranks):
    done = mpiexec(ranks, sys.executable, "-c", PROGRAM, written(tmp_path), "runs")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "equal (1001, 3)\n"


def test_an_error_is_raised_on_all_ranks(tmp_path):
    done = mpiexec(3, sys.executable, "-c", PROGRAM, written(tmp_path), "wrong")
    assert done.returncode == 0, done.stderr
    message = "tl.Model: the input 'x' has elements of type float64; it wants float32"
    assert sorted(done.stdout.splitlines()) == [f"{rank} {message}" for rank in range(3)]


@pytest.mark.parametrize(
    "failing, message",
    [
        ("wrong array", "RuntimeError: Unsendable: no array"),
        ("no bar", "ImportError: tl.Model.map: progress=True shows a bar by tqdm; pip install tqdm"),
        ("no processor", "ValueError: not this processor"),
    ],
)
def test_what_fails_on_one_rank_is_raised_on_all(tmp_path, failing, message):
    """Whatever it is: the other ranks do not wait for the one that has failed."""
    done = mpiexec(3, sys.executable, "-c", PROGRAM, written(tmp_path), failing)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{rank} {message}" for rank in range(3)]


COUNTED = """
import json, sys
from mpi4py import MPI
from tl_runtime import _run_on
made = []
class Counted(_run_on.Model):
    def __init__(self, *arguments, **named):
        made.append(self)
        super().__init__(*arguments, **named)
_run_on.Model = Counted
_run_on.run(json.loads(sys.argv[1]))
counts = MPI.COMM_WORLD.gather(len(made))
if counts:
    print("compiled", counts)
"""


def test_the_first_rank_compiles_for_all(tmp_path):
    np.save(tmp_path / "x.npy", rows(33))
    job = {
        "model": str(written(tmp_path)),
        "on": "mpi",
        "bind": {"batch": 4},
        "freeze": {},
        "options": [],
        "inputs": {"x": str(tmp_path / "x.npy")},
        "output_folder": "",
        "output_names": ["y.npy"],
        "json": True,
    }
    done = mpiexec(3, sys.executable, "-c", COUNTED, json.dumps(job))
    assert done.returncode == 0, done.stderr
    assert "compiled [1, 0, 0]" in done.stdout


def test_a_rank_that_dies_ends_the_job(tmp_path):
    done = mpiexec(2, sys.executable, "-c", PROGRAM, written(tmp_path), "dies")
    assert done.returncode != 0
    assert "equal" not in done.stdout
    assert "signal 9" in done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_program_runs_under_mpiexec(tmp_path, ranks):
    source, x = written(tmp_path), rows(333)
    np.save(tmp_path / "x.npy", x)
    command = [TOOL, "run", source, "--bind", "batch=4", "-i", f"x={tmp_path / 'x.npy'}", "--json"]
    here = subprocess.run([*command, "-o", tmp_path / "here"], capture_output=True, check=False, timeout=600)
    assert here.returncode == 0, here.stderr
    done = mpiexec(ranks, *command, "-o", tmp_path / "there", "--on", "mpi", "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"] == {"y": [333, 3]}
    np.testing.assert_array_equal(np.load(tmp_path / "there" / "y.npy"), np.load(tmp_path / "here" / "y.npy"))


def test_one_line_says_what_is_wrong(tmp_path):
    source = written(tmp_path)
    np.save(tmp_path / "x.npy", np.ones((4, 2)))
    command = [TOOL, "run", source, "--bind", "batch=4", "-i", f"x={tmp_path / 'x.npy'}"]
    done = mpiexec(2, *command, "--on", "mpi", "--python", sys.executable)
    assert done.returncode != 0
    line = "Error: TypeError: tl.Model: the input 'x' has elements of type float64; it wants float32"
    # Each rank says so; mpiexec may put what two of them wrote into one line.
    assert line in done.stderr, done.stderr
    assert "Error: " not in done.stderr.replace(line, ""), done.stderr
