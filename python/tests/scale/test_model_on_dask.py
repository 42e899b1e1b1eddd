"""tl.Model.map and `tl run --on` on the workers of Dask; `tl run` alone is the reference."""

import asyncio
import json
import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from dask_clusters import cluster as own_cluster
from dask_clusters import until
from planned import TOOL, needs_tool
from small_model import expected, rows, written

import tl_runtime as tl
from tl_runtime._engines import engines

distributed = pytest.importorskip("distributed", reason="the package distributed is not installed")
# Dask leaves sockets behind, and warns of other things that are its own, when it starts and ends.
pytestmark = [needs_tool, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def cluster():
    """Two workers with a process each, on ports that the system chooses."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        connected.wait_for_workers(2)
        yield connected


@pytest.fixture
def model(tmp_path):
    return tl.Model(written(tmp_path), bind={"batch": 4})


def test_results_come_in_order(client, model):
    x = rows(1001)
    np.testing.assert_array_equal(model.map(x, on=client), model(x))
    np.testing.assert_array_equal(model.map(x, on=client, batch=100), model(x))
    np.testing.assert_allclose(model(x), expected(x), rtol=1e-5)


def test_the_model_travels_once(client, model):
    model.map(rows(400), on=client)

    def loaded(dask_worker):
        return sorted(str(key) for key in dask_worker.data if "Model" in str(key))

    before = client.run(loaded)
    model.map(rows(400), on=client)
    assert client.run(loaded) == before


def test_a_scheduler_by_its_address(cluster, model):
    x = rows(30)
    address = cluster.scheduler_address.removeprefix("tcp://")
    np.testing.assert_array_equal(model.map(x, on=f"dask://{address}"), model(x))


def test_errors_of_a_call_come_before_any_work(client, model):
    with pytest.raises(TypeError, match="wants float32"):
        model.map(np.ones((4, 2)), on=client)


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.2])
def test_a_worker_that_is_killed_costs_no_row(client, model, wait):
    x = rows(4000)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Thread(target=lambda: (time.sleep(wait), os.kill(victim, signal.SIGKILL)))
    killer.start()
    np.testing.assert_array_equal(model.map(x, on=client, batch=8), model(x))
    killer.join()
    try:
        client.wait_for_workers(2, timeout=60)
    except TimeoutError:  # Dask starts it again, seldom not within a minute: then another one
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=600)


def test_the_program_runs_on_the_cluster(cluster, tmp_path):
    x, source = rows(333), written(tmp_path)
    np.save(tmp_path / "x.npy", x)
    on = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
    command = [TOOL, "run", source, "--bind", "batch=4", "-i", f"x={tmp_path / 'x.npy'}", "--json"]
    reports = []
    for folder, more in (("here", ()), ("there", ("--on", on, "--python", os.sys.executable))):
        done = subprocess.run(
            [*command, "-o", tmp_path / folder, *more], capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))
    assert reports[1]["outputs"] == {"y": [333, 3]}
    np.testing.assert_array_equal(np.load(tmp_path / "there" / "y.npy"), np.load(tmp_path / "here" / "y.npy"))


def as_another_version():
    from tl_runtime._engines import model

    model._FORMAT = 0


def without_the_package():
    import sys

    import tl_runtime  # noqa: F401

    for name in [name for name in sys.modules if name.partition(".")[0] == "tl_runtime"]:
        sys.modules[name] = None


@pytest.mark.parametrize(
    "spoil, error, message",
    [
        (as_another_version, ValueError, "perceptron has format 1; this package reads 0"),
        (without_the_package, RuntimeError, "tl.Model.map: the worker tcp://.* has not the package tl_runtime"),
    ],
)
def test_a_worker_that_cannot_run_a_model_says_so(model, spoil, error, message):
    """It would lose its connection over what it cannot read, and the call wait for ever."""
    with own_cluster(True, n_workers=1) as client:
        client.run(spoil)
        with pytest.raises(error, match=message):
            model.map(rows(40), on=client)


def test_a_scheduler_without_workers_is_told(model):
    with own_cluster(False, n_workers=0) as client:
        later = threading.Timer(0.5, client.cluster.scale, (1,))
        later.start()
        with pytest.warns(UserWarning, match="tl.Model.map: the scheduler at .* has no worker yet; waiting for one"):
            np.testing.assert_array_equal(model.map(rows(40), on=client), model(rows(40)))
        later.join()


def test_a_scheduler_that_ends(model):
    with own_cluster(True, n_workers=1) as client:
        scheduler = client.cluster.scheduler

        def end_it():
            until(lambda: any("_run_shipped" in str(key) for key in list(scheduler.tasks)))
            client.cluster.close()

        end = threading.Thread(target=end_it)
        end.start()
        with pytest.raises(RuntimeError, match="tl.Model.map: part .* was cancelled; the scheduler has ended"):
            model.map(rows(400_000), on=client, batch=4)
        end.join()


def test_a_scheduler_that_ends_while_a_result_comes(model, cluster, monkeypatch):
    def result(self, timeout=None):
        raise distributed.comm.CommClosedError("Stream is closed")

    monkeypatch.setattr(distributed.Future, "result", result)
    with distributed.Client(cluster) as client:
        with pytest.raises(RuntimeError, match="tl.Model.map: part 0 of 1 was cancelled; the scheduler has ended"):
            model.map(rows(4), on=client)


def test_an_error_of_a_part_is_its_own(model, cluster, monkeypatch):
    def run(shipped, part):
        raise OSError("no space left")

    monkeypatch.setattr(engines, "_run_shipped", run)
    with distributed.Client(cluster) as client:
        with pytest.raises(OSError, match="^no space left$"):
            model.map(rows(4), on=client)


def test_clients_that_cannot_wait(cluster, model):
    async def call():
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as client:
            model.map(rows(4), on=client)

    with pytest.raises(TypeError, match="tl.Model.map: on is an asynchronous client"):
        asyncio.run(call())
    client = distributed.Client(cluster)
    client.close()
    with pytest.raises(ConnectionError, match="tl.Model.map: the client of Dask is closed"):
        model.map(rows(4), on=client)


@pytest.mark.parametrize("address", ["127.0.0.1", "ftp://127.0.0.1:1", " "])
def test_addresses_that_are_none(model, address):
    with pytest.raises(ValueError, match=f"tl.Model.map: on='dask://{address}' has no address of a scheduler"):
        model.map(rows(4), on=f"dask://{address}")


def test_an_interrupted_program_ends_without_a_trace(cluster, tmp_path):
    source = written(tmp_path)
    np.save(tmp_path / "x.npy", rows(400_000))
    on = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
    running = subprocess.Popen(
        [TOOL, "run", source, "--bind", "batch=1", "-i", f"x={tmp_path / 'x.npy'}", "--on", on, "--python", os.sys.executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with distributed.Client(cluster) as client:
        end = time.monotonic() + 60
        while not any(client.processing().values()) and time.monotonic() < end:
            time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=600)
    assert (running.returncode, said) == (130, "Error: interrupted\n")
