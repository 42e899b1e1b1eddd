"""tl.registry: memory that goes with the last view, on any thread and at the interpreter's end."""

from __future__ import annotations

import ctypes
import gc
import mmap
import random
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import tl_runtime as tl

from conftest import Run

numpy = pytest.importorskip("numpy")

malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]


@pytest.fixture(autouse=True)
def zero_bytes() -> Iterator[None]:
    """Every test ends with an empty registry."""
    yield
    assert (tl.registry.total_bytes(), tl.registry.num_pointers(), tl.registry.num_buffers()) == (0, 0, 0)


def matrix(rows: int, count: int) -> list[numpy.ndarray]:
    return tl.registry.columns(malloc(rows * count * 4), (rows, count), "float32")


def test_array_owns_its_memory() -> None:
    array = tl.registry.zeros((100, 3), "float32")
    assert array.shape == (100, 3) and array.sum() == 0 and array.flags.writeable
    assert array.ctypes.data % 64 == 0
    assert tl.registry.total_bytes() == 1200
    view = array[5:, 1]
    del array
    view[:] = 1
    assert tl.registry.total_bytes() == 1200
    del view
    assert tl.registry.total_bytes() == 0


def test_100_columns_in_any_order() -> None:
    views = matrix(1000, 100)
    assert tl.registry.num_pointers() == 100  # the main reference is consumed
    assert tl.registry.num_buffers() == 1
    for i in range(100):
        views[i][:] = i
    assert tl.registry.info(views[7].ctypes.data)["block_count"] == 100
    random.Random(1).shuffle(views)
    while views:
        assert tl.registry.total_bytes() == 400_000
        assert views[-1][0] == views[-1][-1]
        views.pop()
    assert tl.registry.total_bytes() == 0


def test_100_columns_from_any_thread() -> None:
    for seed in range(5):
        views = matrix(100, 100)
        random.Random(seed).shuffle(views)
        parts = [views[i::4] for i in range(4)]
        views.clear()
        threads = [threading.Thread(target=part.clear) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert tl.registry.total_bytes() == 0


def test_adopt_takes_and_view_adds_a_reference() -> None:
    pointer = malloc(80)
    tl.registry.register(pointer, 80)
    view = tl.registry.view(pointer, 10, "float64")
    assert tl.registry.info(pointer)["count"] == 2
    array = tl.registry.adopt(pointer, (5, 2), "float64", strides=(8, 40))
    array[:] = numpy.arange(10).reshape(5, 2)
    assert view[1] == 2 and view[5] == 1
    del view
    assert tl.registry.is_registered(pointer)
    del array
    assert not tl.registry.is_registered(pointer)
    with pytest.raises(tl.UnknownPointerError):
        tl.registry.unregister(pointer)


def test_emitted_code_keeps_an_array() -> None:
    array = tl.registry.zeros(10)
    with tl.scope():
        assert tl.lib.tl_mem_register_ptr(array.ctypes.data) == 0
        del array
        assert tl.registry.total_bytes() == 80
    assert tl.registry.total_bytes() == 0


def test_what_is_refused_changes_nothing() -> None:
    pointer = malloc(64)
    with pytest.raises(tl.UnknownPointerError):
        tl.registry.adopt(pointer, 8, "float64")
    with pytest.raises(tl.UnknownPointerError):
        tl.registry.view(pointer, 8, "float64")
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.share(pointer, 64, [])
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.share(pointer, 64, [(pointer, 4, "f8"), (pointer + 64, 4, "f8")])
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.share(pointer, 64, [(pointer, -4, "f8")])
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.share(pointer, 64, [(pointer, (4, 2), "f8", (8,))])
    with pytest.raises(TypeError):
        tl.registry.share(pointer, 64, [(pointer, 4, object)])
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.register(pointer, 64, 77)
    with pytest.raises(tl.UnknownPointerError):
        tl.registry.info(pointer)
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.view(0, 8, "float64")
    assert tl.registry.num_pointers() == 0
    free(pointer)


@pytest.mark.parametrize("shape", [(1,) * 100, (2**40, 2**40), (2**70,), (3.5,)])
def test_a_description_that_makes_no_sense_takes_no_reference(shape: tuple[float, ...]) -> None:
    pointer = malloc(64)
    tl.registry.register(pointer, 64)
    for function in (tl.registry.adopt, tl.registry.view):
        with pytest.raises((ValueError, OverflowError, TypeError)):
            function(pointer, shape, "float32")
    with pytest.raises((ValueError, OverflowError, TypeError)):
        tl.registry.empty(shape, "float32") if len(shape) < 3 else tl.registry.view(pointer, shape, "S0")
    assert tl.registry.info(pointer)["count"] == 1
    tl.registry.unregister(pointer)
    pointer = malloc(64)
    with pytest.raises((ValueError, OverflowError, TypeError)):
        tl.registry.share(pointer, 64, [(pointer, 8, "f8"), (pointer, shape, "f4"), (pointer + 16, 1, "f8")])
    assert tl.registry.num_pointers() == 0
    free(pointer)


def test_no_array_reaches_beyond_its_block() -> None:
    pointer = malloc(64)
    for one in (
        (pointer, 9, "f8"),
        (pointer + 8, 8, "f8"),
        (pointer + 8, 3, "f8", (-8,)),
        (pointer, (2, 2), "f8", (56, 8)),
        (pointer, 2, "f8", (2**62,)),
    ):
        with pytest.raises(tl.InvalidArgumentError):
            tl.registry.share(pointer, 64, [one])
    assert tl.registry.num_pointers() == 0
    whole, back, none = tl.registry.share(
        pointer, 64, [(pointer, 8, "f8"), (pointer + 56, 8, "f8", (-8,)), (pointer, (0, 100), "f8")]
    )
    whole[:] = numpy.arange(8)
    assert back.tolist() == [7, 6, 5, 4, 3, 2, 1, 0] and none.size == 0
    del whole, back, none


def test_no_number_is_cut_off() -> None:
    """2**64 + 64 is not 64: ctypes would not say."""
    pointer, more = malloc(64), 2**64
    for call in (
        lambda: tl.registry.register(pointer, more + 64),
        lambda: tl.registry.register(pointer + more, 64),
        lambda: tl.registry.register(pointer, 64, 2**32 + 1),
        lambda: tl.registry.register(pointer, -1),
        lambda: tl.registry.share(pointer, more + 64, [(pointer, 1, "f8")]),
        lambda: tl.registry.columns(pointer, (2**62, 4), "f8"),
        lambda: tl.registry.empty((2**62, 2**62)),
        lambda: tl.registry.empty(more + 8, "u1"),
        lambda: tl.registry.Workspace(more + 1, 64),
        lambda: tl.registry.Workspace(1, more + 64),
        lambda: tl.registry.Workspace(1, 64, more + 64),
    ):
        with pytest.raises(tl.InvalidArgumentError):
            call()
    tl.registry.register(pointer, 64)
    for function in (tl.registry.unregister, tl.registry.is_registered, tl.registry.info):
        with pytest.raises(tl.InvalidArgumentError):
            function(pointer + more)
    tl.registry.unregister(pointer)


def test_elements_are_what_was_asked_for() -> None:
    fields = numpy.dtype({"names": ["b", "a"], "formats": ["i4", ">f8"], "offsets": [12, 0], "itemsize": 24})
    for kind in (fields, numpy.dtype(">f8"), numpy.dtype("M8[ns]"), numpy.dtype("S3"), numpy.dtype("?")):
        array = tl.registry.zeros((numpy.int64(3),), kind)
        assert array.dtype == kind and array.shape == (3,)
    assert tl.registry.zeros(numpy.int32(4)).shape == (4,) and tl.registry.zeros(()).shape == ()
    for kind in ("S", "V0", ("f4", (2,)), "O", "no type"):
        with pytest.raises(TypeError):
            tl.registry.zeros(3, kind)
        with pytest.raises(TypeError):
            tl.registry.Workspace(1, 64).array(0, kind)


def strange_addresses() -> Iterator[int]:
    """Numbers, and addresses in, around and after objects of the runtime."""
    yield from range(1, 300)
    yield from (1 << shift for shift in range(9, 64))
    yield from ((1 << 64) - step for step in (1, 8, 16, 4096))
    for size in (32, 100, 70_000):
        held = tl.lib.tl_mem_alloc(size)
        yield from (held + step for step in (-1, 0, 1, 8, 16, 31, 32, size))
        tl.lib.tl_ptr_release(held)
        yield held


def test_strange_addresses_are_answers() -> None:
    refusing = (tl.lib.tl_registry_unregister, tl.lib.tl_aligned_free)
    workspace = ctypes.POINTER(tl._abi.tl_workspace)
    for address in strange_addresses():
        assert not tl.registry.is_registered(address)
        for function in refusing:
            assert function(address) == tl.Status.UNKNOWN_POINTER
        with pytest.raises((tl.UnknownPointerError, tl.UnsupportedError)):
            tl.registry.info(address)
        handle = ctypes.cast(address, workspace)
        assert tl.lib.tl_workspace_get(handle, 0) is None
        assert tl.lib.tl_workspace_destroy(handle) == tl.Status.UNKNOWN_POINTER


def test_kinds_and_info(tmp_path: Path) -> None:
    array = tl.registry.empty(5, "int16")
    details = tl.registry.info(array.ctypes.data)
    assert details["kind"] == tl.registry.Kind.ALIGNED
    assert details["bytes"] == 10
    assert details["buffer_id"] == 0
    tl.registry.print_statistics(tmp_path / "statistics")
    assert "aligned" in (tmp_path / "statistics").read_text()
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.print_statistics(tmp_path / "none" / "statistics")


def test_info_of_what_was_recorded(python: Run) -> None:
    """Tracking adds names, which are no numbers."""
    program = """
        array = tl.registry.empty(5, "int16")
        with tl.tag("load"):
            other = tl.registry.empty(7, "int16")
        for block in array, other:
            details = tl.registry.info(block.ctypes.data)
            assert details["bytes"] == block.nbytes and details["number"] > 0
        assert tl.allocation_info(other.ctypes.data).tag == "load"
    """
    python(program, TL_TRACK="1")


@pytest.mark.parametrize(("given", "shards"), [("1", 1), ("16", 16), ("4096", 4096)])
def test_shards_by_environment(python: Run, tmp_path: Path, given: str, shards: int) -> None:
    program = f"""
        held = [tl.registry.zeros(1 << 12, "u1") for _ in range(1000)]
        tl.registry.print_statistics({str(tmp_path / "statistics")!r})
        del held
        assert tl.registry.num_pointers() == 0
    """
    python(program, TL_REGISTRY_SHARDS=given)
    lines = (tmp_path / "statistics").read_text().splitlines()
    assert [int(line.split()[-1]) for line in lines if line.split()[0] == "shards"] == [shards]


def test_workspace() -> None:
    work = tl.registry.Workspace(4, 1000)
    blocks = [work.array(rank, "float64") for rank in range(len(work))]
    for rank, block in enumerate(blocks):
        assert block.shape == (125,) and block.ctypes.data % 128 == 0
        block[:] = rank
    assert [block.sum() for block in blocks] == [0, 125, 250, 375]
    for rank in (-1, 4):
        with pytest.raises(tl.InvalidArgumentError):
            work.array(rank)
    for arguments in ((0, 10), (-1, 10), (4, 10, 3)):
        with pytest.raises(tl.InvalidArgumentError):
            tl.registry.Workspace(*arguments)
    last = blocks.pop()
    del work, blocks, block
    assert last[0] == 3 and tl.registry.total_bytes() > 4000
    del last


ENDINGS = {
    "global": "array = tl.registry.zeros(1000); view = array[2:]",
    "columns": "views = columns()",
    "half of the columns": "views = columns()[::2]",
    "workspace": "block = tl.registry.Workspace(4, 100).array(1)",
    "cycle": "class C: pass\nc = C(); c.self = c; c.views = columns()",
    "thread at work": """
import threading, time
def work():
    while True: columns()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
    "cleared by atexit": "import atexit\nviews = columns()\natexit.register(views.clear)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_exit(python: Run, ending: str) -> None:
    start = """
import ctypes
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
def columns(): return tl.registry.columns(malloc(40000), (100, 100), "float32")
"""
    python(start + ENDINGS[ending], "-X", "faulthandler")


def test_numpy_is_not_imported_unasked(python: Run) -> None:
    python("import sys\ntl.registry.num_pointers()\nassert 'numpy' not in sys.modules")


def test_fork(python: Run) -> None:
    """A child drops what it inherited, or leaves it; the parent's memory is its own."""
    python(
        """
        import os
        array = tl.registry.zeros(100)
        child = os.fork()
        if child == 0:
            array[:] = 1
            del array
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert array.sum() == 0 and tl.registry.total_bytes() == 800
        """
    )


def mapped(nbytes: int) -> tuple[mmap.mmap, int]:
    memory = mmap.mmap(-1, nbytes)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def test_columns_of_a_map_keep_the_map() -> None:
    memory, pointer = mapped(4 * 4096)
    released = weakref.ref(memory)
    views = tl.registry.columns(pointer, (1024, 4), "float32", owner=memory)
    buffer = tl.registry.info(pointer)["buffer_id"]
    rest = tl.registry.add_alias(buffer, pointer + 4, 10, "float32")
    assert tl.registry.num_buffers() == 1 and tl.registry.info(pointer)["kind"] == tl.registry.Kind.CUSTOM
    assert tl.registry.info(pointer)["block_count"] == 5
    del memory
    views[0][1:11] = range(10)
    assert rest.sum() == 45
    del views
    tl.registry.total_bytes()
    assert released() is not None
    del rest
    tl.zeros((2, 2))  # the next call that makes something releases what was kept
    assert released() is None


def test_add_alias_refuses_what_reaches_beyond_the_block() -> None:
    block = malloc(1000)
    (view,) = tl.registry.share(block, 1000, [(block, 100, "uint8")], deleter=free)
    buffer = tl.registry.info(block)["buffer_id"]
    for pointer, count in ((block + 999, 2), (block, 1001), (block + 1000, 1), (block - 1, 1)):
        with pytest.raises(tl.InvalidArgumentError):
            tl.registry.add_alias(buffer, pointer, count, "uint8")
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.add_alias(buffer + 1, block, 1, "uint8")
    assert tl.registry.info(block)["block_count"] == 1
    last = tl.registry.add_alias(buffer, block + 999, 1, "uint8")
    del view
    assert tl.registry.num_buffers() == 1
    last[0] = 1


def test_deleters_by_address_and_by_ctypes() -> None:
    address = ctypes.cast(free, ctypes.c_void_p).value
    for deleter in (free, address):
        block = malloc(64)
        tl.registry.register(block, 64, deleter=deleter, ctx=7)
        assert tl.registry.info(block)["kind"] == tl.registry.Kind.CUSTOM
        tl.registry.unregister(block)
        assert not tl.registry.is_registered(block)


def test_an_owner_of_a_refused_block_is_released() -> None:
    class Owner:
        pass

    owner = Owner()
    released = weakref.ref(owner)
    block = malloc(64)
    tl.registry.register(block, 64)
    with pytest.raises(tl.AlreadyRegisteredError):
        tl.registry.share(block, 64, [(block, 8, "uint8")], owner=owner)
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.register(block + 8, 8, deleter=free, owner=owner)
    with pytest.raises(tl.InvalidArgumentError):
        tl.registry.register(block + 8, 8, deleter=0)
    del owner
    gc.collect()  # errors and the frames that raised them
    assert released() is None
    tl.registry.unregister(block)
