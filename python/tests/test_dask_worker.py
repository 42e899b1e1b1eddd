"""What the plugin gives a worker of Dask: a limit, room by spilling, NumPy's memory, statistics; and a worker's end."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from typing import Any

import pytest

numpy = pytest.importorskip("numpy", reason="skip: no NumPy")
distributed = pytest.importorskip("distributed", reason="skip: no distributed")

import dask

import tl_runtime as tl
import tl_runtime.dask
from dask_clusters import MIB, SECONDS, cluster, doubled, handler, until
from test_pickling import filled

# Dask leaves sockets behind, and warns of other things that are its own, when it starts and ends.
pytestmark = [pytest.mark.filterwarnings("default")]


def worker_metrics(client: Any) -> dict[str, Any]:
    (worker,) = client.scheduler_info()["workers"].values()
    return worker["metrics"]  # type: ignore[no-any-return]


def fill(number: int, nbytes: int = 8 * MIB) -> tl.Tensor:
    return tl.full((nbytes,), number, "uint8")


def test_the_runtimes_limit_is_the_workers() -> None:
    plugin = tl_runtime.dask.Plugin()
    with cluster(True, n_workers=1, memory_limit="800MiB") as client:
        client.register_plugin(plugin)
        ((soft, hard),) = client.run(tl.memory_limit).values()
        assert 800 * MIB * 0.5 < hard < 800 * MIB * 0.95 and 800 * MIB * 0.3 < soft < hard
        client.unregister_worker_plugin(plugin.name)
        assert set(client.run(tl.memory_limit).values()) == {(0, 0)}
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit="100MiB"))
        assert set(client.run(tl.memory_limit).values()) == {(0, 100 * MIB)}


def test_a_limit_below_what_the_process_holds() -> None:
    with cluster(True, n_workers=1, memory_limit="2GiB") as client:

        def again(dask_worker: Any) -> str:
            from tl_runtime._engines.dask_worker import Plugin

            dask_worker.memory_manager.memory_limit = 20 * MIB
            try:
                Plugin().setup(dask_worker)
            except ValueError as error:
                return str(error)
            return "set up"

        (told,) = client.run(again).values()
        assert "tl_runtime.dask.Plugin" in told and "raise the worker's memory_limit" in told
        assert set(client.run(tl.memory_limit).values()) == {(0, 0)}


def test_a_request_that_would_fail_makes_the_worker_spill() -> None:
    """More results than fit: the oldest are on disk, and none is lost or wrong."""
    with (
        dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": 0.9}),
        cluster(True, n_workers=1, threads_per_worker=2, memory_limit="2GiB") as client,
    ):
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit="80MiB"))
        made = client.map(fill, range(30), pure=False)
        distributed.wait(made, SECONDS)
        assert [future.status for future in made] == ["finished"] * 30
        (usage,) = client.run(tl.memory_usage).values()
        assert 0 < usage.reserved <= 80 * MIB
        (spilled,) = client.run(lambda dask_worker: len(dask_worker.data.slow)).values()
        assert spilled >= 20
        for i, future in enumerate(made):
            part = client.submit(lambda t: (t.shape, int(t.numpy().min()), int(t.numpy().max())), future)
            assert part.result(SECONDS) == ((8 * MIB,), i, i)
        assert until(lambda: worker_metrics(client)["tl_spilled"] >= 20)


def test_arrays_of_numpys_make_the_worker_spill_too() -> None:
    with (
        dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": 0.9}),
        cluster(True, n_workers=1, memory_limit="2GiB") as client,
    ):
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit="80MiB"))
        made = client.map(lambda i: numpy.full(8 * MIB, i, "u1"), range(20), pure=False)
        assert client.gather(client.map(lambda a: int(a[-1]), made)) == list(range(20))
        (spilled,) = client.run(lambda dask_worker: len(dask_worker.data.slow)).values()
        assert spilled >= 5


def test_a_request_that_no_spilling_helps_is_the_tasks_error() -> None:
    with cluster(True, n_workers=1, memory_limit="2GiB") as client:
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit="40MiB"))
        with pytest.raises(tl.LimitError, match="100 MiB requested"):
            client.submit(tl.zeros, (100 * MIB,), "uint8").result(SECONDS)
        with pytest.raises(MemoryError):
            client.submit(lambda: numpy.zeros(100 * MIB, "u1").sum()).result(SECONDS)
        assert client.submit(doubled, filled((3, 3))).result(SECONDS).shape == (3, 3)


async def on_the_loop(nbytes: int) -> int:
    return tl.zeros((nbytes,), "uint8").nbytes


def test_the_event_loop_never_waits_for_itself() -> None:
    """A coroutine that needs memory at the limit gets it, and the worker spills afterwards."""
    with cluster(True, n_workers=1, memory_limit="2GiB") as client:
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit="40MiB"))
        made = client.map(fill, range(4), pure=False)
        distributed.wait(made, SECONDS)
        assert client.submit(on_the_loop, 16 * MIB).result(SECONDS) == 16 * MIB
        assert until(lambda: set(client.run(lambda: tl.memory_limit()[1]).values()) == {40 * MIB})
        assert [int(t.numpy()[0]) for t in client.gather(made)] == [0, 1, 2, 3]


def test_the_dashboard() -> None:
    """The routes of a worker, and the figures in the scheduler's table of workers."""
    pytest.importorskip("bokeh", reason="skip: no Bokeh")
    with cluster(True, n_workers=1) as client:
        client.register_plugin(tl_runtime.dask.Plugin())
        (worker,) = client.scheduler_info()["workers"].values()
        address = f"http://127.0.0.1:{worker['services']['dashboard']}/tl-runtime"
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            assert b"memory of all devices" in answer.read()
        with urllib.request.urlopen(address + "/metrics", timeout=SECONDS) as answer:
            assert answer.read().endswith(b"# EOF\n")
        assert until(lambda: "tl_in_use" in worker_metrics(client))

        def columns(dask_scheduler: Any) -> list[str]:
            from distributed.dashboard.components.scheduler import WorkerTable

            return list(WorkerTable(dask_scheduler).extra_names)

        assert {"tl_in_use", "tl_cached", "tl_hard_limit", "tl_spilled"} <= set(client.run_on_scheduler(columns))


def test_preload() -> None:
    """`--preload tl_runtime.dask` is enough, and takes the plugin's arguments from Dask's configuration."""
    settings = {"distributed.worker.preload": ["tl_runtime.dask"], "tl-runtime": {"memory-limit": "64MiB"}}
    with dask.config.set(settings), cluster(True, n_workers=1) as client:
        assert set(client.run(tl.memory_limit).values()) == {(0, 64 * MIB)}
        assert client.submit(handler).result(SECONDS) == "tl_runtime"


def test_what_was_set_before_comes_back() -> None:
    def asked(device: int, nbytes: int, attempt: int) -> bool:
        calls.append(attempt)
        return False

    calls: list[int] = []
    tl.set_out_of_memory_callback(asked)
    tl.set_memory_limit(hard=64 * MIB)
    try:
        with cluster(False) as client:
            client.register_plugin(tl_runtime.dask.Plugin(memory_limit="48MiB"))
            assert tl.memory_limit() == (0, 64 * MIB)  # less than the sum of both workers'
            with pytest.raises(tl.LimitError):
                client.submit(tl.zeros, (80 * MIB,), "uint8").result(SECONDS)
            assert calls == [1]
        assert tl.memory_limit() == (0, 64 * MIB)
        with pytest.raises(tl.LimitError):
            tl.zeros((80 * MIB,), "uint8")
        assert calls == [1, 1]
    finally:
        tl.set_memory_limit()
        tl.set_out_of_memory_callback(None)


@pytest.mark.parametrize("wrong", [-1, 0, "many"])
def test_a_limit_is_a_number_of_bytes(wrong: Any) -> None:
    with pytest.raises(ValueError):
        tl_runtime.dask.Plugin(memory_limit=wrong)


def slowly(tensor: tl.Tensor) -> tl.Tensor:
    time.sleep(0.05)
    return doubled(tensor)


def test_a_killed_worker_costs_a_retry() -> None:
    tensors = [tl.full((100, 10), i, "int32") for i in range(60)]
    with cluster(True) as client:
        futures = client.map(slowly, tensors)
        assert until(lambda: sum(future.done() for future in futures) >= 10)
        process = next(iter(client.run(os.getpid).values()))
        assert process != os.getpid()
        os.kill(process, signal.SIGKILL)
        results = client.gather(futures)
        assert [t.tolist() for t in results] == [(t.numpy() * 2).tolist() for t in tensors]
        assert until(lambda: process not in client.run(os.getpid).values())
