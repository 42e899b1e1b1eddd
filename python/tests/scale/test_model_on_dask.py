"""tl.Model.map and `tl run --on` on the workers of Dask; `tl run` alone is the reference."""

import json
import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from planned import TOOL, needs_tool
from small_model import expected, rows, written

import tl_runtime as tl

distributed = pytest.importorskip("distributed", reason="the package distributed is not installed")
pytestmark = needs_tool


@pytest.fixture(scope="module")
def cluster():
    """Two workers with a process each, on ports that the system chooses."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
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
    client.wait_for_workers(2, timeout=60)


def test_the_program_runs_on_the_cluster(cluster, tmp_path):
    x, source = rows(333), written(tmp_path)
    np.save(tmp_path / "x.npy", x)
    on = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
    command = [TOOL, "run", source, "--bind", "batch=4", "-i", f"x={tmp_path / 'x.npy'}", "--json"]
    reports = []
    for folder, more in (("here", ()), ("there", ("--on", on, "--python", os.sys.executable))):
        done = subprocess.run(
            [*command, "-o", tmp_path / folder, *more], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))
    assert reports[1]["outputs"] == {"y": [333, 3]}
    np.testing.assert_array_equal(np.load(tmp_path / "there" / "y.npy"), np.load(tmp_path / "here" / "y.npy"))
