"""tl.MemoryPool: blocks, statistics, limits, streams, tensors in its memory, and how it ends."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run, in_threads
from test_device_tensors import run_with_cuda
from test_devices import Memory, fake_cuda

MIB = 1 << 20
__all__ = ["fake_cuda"]


@pytest.fixture
def pool() -> Any:
    with tl.MemoryPool("cpu", initial_bytes=MIB) as made:
        yield made


def test_blocks(pool: tl.MemoryPool) -> None:
    block = pool.allocate(1000)
    assert block % pool.alignment == 0
    ctypes.memset(block, 7, 1000)
    now = pool.statistics
    assert (now.current_usage, now.live_blocks, now.reserved, now.num_device_allocations) == (1024, 1, MIB, 1)
    pool.deallocate(block)
    again = pool.allocate(1000)
    assert again == block
    pool.deallocate(again, 1000)
    assert pool.allocate(0) == 0
    pool.deallocate(0)
    now = pool.statistics
    assert (now.current_usage, now.peak_usage, now.num_allocations, now.num_deallocations) == (0, 1024, 2, 2)
    assert now.total_allocated == now.total_freed == 2048


def test_what_it_says_of_itself(pool: tl.MemoryPool) -> None:
    assert pool.device == tl.device("cpu") and pool.name == "a memory pool over cpu"
    assert repr(pool) == "tl.MemoryPool('cpu', 0 of 1048576 bytes in use, 0 live blocks)"
    assert tl.lib.tl_memory_pool_trim(pool.handle) == 0
    other = tl.MemoryPool(tl.device(0), initial_bytes=MIB)
    assert not other.closed
    other.close()
    assert repr(other) == "tl.MemoryPool('cpu', closed)"


def test_a_block_that_is_not_its_own(pool: tl.MemoryPool) -> None:
    block = pool.allocate(64)
    for address in (block + 64, 0x1000):
        with pytest.raises(tl.UnknownPointerError, match="tl_memory_pool_deallocate: "):
            pool.deallocate(address)
    pool.deallocate(block)
    with pytest.raises(tl.UnknownPointerError):
        pool.deallocate(block)
    for wrong in (-1, 1 << 64):
        with pytest.raises(OverflowError, match="nbytes"):
            pool.allocate(wrong)
        with pytest.raises(OverflowError, match="address"):
            pool.deallocate(wrong)
    with pytest.raises(TypeError):
        pool.allocate("many")  # type: ignore[arg-type]


def test_a_pool_with_live_blocks_does_not_end() -> None:
    pool = tl.MemoryPool("cpu", initial_bytes=MIB)
    with pytest.raises(tl.BusyError, match="tl_memory_pool_destroy: "):
        with pool:
            block = pool.allocate(64)
    assert not pool.closed
    pool.deallocate(block)
    pool.close()
    pool.close()


def test_an_exception_is_not_hidden_by_live_blocks() -> None:
    pool = tl.MemoryPool("cpu", initial_bytes=MIB)
    with pytest.raises(KeyError), pool:
        block = pool.allocate(64)
        raise KeyError
    pool.deallocate(block)
    pool.close()


def test_use_after_close_is_an_error() -> None:
    pool = tl.MemoryPool("cpu", initial_bytes=MIB)
    pool.close()
    for what, use in {
        "allocate": lambda: pool.allocate(8),
        "deallocate": lambda: pool.deallocate(8),
        "statistics": lambda: pool.statistics,
        "limit": lambda: setattr(pool, "limit", 8),
        "trim": lambda: pool.trim(),
        "reset": lambda: pool.reset(),
        "handle": lambda: pool.handle,
    }.items():
        with pytest.raises(ValueError, match=f"{what}: the memory pool over cpu is closed"):
            use()
    with pytest.raises(ValueError, match="closed"):
        pool.empty(3)


def test_a_pool_that_is_dropped_in_use_says_so() -> None:
    pool = tl.MemoryPool("cpu", initial_bytes=MIB)
    handle, block = pool.handle, pool.allocate(64)
    with pytest.warns(ResourceWarning, match="dropped while 1 of its blocks are live"):
        del pool
        gc.collect()
    assert tl.lib.tl_memory_pool_deallocate(handle, block) == 0
    assert tl.lib.tl_memory_pool_destroy(handle) == 0


def test_limits(pool: tl.MemoryPool) -> None:
    assert pool.limit is None
    pool.limit = 2 * MIB
    assert pool.limit == 2 * MIB
    with pytest.raises(tl.LimitError):
        pool.allocate(3 * MIB)
    pool.limit = None
    pool.deallocate(pool.allocate(3 * MIB))
    assert pool.statistics.reserved >= 4 * MIB
    pool.trim()
    assert pool.statistics.reserved == 0
    with pytest.raises(ValueError, match="limit: 0 bytes"):
        pool.limit = 0
    with pytest.raises(tl.LimitError):
        tl.MemoryPool("cpu", initial_bytes=MIB, limit=MIB).allocate(2 * MIB)
    for wrong in (0, -1):
        with pytest.raises((ValueError, OverflowError)):
            tl.MemoryPool("cpu", initial_bytes=wrong)
        with pytest.raises((ValueError, OverflowError)):
            tl.MemoryPool("cpu", initial_bytes=MIB, limit=wrong)


def test_reset_takes_back_addresses_and_no_objects(pool: tl.MemoryPool) -> None:
    for _ in range(10):
        pool.allocate(100)
    pool.reset()
    assert pool.statistics.live_blocks == 0
    with pool.block(100) as block:
        with pytest.raises(tl.BusyError, match="reset: tensors or Block objects hold blocks of .*: 1;"):
            pool.reset()
        assert block.address
    tensor = pool.empty(10)
    with pytest.raises(tl.BusyError, match="reset: tensors or Block objects hold blocks of .*: 1;"):
        pool.reset()
    del tensor
    pool.reset()


def test_blocks_that_go_back_by_themselves(pool: tl.MemoryPool) -> None:
    with pool.block(100) as block:
        ctypes.memset(block.address, 1, 100)
        assert block.nbytes == 100 and pool.statistics.live_blocks == 1
    with pytest.raises(ValueError, match="address: this block was given back"):
        block.address
    block.close()
    held = pool.block(100)
    assert pool.statistics.live_blocks == 1
    del held
    assert pool.statistics.live_blocks == 0
    assert pool.block(0).address == 0


def test_tensors_in_blocks(pool: tl.MemoryPool) -> None:
    tensor = pool.empty((3, 4), "float64")
    assert tensor.shape == (3, 4) and tensor.dtype == "float64" and tensor.data % 64 == 0
    assert pool.statistics.current_usage == 128
    view, address = tensor[1:], tensor.data
    del tensor
    ctypes.memset(view.data, 0, view.nbytes)
    assert pool.statistics.live_blocks == 1
    with pytest.raises(tl.BusyError):
        pool.close()
    del view
    assert pool.statistics.live_blocks == 0
    assert pool.empty((3, 4), "float64").data == address
    assert pool.empty((0, 4)).size == 0
    for wrong in ((-1,), (1 << 40, 1 << 40)):
        with pytest.raises((ValueError, OverflowError, MemoryError)):
            pool.empty(wrong)


def test_tensors_outlive_the_name_of_the_pool() -> None:
    tensor = tl.MemoryPool("cpu", initial_bytes=MIB).empty(100)
    gc.collect()
    ctypes.memset(tensor.data, 1, tensor.nbytes)
    del tensor


def test_many_threads(pool: tl.MemoryPool) -> None:
    def work() -> None:
        for nbytes in range(1, 400):
            with pool.block(nbytes) as block:
                ctypes.memset(block.address, 1, nbytes)

    in_threads(work, [()] * 4)
    now = pool.statistics
    assert (now.live_blocks, now.num_allocations) == (0, 4 * 399)


def test_the_cpu_has_no_streams(pool: tl.MemoryPool) -> None:
    block = pool.allocate(64, stream=0)
    with pytest.raises(tl.UnsupportedError):
        pool.deallocate(block, stream=8)
    pool.deallocate(block, stream=0)
    with pytest.raises(tl.UnsupportedError):
        pool.allocate(64, stream=8)


def test_memory_of_python() -> None:
    memory = Memory()
    allocator = tl.DeviceAllocator(memory.allocate, memory.deallocate, name="mine")
    with tl.MemoryPool(allocator, initial_bytes=MIB) as pool:
        assert len(memory.blocks) == 1 and pool.device is None
        block = pool.allocate(100)
        with pytest.raises(ValueError, match="unknown device"):
            pool.empty(3)
        del allocator
        gc.collect()
        pool.deallocate(block)
        pool.trim()
        assert memory.blocks == {}
    with pytest.raises(tl.OutOfMemoryError):
        tl.MemoryPool(tl.DeviceAllocator(lambda nbytes: None, memory.deallocate))
    with pytest.raises(tl.DeviceError):
        tl.MemoryPool(4096)
    with pytest.raises(TypeError, match="no device"):
        tl.MemoryPool([])  # type: ignore[arg-type]


def test_streams_of_a_device(python: Run, fake_cuda: str) -> None:
    """A block that waits for a stream is that stream's at once, and everybody's when its work is done."""
    run_with_cuda(
        python,
        fake_cuda,
        """
        with tl.MemoryPool("cuda:0", initial_bytes=1 << 20) as pool:
            assert pool.device.name == "cuda:0"
            stream = driver.fakecuda_stream()
            first = pool.allocate(1 << 19, stream=stream)
            pool.deallocate(first, stream=stream)
            again = pool.allocate(1 << 19, stream=stream)
            assert again == first
            pool.deallocate(again, stream=stream)
            tensor = pool.empty((16, 16), "float32", stream=stream)
            assert tensor.device == pool.device.number and tensor.cpu().shape == (16, 16)
            tensor[...] = 5
            assert tensor.item(7) == 5.0 and "device='cuda:0'" in repr(tensor) and "5." not in repr(tensor)
            del tensor
            pool.trim()
            assert pool.statistics.live_blocks == 0
        """,
    )
