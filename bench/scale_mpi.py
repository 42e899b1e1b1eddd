"""Measures tensors between the processes of MPI, beside NumPy's arrays on the same MPI.

    scale_mpi.py FIGURES.jsonl DIGITS_PROGRAM DIGITS.csv

Starts itself under mpiexec (TL_MPIEXEC names another one) and writes a line for each figure; report_scale.py makes
tables of them. DIGITS_PROGRAM is examples/mpi. Every message is of 100 MB. Tensors and arrays take turns, and
each time is the best one: what else runs on the machine makes a time longer, never shorter.
"""

from __future__ import annotations

import gc
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process for each core, not a thread

import numpy as np

BYTES, TURNS, ROUNDS, KINDS = 100_000_000, 9, 300, ("tensor", "pooled", "numpy")
SHARDS, SIDE, PRODUCTS = 8, 512, 6  # of the step that is worth sharing: products of matrices in each shard
HERE = pathlib.Path(__file__).resolve().parent
START = HERE.parent / "tests_c" / "scripts" / "mpiexec.sh"


def memory(key: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"^{key}:\s+(\d+)", status, re.MULTILINE)[1])


def measured(comm: Any, act: Callable[[Any], Any]) -> dict[str, dict[str, float]]:
    """Seconds until the slowest process is done, and the memory that each added at its peak, in messages; by kind."""
    things = {kind: filled(kind) for kind in KINDS}
    figures = {kind: {"seconds": math.inf, "sender": 0.0, "receiver": 0.0} for kind in KINDS}
    for turn in range(TURNS + 1):
        for kind, thing in things.items():
            gc.collect()
            comm.Barrier()
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
            before = memory("VmRSS")
            begin = time.perf_counter()
            kept = act(thing)
            taken = comm.allreduce(time.perf_counter() - begin, op=MPI.MAX)
            growth = comm.allgather((memory("VmHWM") - before) / BYTES)
            del kept
            if turn > 0:  # the first one finds no buffers of MPI's
                best = figures[kind]
                best["seconds"] = min(best["seconds"], taken)
                best["sender"], best["receiver"] = max(best["sender"], growth[0]), max(best["receiver"], growth[-1])
    return figures


def filled(kind: str) -> Any:
    """A message: all pages are there. Arrays and tensors ask for huge pages; a memory pool does with TL_HUGE_PAGES=1."""
    if kind == "numpy":
        return np.ones(BYTES // 4, np.float32)
    tensor = tl.zeros((BYTES // 4,)) if kind == "tensor" else POOL.empty((BYTES // 4,))
    tensor.numpy()[:] = 1
    return tensor


def messages(comm: Any) -> list[dict[str, Any]]:
    """Process 0 sends to process 1: memory as a buffer, and an object that has the memory."""
    beside, lines = pkl5.Intracomm(comm), []
    ways = {
        "Send of a buffer": (lambda thing: comm.Send(thing, 1), lambda thing: comm.Recv(thing, 0)),
        "send of an object, out of band": (lambda thing: beside.send(thing, 1), lambda _: beside.recv(source=0)),
        "send of an object": (lambda thing: comm.send(thing, 1), lambda _: comm.recv(source=0)),
    }
    for way, (send, receive) in ways.items():
        figures = measured(comm, send if comm.rank == 0 else receive)
        lines += [{"part": "message", "way": way, "kind": kind, **figures[kind]} for kind in KINDS]
    return lines


def latency(comm: Any) -> dict[str, Any]:
    """Half of a round trip of eight bytes, and the rates of one processor: adding, and a product of matrices."""
    word, samples = tl.zeros((1,), "float64"), []
    for _ in range(TURNS):
        comm.Barrier()
        begin = time.perf_counter()
        for _ in range(ROUNDS):
            if comm.rank == 0:
                comm.Send(word, 1)
                comm.Recv(word, 1)
            else:
                comm.Recv(word, 0)
                comm.Send(word, 0)
        samples.append((time.perf_counter() - begin) / ROUNDS / 2)
    comm.Barrier()
    adding = []
    if comm.rank == 0:
        a, b = filled("numpy"), filled("numpy")
        for _ in range(TURNS):
            begin = time.perf_counter()
            np.add(a, b, out=a)
            adding.append((time.perf_counter() - begin) / BYTES)
    comm.Barrier()
    return {"part": "link", "latency": min(samples), "adding": min(adding or [0])}


def reductions(comm: Any) -> list[dict[str, Any]]:
    figures = measured(comm, lambda thing: comm.Allreduce(MPI.IN_PLACE, thing))
    return [{"part": "allreduce", "processes": comm.size, "kind": kind, **figures[kind]} for kind in KINDS]


def step(comm: Any) -> dict[str, Any]:
    """A training step with work for each shard, whose gradients are reduced while the next shard is computed."""
    size, rank = comm.size, comm.rank
    own = range(rank * SHARDS // size, (rank + 1) * SHARDS // size)
    left, right = (np.ones((SIDE, SIDE), np.float32) for _ in range(2))
    gradients = [tl.zeros((SIDE, SIDE)) for _ in range(SHARDS // size)]
    samples, waited = [], []
    for _ in range(5 * TURNS):
        comm.Barrier()
        begin = time.perf_counter()
        requests = []
        for gradient, _ in zip(gradients, own):
            for _ in range(PRODUCTS):
                np.matmul(left, right, out=gradient.numpy())
            requests.append(comm.Iallreduce(MPI.IN_PLACE, gradient))
        computed = time.perf_counter()
        MPI.Request.Waitall(requests)
        end = time.perf_counter()
        samples.append(comm.allreduce(end - begin, op=MPI.MAX))
        waited.append(comm.allreduce(end - computed) / size)
    bytes_sent = len(gradients) * SIDE * SIDE * 4
    return {"part": "step", "processes": size, "seconds": min(samples),
            "waited": waited[samples.index(min(samples))], "bytes": bytes_sent, "messages": len(gradients)}


def as_process(output: str) -> None:
    """What each process of mpiexec does; process 0 writes."""
    comm = MPI.COMM_WORLD
    lines = [latency(comm), *messages(comm)] if comm.size == 2 else []
    if comm.size > 1:
        lines += reductions(comm)
    lines.append(step(comm))
    if comm.rank == 0:
        with open(output, "a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


def mpiexec(processes: int, *command: str) -> str:
    start = ["sh", str(START), os.environ.get("TL_MPIEXEC", "mpiexec"), str(processes)]
    env = {**os.environ, "TL_MPI_SECONDS": "300", "TL_HUGE_PAGES": "1"}
    return subprocess.run([*start, *command], check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def trainings(program: str, data: str) -> list[dict[str, Any]]:
    lines = []
    for processes in (1, 2, 4):
        said = [mpiexec(processes, program, data) for _ in range(5)]
        for way in ("exact", "reduced"):
            seconds = [float(re.search(rf"^{way} .* ([0-9.]+) s$", text, re.MULTILINE)[1]) for text in said]
            lines.append({"part": "digits", "processes": processes, "way": way, "seconds": min(seconds)})
    return lines


def model(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds of a step by latency, bandwidth and the rate of adding: where it was measured, and with more ranks.

    A reduction of m bytes over n processes takes 2 log2(n) messages, sends 2 m (n - 1) / n bytes and adds half of them.
    Processes beyond the cores of the machine share them. Ranks beyond have a core and a link each.
    """
    link = next(line for line in lines if line["part"] == "link")
    message = next(line for line in lines if line["part"] == "message" and line["kind"] == "tensor")
    alone = next(line for line in lines if line["part"] == "step" and line["processes"] == 1)
    steps = {line["processes"]: line["seconds"] for line in lines if line["part"] == "step"}
    per_byte, cores, gradient = message["seconds"] / BYTES, os.cpu_count() or 1, SIDE * SIDE * 4

    def reduction(n: int) -> float:
        share = (n - 1) / n
        return 2 * math.log2(n) * link["latency"] + share * gradient * (2 * per_byte + link["adding"])

    made = []
    for n in (2, 4, 8, 64, 1024):
        count = max(1, SHARDS // n)
        crowded = max(1, n / cores) if n in steps else 1
        strong = crowded * (alone["seconds"] / min(n, SHARDS) + count * reduction(n)) if n <= SHARDS else None
        weak = alone["seconds"] / SHARDS / (alone["seconds"] / SHARDS + reduction(n))  # a shard for each rank
        made.append({"part": "model", "processes": n, "seconds": strong, "measured": steps.get(n), "weak": weak,
                     "reduction": reduction(n)})
    return made


def main(output: str, program: str, data: str) -> None:
    pathlib.Path(output).write_text("")
    for processes in (1, 2, 4):
        mpiexec(processes, sys.executable, "-m", "mpi4py", __file__, "--process", output)
    lines = [json.loads(line) for line in pathlib.Path(output).read_text().splitlines()]
    more = [*trainings(program, data), *model(lines), {"part": "machine", "cores": os.cpu_count()}]
    with open(output, "a") as file:
        file.writelines(json.dumps(line) + "\n" for line in more)


if __name__ == "__main__":
    if sys.argv[1] == "--process":
        import tl_runtime as tl
        from mpi4py import MPI
        from mpi4py.util import pkl5

        POOL = tl.MemoryPool("cpu")
        as_process(sys.argv[2])
    else:
        main(*sys.argv[1:])
