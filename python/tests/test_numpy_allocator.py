"""NumPy's own arrays in the runtime's memory."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest

numpy = pytest.importorskip("numpy", minversion="1.22")

import tl_runtime as tl
from conftest import in_threads


def handler(array: Any) -> str:
    core = numpy.core if numpy.__version__.startswith("1.") else numpy._core
    name: str = core.multiarray.get_handler_name(array)
    return name


def live() -> int:
    return tl.stats()["live_objects"]


SIZES = [0, 1, 10, 127, 128, 1000, 8192, 8193, 100_000, 1_000_000]


@pytest.mark.parametrize("size", SIZES)
def test_every_way_to_make_an_array(size: int) -> None:
    before = live()
    with tl.numpy_allocator():
        made = [
            numpy.empty(size),
            numpy.zeros(size),
            numpy.ones(size),
            numpy.arange(size, dtype="f8"),
            numpy.fromiter(iter(range(size)), "f8"),
        ]
        made.append(made[3] * 2 + 1)
        made.append(numpy.sort(made[5])[::-1].copy())
    assert [handler(array) for array in made] == ["tl_runtime"] * len(made)
    assert live() == before + len(made)
    assert not made[1].any()
    assert (made[5] == numpy.arange(size) * 2 + 1).all()
    assert (made[6][::-1] == made[5]).all()
    assert all(array.ctypes.data % 32 == 0 for array in made)
    assert handler(numpy.empty(10)) == "default_allocator"
    del made
    assert live() == before


def test_resize_keeps_the_contents() -> None:
    with tl.numpy_allocator():
        array = numpy.arange(10)
        for size in (11, 1000, 100_000, 50_000, 20, 3):
            array.resize(size, refcheck=False)
            assert array[:3].tolist() == [0, 1, 2]
            assert not array[10:].any()
    array.resize(5000, refcheck=False)  # its memory knows where it is from
    assert handler(array) == "tl_runtime"
    assert array[:3].tolist() == [0, 1, 2]


def test_nesting_and_exceptions() -> None:
    with tl.numpy_allocator():
        with pytest.raises(ZeroDivisionError), tl.numpy_allocator():
            1 / 0
        assert handler(numpy.empty(3)) == "tl_runtime"
    assert handler(numpy.empty(3)) == "default_allocator"

    @tl.numpy_allocator()
    def make() -> Any:
        return numpy.empty(3)

    assert handler(make()) == "tl_runtime"
    assert handler(numpy.empty(3)) == "default_allocator"


def test_arrays_outlive_the_block_and_go_in_other_threads() -> None:
    before = live()
    with tl.numpy_allocator():
        holders = [[numpy.full(size, 3.0)] for size in SIZES]
    for holder in holders:
        assert (holder[0] == 3).all()
        in_threads(holder.clear)
    assert live() == before


def test_threads_choose_for_themselves() -> None:
    seen: list[str] = []
    with tl.numpy_allocator():
        thread = threading.Thread(target=lambda: seen.append(handler(numpy.empty(3))))
        thread.start()
        thread.join()
    if not getattr(sys.flags, "thread_inherit_context", 0):
        assert seen == ["default_allocator"]

    def work() -> None:
        with tl.numpy_allocator():
            for step in range(300):
                array = numpy.arange(step * 40.0)
                seen.append(handler(array + 1))

    in_threads(work, [()] * 4)
    assert set(seen[1:]) == {"tl_runtime"}


def test_tasks_keep_their_own() -> None:
    async def inside() -> str:
        with tl.numpy_allocator():
            await asyncio.sleep(0)
            return handler(numpy.empty(3))

    async def outside() -> str:
        await asyncio.sleep(0)
        return handler(numpy.empty(3))

    async def both() -> list[str]:
        return list(await asyncio.gather(inside(), outside(), inside()))

    assert asyncio.run(both()) == ["tl_runtime", "default_allocator", "tl_runtime"]


def test_tensors_over_such_arrays() -> None:
    with tl.numpy_allocator():
        array = numpy.arange(12.0).reshape(3, 4)
        tensor = tl.from_numpy(array, copy=False)
        other = tl.from_dlpack(array.T)
    del array
    gc.collect()
    assert tensor.numpy().sum() == other.numpy().sum() == 66


def test_after_fork(python: Any) -> None:
    """The child frees what it inherited and goes on, from malloc where the fast path has nothing."""
    python(
        """
        import os
        import numpy
        with tl.numpy_allocator():
            inherited = [numpy.full(size, 2.0) for size in (3, 1000, 100_000)]
            child = os.fork()
            if child == 0:
                assert [array.sum() for array in inherited] == [6, 2000, 200_000]
                mine = [numpy.arange(size % 20_000) * 1.5 for size in range(0, 400_000, 997)]
                inherited.clear()
                assert all((array == numpy.arange(array.size) * 1.5).all() for array in mine)
                mine.clear()
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        """
    )


def test_arrays_at_the_end_of_the_interpreter(python: Any) -> None:
    python(
        """
        import sys
        import numpy
        with tl.numpy_allocator():
            sys.kept = [numpy.ones(size) for size in (1, 500, 100_000)]
            kept = numpy.ones(7)
        entered = tl.numpy_allocator()
        entered.__enter__()  # and never left
        """
    )


def test_without_the_interpreters_cache(python: Any) -> None:
    """Many arrays of many sizes, made and dropped in no order, under debug checks."""
    python(
        """
        import random
        import numpy
        draw = random.Random(3)
        held = {}
        with tl.numpy_allocator():
            for step in range(4000):
                key = draw.randrange(60)
                held[key] = numpy.full(int(draw.expovariate(1 / 3000)), key)
                other = draw.choice(list(held))
                assert (held[other] == other).all()
        held.clear()
        assert tl.stats()["live_objects"] == 0, tl.stats()
        """,
        "-X",
        "dev",
    )
