"""Clusters of Dask's on this machine, for tests: on loopback addresses, at ports that the system chooses."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

numpy = pytest.importorskip("numpy", reason="skip: no NumPy")
distributed = pytest.importorskip("distributed", reason="skip: no distributed")

import dask

import tl_runtime as tl

MIB = 1 << 20
SECONDS = 120  # for each result, however busy the machine is

# Dask keeps its last messages, and the values in them, in a log.
SETTINGS = {"distributed.comm.timeouts.connect": f"{SECONDS}s", "distributed.admin.low-level-log-length": 0}


@contextmanager
def cluster(processes: bool, **options: Any) -> Iterator[Any]:
    """A client of a scheduler and two workers on loopback addresses, at ports that the system chooses."""
    options = {"n_workers": 2, "threads_per_worker": 1, **options}
    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(
            processes=processes,
            host="127.0.0.1" if processes else None,
            scheduler_port=0,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        ) as made,
        distributed.Client(made, timeout=SECONDS) as client,
    ):
        yield client


def until(holds: Callable[[], Any], seconds: float = SECONDS) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.02)
    return found


def doubled(tensor: tl.Tensor) -> tl.Tensor:
    assert type(tensor) is tl.Tensor
    return tl.from_numpy(tensor.numpy() * 2)


def handler() -> Any:
    """The allocator of an array that a task makes."""
    from numpy._core.multiarray import get_handler_name

    return get_handler_name(numpy.empty(1000))
