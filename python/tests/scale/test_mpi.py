"""Tensors in mpi4py, as several processes of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", exc_type=ImportError)
MPIEXEC = os.environ.get("TL_MPIEXEC") or shutil.which("mpiexec")
if MPIEXEC is None:
    pytest.skip("there is no mpiexec", allow_module_level=True)

HERE = Path(__file__).resolve().parent
START = HERE.parents[2] / "tests_c" / "scripts" / "mpiexec.sh"
PROGRAMS = ["buffers", "halves", "views", "requests", "read_only", "objects", "windows", "memory_of_mpi"]


def as_processes(number: int, *command: str) -> str:
    """What a program prints on all of them; a failure shows it."""
    assert MPIEXEC is not None
    result = subprocess.run(
        ["sh", str(START), MPIEXEC, str(number), *command],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_between_processes(program: str, processes: int) -> None:
    said = as_processes(processes, sys.executable, "-m", "mpi4py", str(HERE / "mpi_ranks.py"), program)
    assert said.count("well") == processes


def test_training() -> None:
    """The weights are the same whatever number of processes trains, to the last bit."""
    pytest.importorskip("numpy")
    program, weights = HERE.parents[2] / "examples" / "mpi" / "digits_mpi.py", set()
    for processes in (1, 2, 3, 4):
        said = as_processes(processes, sys.executable, "-m", "mpi4py", str(program))
        assert f"processes {processes}, shards 4" in said and "objects leaked 0" in said
        weights.add(re.search(r"^exact .* weights ([0-9a-f]+)", said, re.MULTILINE)[1])  # type: ignore[index]
    assert len(weights) == 1
