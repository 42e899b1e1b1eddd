"""tl.mr: resources that limit, count and log, above pools and below them."""

from __future__ import annotations

import ctypes
import io
import random
import threading
from pathlib import Path
from typing import Any

import pytest

import tl_runtime as tl
from tl_runtime import mr

MIB = 1 << 20


@pytest.fixture
def pool() -> Any:
    with tl.MemoryPool("cpu", initial_bytes=MIB) as made:
        yield made


def test_memory_of_a_device() -> None:
    resource = mr.DeviceResource("cpu")
    assert (resource.name, resource.alignment, resource.device) == ("cpu", 64, tl.device("cpu"))
    block = resource.allocate(10_000)
    ctypes.memset(block, 1, 10_000)
    with pytest.raises(TypeError, match="deallocate: cpu needs nbytes"):
        resource.deallocate(block)
    with pytest.raises(ValueError, match="cpu knows no order of streams"):
        resource.deallocate(block, 10_000, 8)
    resource.deallocate(block, 10_000)
    resource.deallocate(resource.allocate(0), 0)
    assert repr(resource) == "tl.mr.DeviceResource('cpu')"
    tensor = resource.empty((2, 3), "int32")
    ctypes.memset(tensor.data, 0, tensor.nbytes)


def test_a_limit(pool: tl.MemoryPool) -> None:
    limited = mr.LimitingResourceAdaptor(pool, 1000)
    first = limited.allocate(600)
    with pytest.raises(tl.LimitError, match="401 bytes beside 600 that are out are more than the limit of 1000 bytes"):
        limited.allocate(401)
    second = limited.allocate(400)
    assert limited.allocated_bytes == limited.allocation_limit == 1000
    limited.deallocate(first)
    limited.deallocate(second, 400)
    assert limited.allocated_bytes == 0
    pool.limit = MIB
    wide = mr.LimitingResourceAdaptor(pool, 8 * MIB)
    with pytest.raises(tl.LimitError):
        wide.allocate(4 * MIB)
    assert wide.allocated_bytes == 0
    with pytest.raises(OverflowError):
        mr.LimitingResourceAdaptor(pool, -1)


def test_statistics_against_a_model(pool: tl.MemoryPool) -> None:
    counted = mr.StatisticsResourceAdaptor(pool)
    draw, live, sizes = random.Random(5), {}, []
    most = highest = 0
    for _ in range(500):
        if live and draw.random() < 0.5:
            address = draw.choice(list(live))
            counted.deallocate(address, draw.choice([None, live[address]]))
            del live[address]
        else:
            nbytes = draw.randint(1, 3000)
            sizes.append(nbytes)
            live[counted.allocate(nbytes)] = nbytes
        most, highest = max(most, sum(live.values())), max(highest, len(live))
        want = mr.Statistics(sum(live.values()), len(live), most, highest, sum(sizes), len(sizes))
        assert counted.statistics == want
    counted.reset_peak()
    assert counted.statistics.peak_bytes == sum(live.values()) and counted.statistics.peak_count == len(live)
    for address in live:
        counted.deallocate(address)
    assert counted.statistics.current_count == 0


def test_a_log(pool: tl.MemoryPool, tmp_path: Path) -> None:
    pool.limit = MIB
    with mr.LoggingResourceAdaptor(pool, tmp_path / "log.csv") as logged:
        block = logged.allocate(100, stream=0)
        with pytest.raises(tl.LimitError):
            logged.allocate(4 * MIB)
        late = logged.allocate(8)
        logged.deallocate(block)
        logged.flush()
    logged.close()
    logged.deallocate(late)  # is no more in the log
    heading, *lines = (tmp_path / "log.csv").read_text().splitlines()
    assert heading == "Thread,Time,Action,Pointer,Size,Stream"
    rows = [line.split(",") for line in lines]
    assert [(row[2], row[3], row[4]) for row in rows] == [
        ("allocate", hex(block), "100"),
        ("allocate failure", "0x0", str(4 * MIB)),
        ("allocate", hex(late), "8"),
        ("free", hex(block), "100"),
    ]
    assert {row[0] for row in rows} == {str(threading.get_native_id())}
    text = io.StringIO()
    with mr.LoggingResourceAdaptor(pool, text) as logged:
        logged.block(8).close()
    assert text.getvalue().count("\n") == 3


def test_a_callback_when_memory_is_short(pool: tl.MemoryPool) -> None:
    limited = mr.LimitingResourceAdaptor(pool, 100)
    held, asked = [limited.block(80)], []

    def let_go(nbytes: int) -> bool:
        asked.append(nbytes)
        had = bool(held)
        held.clear()
        return had

    careful = mr.FailureCallbackResourceAdaptor(limited, let_go)
    careful.deallocate(careful.allocate(60))
    with pytest.raises(tl.LimitError):
        careful.allocate(101)
    assert asked == [60, 101]
    with pytest.raises(TypeError, match="callback: None is no function"):
        mr.FailureCallbackResourceAdaptor(pool, None)  # type: ignore[arg-type]


def test_blocks_of_others(pool: tl.MemoryPool) -> None:
    counted = mr.StatisticsResourceAdaptor(pool)
    block, other = counted.allocate(64), pool.allocate(64)
    with pytest.raises(tl.UnknownPointerError, match="is no live block of this StatisticsResourceAdaptor"):
        counted.deallocate(other)
    with pytest.raises(ValueError, match="deallocate: nbytes is 65, and the block at 0x[0-9a-f]+ has 64"):
        counted.deallocate(block, 65)
    counted.deallocate(block)
    with pytest.raises(tl.UnknownPointerError):
        counted.deallocate(block)
    pool.deallocate(other)
    assert counted.allocate(0) == 0
    counted.deallocate(0)
    assert counted.statistics == mr.Statistics(0, 0, 64, 1, 64, 1)
    for upstream in (None, "cpu", 0):
        with pytest.raises(TypeError, match=r"upstream: .* is no memory resource"):
            mr.StatisticsResourceAdaptor(upstream)  # type: ignore[arg-type]


def test_they_stack(pool: tl.MemoryPool) -> None:
    counted = mr.StatisticsResourceAdaptor(pool)
    limited = mr.LimitingResourceAdaptor(counted, 1 << 16)
    assert limited.upstream is counted and limited.device == pool.device and limited.alignment == pool.alignment
    assert repr(limited).startswith("tl.mr.LimitingResourceAdaptor(tl.mr.StatisticsResourceAdaptor(tl.MemoryPool(")
    tensor = limited.empty((8, 8))
    with pytest.raises(tl.LimitError):
        limited.empty((1 << 10, 1 << 10))
    assert counted.statistics.current_bytes == limited.allocated_bytes == 256
    del tensor
    assert counted.statistics.current_bytes == limited.allocated_bytes == pool.statistics.current_usage == 0


def test_a_pool_over_adaptors_sees_chunks() -> None:
    counted = mr.StatisticsResourceAdaptor(mr.DeviceResource("cpu"))
    limited = mr.LimitingResourceAdaptor(counted, 3 * MIB)
    with tl.MemoryPool(limited, initial_bytes=MIB) as pool:
        assert pool.device == tl.device("cpu")
        blocks = [pool.block(1000) for _ in range(100)]
        assert counted.statistics.current_count == 1 and counted.statistics.current_bytes == MIB
        large = pool.allocate(2 * MIB)
        assert counted.statistics.current_bytes == 3 * MIB
        with pytest.raises(tl.OutOfMemoryError):
            pool.allocate(2 * MIB)
        pool.deallocate(large)
        blocks.clear()
        assert pool.empty((2, 2)).size == 4
    assert counted.statistics.current_count == 0 and limited.allocated_bytes == 0
    with tl.MemoryPool(mr.DeviceResource("cpu"), initial_bytes=MIB) as below:
        for upstream in (below, mr.StatisticsResourceAdaptor(below)):
            with pytest.raises(TypeError, match="a pool cannot call another one"):
                tl.MemoryPool(upstream)
