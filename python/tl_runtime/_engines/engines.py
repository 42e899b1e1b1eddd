"""Engines that run parts of a batch: this process, the workers of Dask, the ranks of MPI.

An engine gets a model and a function that returns the parts, and returns their outputs in the order of the parts.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._graph.runnable import Batch, Outputs
    from .model import Model

Parts = Callable[[], "list[Batch]"]
Tick = Callable[[], object]

_AHEAD = 3  # parts that each thread of a worker has, at most: one runs, the others wait there


def run(model: Model, parts: Parts, on: Any, progress: bool) -> list[Outputs] | None:
    """Runs all parts; None on ranks of MPI that are not the first."""
    if on is None:
        return _here(model, parts(), progress)
    if isinstance(on, str):
        kind, _, address = on.partition("://")
        if kind == "dask" and address:
            return _at_scheduler(model, parts(), address, progress)
        if on == "mpi":
            from mpi4py import MPI

            return _ranks(model, parts, MPI.COMM_WORLD, progress)
        raise ValueError(f'tl.Model.map: on={on!r} names no engine; "dask://HOST:PORT" and "mpi" do')
    if hasattr(on, "scheduler") and hasattr(on, "scatter"):
        if on.asynchronous:
            raise TypeError("tl.Model.map: on is an asynchronous client, and this call waits; pass a synchronous one")
        return _workers(model, parts(), on, progress)
    if hasattr(on, "Get_rank"):
        return _ranks(model, parts, on, progress)
    raise TypeError(
        f"tl.Model.map: on is a {type(on).__name__}; it is None, a dask.distributed.Client, a communicator of mpi4py, "
        '"dask://HOST:PORT" or "mpi"'
    )


def _bars(progress: bool) -> Any:
    """What makes progress bars; None where none is wanted."""
    if not progress:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("tl.Model.map: progress=True shows a bar by tqdm; pip install tqdm") from error
    return tqdm


@contextmanager
def _bar(bars: Any, total: int, name: str) -> Iterator[Tick]:
    """Shows how many parts are done; the function that it gives says that one more is."""
    if bars is None:
        yield lambda: None
        return
    with bars(total=total, desc=name, unit="part") as bar:
        yield bar.update


def _here(model: Model, parts: list[Batch], progress: bool) -> list[Outputs]:
    results = []
    with _bar(_bars(progress), len(parts), model.name) as tick:
        for part in parts:
            results.append(model._run(part))
            tick()
    return results


# ---- Dask ------------------------------------------------------------------------------------


def _at_scheduler(model: Model, parts: list[Batch], address: str, progress: bool) -> list[Outputs]:
    from distributed import Client
    from distributed.comm import get_address_host_port

    try:
        get_address_host_port(address)
    except ValueError as error:
        raise ValueError(f"tl.Model.map: on='dask://{address}' has no address of a scheduler, HOST:PORT: {error}") from None
    with Client(address, set_as_default=False) as client:
        return _workers(model, parts, client, progress)


class _Shipped:
    """A compiled model as a value of the cluster's, which its workers pass on to each other.

    Dask reads what a task gets while it reads its connection, and loses that where reading fails. So a worker loads the
    model when it runs it, and what is wrong then is the task's error.
    """

    def __init__(self, load: Callable[[Any, str], Model], content: bytes, name: str) -> None:
        self._load, self._content, self._name = load, content, name
        self._loaded: Model | None = None

    def model(self) -> Model:
        if self._loaded is None:
            self._loaded = self._load(self._content, self._name)
        return self._loaded

    def __reduce_ex__(self, protocol: Any) -> Any:
        content = pickle.PickleBuffer(self._content) if protocol >= 5 else self._content
        return _Shipped, (self._load, content, self._name)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self._content)


def _same(shipped: _Shipped) -> _Shipped:
    return shipped


def _run_shipped(shipped: _Shipped, part: Batch) -> Outputs:
    return shipped.model()._run(part)


def _ship(model: Model, client: Any) -> Any:
    """Sends the model to the scheduler as the argument of a task, so that it is still there when workers die.

    Client.scatter would wait for ever when a worker dies meanwhile.
    """
    load, arguments = model.__reduce_ex__(4)  # what a pickle of it has
    shipped = _Shipped(load, *arguments)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(_same, shipped, key=f"tl_runtime.Model-{model.hash}")


def _has_package() -> bool:
    return True


def _check_workers(client: Any) -> None:
    """Refuses workers without this package, which would lose the connection over the first task."""
    for worker, answer in client.run(_has_package, on_error="return").items():
        if isinstance(answer, Exception) and not isinstance(answer, OSError):  # which is a worker that has just gone
            raise RuntimeError(
                f"tl.Model.map: the worker {worker} has not the package tl_runtime, or another version of it ({answer}); "
                "install there what this process has"
            )


def _workers(model: Model, parts: list[Batch], client: Any, progress: bool) -> list[Outputs]:
    """Keeps the workers busy with some parts each, so that neither they nor the scheduler hold the whole batch."""
    from distributed import KilledWorker, as_completed

    bars = _bars(progress)
    if client.status != "running":
        raise ConnectionError(f"tl.Model.map: the client of Dask is {client.status}: it has no scheduler")
    if not client.nthreads():
        where = client.scheduler.address
        warnings.warn(f"tl.Model.map: the scheduler at {where} has no worker yet; waiting for one", stacklevel=4)
    client.wait_for_workers(1)
    _check_workers(client)
    shipped = _ship(model, client)
    results: dict[int, Outputs] = {}
    numbers: dict[str, int] = {}

    def submit(i: int) -> Any:
        future = client.submit(_run_shipped, shipped, parts[i], pure=False)
        numbers[future.key] = i
        return future

    left = iter(range(len(parts)))
    ahead = _AHEAD * max(sum(client.nthreads().values()), 1)
    running = as_completed([submit(i) for i in islice(left, ahead)], loop=client.loop)
    with _bar(bars, len(parts), model.name) as tick:
        for future in running:
            i = numbers.pop(future.key)
            try:
                results[i] = future.result()
            except KilledWorker as error:
                raise RuntimeError(
                    f"tl.Model.map: part {i} of {len(parts)} ended its worker each time that it was run; the workers' "
                    f"own messages say why ({error})"
                ) from error
            except (CancelledError, OSError) as error:  # OSError: the connection was lost while the result came
                if future.status == "error":  # the part's own
                    raise
                raise RuntimeError(
                    f"tl.Model.map: part {i} of {len(parts)} was cancelled; the scheduler has ended, or somebody has "
                    "cancelled it there"
                ) from error
            tick()
            for following in islice(left, 1):
                running.add(submit(following))
    return [results[i] for i in range(len(parts))]


# ---- MPI -------------------------------------------------------------------------------------


def _ranks(model: Model, parts: Parts, comm: Any, progress: bool) -> list[Outputs] | None:
    """Runs a part on each rank, and then the next ones. An error on one rank is raised on all."""
    root = comm.Get_rank() == 0
    todo: list[Batch] = []
    bars: Any = None
    problem: Exception | None = None
    if root:
        try:
            todo, bars = parts(), _bars(progress)
        except Exception as error:  # raised below, on all ranks
            problem = _sendable(error)
    problem, count = comm.bcast((problem, len(todo)))
    if problem is not None:
        raise problem
    model = _same_model(model, comm)
    results: list[Outputs] = []
    with _bar(bars, count, model.name) as tick:
        for first in range(0, count, comm.Get_size()):
            turn = todo[first : first + comm.Get_size()]
            made = comm.gather(_tried(model, comm.scatter([*turn, *[None] * (comm.Get_size() - len(turn))])))
            problem = comm.bcast(next((m for m in made if isinstance(m, BaseException)), None) if root else None)
            if problem is not None:
                raise problem
            for part in made[: len(turn)] if root else []:
                results.append(part)
                tick()
    return results if root else None


def _same_model(model: Model, comm: Any) -> Model:
    """Returns the model of rank 0, which travels where another rank has another one."""
    digest = comm.bcast(model.hash)
    if not comm.allreduce(int(model.hash != digest)):
        return model
    sent: bytes = comm.bcast(pickle.dumps(model))
    problem: Exception | None = None
    if model.hash != digest:
        try:
            model = pickle.loads(sent)
        except Exception as error:  # a processor that has not what the model's code needs, for one
            problem = _sendable(error)
    for problem in filter(None, comm.allgather(problem)):
        raise problem
    return model


def _sendable(error: Exception) -> Exception:
    """Returns an error that other ranks can read, whatever it is made of."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _tried(model: Model, part: Batch | None) -> Outputs | Exception | None:
    try:
        return None if part is None else model._run(part)
    except Exception as error:  # the caller tells all ranks
        return _sendable(error)
