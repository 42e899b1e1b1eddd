"""What `tl run --on` starts: runs a compiled model on the workers of an engine.

    python -m tl_runtime._run_on JOB          JOB is what cmd/tl/run_on.go writes, as JSON

With MPI every rank runs it, and rank 0 reads the inputs, writes the outputs and reports.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ._engines.model import Model


def _inputs(files: dict[str, str] | None) -> dict[str, Any]:
    import numpy

    files = files or {}
    for name, file in files.items():
        if Path(file).suffix.lower() != ".npy":
            raise ValueError(f"input {name!r}: {file}: with --on a tensor is a file that ends in .npy")
    return {name: numpy.load(file, mmap_mode="r") for name, file in files.items()}


def _save(results: tuple[Any, ...], folder: str, names: list[str]) -> None:
    import numpy

    Path(folder).mkdir(parents=True, exist_ok=True)
    for array, name in zip(results, names):
        numpy.save(Path(folder, name), array)


def _report(job: dict[str, Any], model: Model, results: tuple[Any, ...], seconds: float) -> None:
    if job["json"]:
        shapes = {t.name: list(array.shape) for t, array in zip(model.outputs, results)}
        about = {"model": model.name, "hash": model.hash, "on": job["on"], "seconds": seconds, "outputs": shapes}
        print(json.dumps(about))
        return
    print(f"{model.name}: on {job['on']} in {seconds:.3g} s")
    for tensor, array in zip(model.outputs, results):
        print(f"  {tensor.name}  {tensor.dtype} {list(array.shape)}")


def _world(on: str) -> Any:
    """All ranks of MPI; None with another engine."""
    if on != "mpi":
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def run(job: dict[str, Any]) -> None:
    """Runs a job; raises what is wrong with it."""
    world = _world(job["on"])
    root = world is None or world.Get_rank() == 0
    model = Model(job["model"], bind=job["bind"], freeze=job["freeze"], options=job["options"]) if root else None
    if world is not None:
        model = world.bcast(model)  # the first rank compiles for all
    assert model is not None
    shows = root and not job["json"] and sys.stderr.isatty() and find_spec("tqdm") is not None
    started = time.perf_counter()
    made = model.map(on=job["on"], progress=shows, **_inputs(job["inputs"] if root else None))
    seconds = time.perf_counter() - started
    if not root:
        return
    results = made if isinstance(made, tuple) else (made,)
    if job["output_folder"]:
        _save(results, job["output_folder"], job["output_names"])
    _report(job, model, results, seconds)


def main() -> None:
    """Runs the job of the command line. On failure one line says why; with MPI all ranks end."""
    job = json.loads(sys.argv[1])
    try:
        run(job)
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted\n")
        sys.exit(130)  # as a shell says of SIGINT
    except Exception as error:  # of any kind: it is what the user reads
        missing = f"; pip install {error.name}" if isinstance(error, ModuleNotFoundError) else ""
        sys.stderr.write(f"Error: {type(error).__name__}: {error}{missing}\n")  # in one write: other ranks write as well
        sys.stderr.flush()
        if "mpi4py.MPI" in sys.modules and sys.modules["mpi4py.MPI"].COMM_WORLD.Get_size() > 1:
            sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
        sys.exit(1)
    finally:
        sys.stdout.flush()


if __name__ == "__main__":
    main()
