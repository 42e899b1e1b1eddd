"""Pickles and copies of tensors: what shares memory goes on sharing it, and nothing is copied but by the transport."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import pickletools
import random
import resource
from collections.abc import Callable
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run, in_threads

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def filled(shape: Any, dtype: Any = "int32") -> tl.Tensor:
    """A tensor of bytes that all differ from their neighbours."""
    tensor = tl.empty(shape, dtype)
    content = bytes(number % 251 for number in range(tensor.nbytes))
    ctypes.memmove(tensor.data, content, tensor.nbytes)
    return tensor


def content(tensor: tl.Tensor) -> bytes:
    """The elements in row-major order."""
    plain = tensor.cpu().clone()
    return ctypes.string_at(plain.data, plain.nbytes)


def in_band(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


def out_of_band(value: Any) -> Any:
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(stream, buffers=[bytearray(buffer.raw()) for buffer in buffers])


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"protocol {number}": lambda value, number=number: in_band(value, number) for number in PROTOCOLS},
    "out of band": out_of_band,
    "python's pickler": lambda value: pickle._loads(pickle._dumps(value, 5)),
    "deepcopy": copy.deepcopy,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@every_way
@pytest.mark.parametrize("dtype", tl.DType)
def test_every_type(way: Callable[[Any], Any], dtype: tl.DType) -> None:
    tensor = filled((3, 4), dtype)
    again = way(tensor)
    assert (again.shape, again.dtype, again.device, again.base) == ((3, 4), dtype, 0, None)
    assert content(again) == content(tensor)
    assert again.data != tensor.data
    assert again.is_contiguous and not again.is_read_only
    assert tensor.refcount == again.refcount == 1


@every_way
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 5, 1), (2,) * 8])
def test_every_shape(way: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    tensor = filled(shape)
    again = way(tensor)
    assert again.shape == shape
    assert content(again) == content(tensor)


@every_way
def test_views_of_one_base_are_views_of_one_base(way: Callable[[Any], Any]) -> None:
    base = filled((4, 6))
    given = [base[1:3], base.T[::-2], base, base.reshape(24)[5:9]]
    rows, columns, again, flat = way(given)
    assert again.base is None
    for was, is_now in zip(given, (rows, columns, again, flat)):
        assert (is_now.shape, is_now.strides, content(is_now)) == (was.shape, was.strides, content(was))
        assert is_now.data - again.data == was.data - base.data
    assert {part.base.address for part in (rows, columns, flat)} == {again.address}
    ctypes.memset(again.data, 7, again.nbytes)
    assert content(rows) == b"\7" * rows.nbytes
    assert content(base) != content(again)


@every_way
def test_views_without_their_base(way: Callable[[Any], Any]) -> None:
    base = filled((4, 6))
    first, second = base[:2], base[1:3]
    del base
    first, second = way((first, second))
    assert first.base.address == second.base.address
    ctypes.memset(first[1].data, 9, 24)
    assert content(second[0]) == b"\11" * 24


def test_one_tensor_is_in_a_pickle_once() -> None:
    tensor = filled((100, 100))
    handles = [tl.Tensor.from_address(tensor.address) for _ in range(5)]
    assert len(pickle.dumps([tensor, *handles, tensor.T, tensor[3]])) < tensor.nbytes + 2000
    loaded = in_band([tensor, *handles])
    assert len({handle.address for handle in loaded}) == 1


def test_two_pickles_share_nothing() -> None:
    base = filled(10)
    first, second = in_band(base[2:]), in_band(base[2:])
    ctypes.memset(first.data, 1, 4)
    assert content(first) != content(second)
    assert not second.base.refcount < 2


def test_a_pickler_remembers_what_it_has_seen() -> None:
    """The base that two calls of dump share is written by the first."""
    import io

    base, file = filled(1000), io.BytesIO()
    pickler = pickle.Pickler(file, 5)
    pickler.dump(base[1:])
    before = file.tell()
    pickler.dump(base[2:])
    assert file.tell() - before < 200
    file.seek(0)
    unpickler = pickle.Unpickler(file)
    first, second = unpickler.load(), unpickler.load()
    assert first.base.address == second.base.address
    assert second.data - first.data == 4


def random_view(tensor: tl.Tensor, generator: random.Random) -> tl.Tensor:
    """A view by some steps, of those that the library has."""
    for _ in range(generator.randrange(1, 7)):
        rank, kind = tensor.ndim, generator.randrange(6)
        if kind == 0:
            order = list(range(rank))
            generator.shuffle(order)
            tensor = tensor.transpose(order)
        elif kind == 1 and rank:
            axis = generator.randrange(rank)
            extent = tensor.shape[axis]
            part = slice(generator.randrange(extent + 1), None, generator.choice([1, 1, 2, 3, -1, -2]))
            tensor = tensor[(slice(None),) * axis + (part,)]
            if 0 in tensor.shape:
                return tensor
        elif kind == 2 and rank:
            axis = generator.randrange(rank)
            tensor = tensor[(slice(None),) * axis + (generator.randrange(tensor.shape[axis]),)]
        elif kind == 3 and rank < 6:
            tensor = tensor.expand_dims(generator.randrange(rank + 1))
            shape = [3 if extent == 1 and generator.random() < 0.3 else extent for extent in tensor.shape]
            tensor = tensor.broadcast_to(shape)
        elif kind == 4 and rank:
            axis = generator.randrange(rank)
            divisors = [n for n in range(1, tensor.shape[axis] + 1) if tensor.shape[axis] % n == 0]
            divisor = generator.choice(divisors)
            split = (*tensor.shape[:axis], divisor, tensor.shape[axis] // divisor, *tensor.shape[axis + 1 :])
            if len(split) <= 8:
                tensor = tensor.reshape(split)
        elif kind == 5 and rank > 1:
            axis = generator.randrange(rank - 1)
            extent = tensor.shape[axis] * tensor.shape[axis + 1]
            try:
                tensor = tensor.reshape(*tensor.shape[:axis], extent, *tensor.shape[axis + 2 :])
            except tl.UnsupportedError:
                continue
    return tensor


@pytest.mark.parametrize("seed", range(20))
def test_random_views(seed: int) -> None:
    """Whatever the library makes of a tensor comes back as a view, with the same strides."""
    generator = random.Random(seed)
    for _ in range(40):
        base = filled([generator.randrange(1, 13) for _ in range(generator.randrange(1, 5))], "int16")
        view = random_view(base, generator)
        again, of = in_band((view, base))
        assert (again.shape, content(again)) == (view.shape, content(view))
        assert of.base is None
        if view.base is None:
            continue
        assert again.base.address == of.address
        if 0 not in view.shape:
            assert again.data - of.data == view.data - base.data
            for extent, stride, was in zip(view.shape, again.strides, view.strides):
                assert extent == 1 or stride == was


def borrowed() -> dict[str, Callable[[Any], Any]]:
    return {
        "Fortran's order": lambda numpy: numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4)),
        "backwards": lambda numpy: numpy.arange(12.0).reshape(3, 4)[::-1],
        "one axis backwards": lambda numpy: numpy.arange(12.0)[::-1],
        "axes in another order": lambda numpy: numpy.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
        "gaps": lambda numpy: numpy.arange(24.0).reshape(4, 6)[::2, 1:4],
        "gaps, backwards": lambda numpy: numpy.arange(48.0).reshape(4, 6, 2)[:, 4::-2, 1],
        "repeated": lambda numpy: numpy.broadcast_to(numpy.arange(4.0), (3, 4)),
        "overlapping": lambda numpy: numpy.lib.stride_tricks.sliding_window_view(numpy.arange(9.0), 3),
    }


@every_way
@pytest.mark.parametrize("name", borrowed())
def test_memory_of_others(way: Callable[[Any], Any], name: str) -> None:
    numpy = pytest.importorskip("numpy")
    array = borrowed()[name](numpy)
    tensor = tl.from_numpy(array, copy=False)
    row, again, column = way((tensor[1:], tensor, tensor.T[1]))
    assert numpy.array_equal(again.numpy(), array)
    assert numpy.array_equal(row.numpy(), array[1:])
    assert numpy.array_equal(column.numpy(), array.T[1])
    if name not in ("repeated", "overlapping"):
        assert numpy.shares_memory(row.numpy(), again.numpy()) and numpy.shares_memory(column.numpy(), again.numpy())
        again.numpy()[:] = -1
        assert (row.numpy() == -1).all() and (column.numpy() == -1).all()


def test_read_only_travels_as_read_only() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(5.0)
    array.flags.writeable = False
    tensor = tl.from_numpy(array, copy=False)
    assert tensor.is_read_only
    assert in_band(tensor, 5).is_read_only
    assert not in_band(tensor, 4).is_read_only  # a copy of its own
    assert not copy.deepcopy(tensor).is_read_only


def test_out_of_band_nothing_is_copied() -> None:
    tensor = filled((1 << 20,), "float64")
    buffers: list[Any] = []
    stream = pickle.dumps([tensor, tensor[5:]], 5, buffer_callback=buffers.append)
    assert len(stream) < 500 and len(buffers) == 1
    sent = buffers[0].raw()
    assert ctypes.addressof(ctypes.c_char.from_buffer(sent)) == tensor.data
    received = bytearray(sent)
    again, part = pickle.loads(stream, buffers=[received])
    assert again.data == ctypes.addressof(ctypes.c_char.from_buffer(received))
    assert part.data == again.data + 40 and part.base.address == again.address
    received[:8] = b"\5" * 8
    assert ctypes.string_at(again.data, 8) == b"\5" * 8


def test_out_of_band_over_a_read_only_buffer() -> None:
    tensor = filled(1000)
    buffers: list[Any] = []
    stream = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    received = bytes(buffers[0].raw())
    again = pickle.loads(stream, buffers=[received])
    assert again.is_read_only and again[3:].is_read_only
    assert content(again) == content(tensor)
    view = memoryview(received)
    with_offset = pickle.loads(stream, buffers=[memoryview(b"x" + received)[1:]])  # where no int32 can stand
    assert content(with_offset) == content(tensor) and with_offset.data % 4 == 0
    del view


def test_a_buffer_lives_as_long_as_the_tensor() -> None:
    class Known(bytearray):
        gone = False

        def __del__(self) -> None:
            Known.gone = True

    buffers: list[Any] = []
    stream = pickle.dumps(filled(10), 5, buffer_callback=buffers.append)
    part = pickle.loads(stream, buffers=[Known(buffers[0].raw())])[3:]
    gc.collect()
    assert not Known.gone
    del part
    tl.zeros(1)  # the next call into the package releases it
    assert Known.gone


def test_what_is_sent_lives_as_long_as_the_buffer() -> None:
    tensor = filled(10)
    buffers: list[Any] = []
    pickle.dumps(tensor[2:], 5, buffer_callback=buffers.append)
    address, wanted = tensor.address, content(tensor)
    del tensor
    assert tl.Object(address).status == tl.Status.OK
    assert bytes(buffers[0].raw()) == wanted
    buffers.clear()
    assert tl.Object(address).status != tl.Status.OK


def test_pages_that_a_pickle_touches(python: Run) -> None:
    """64 MiB travel out of band without a new page, and in band with those of the pickle alone."""
    python(
        """
import pickle, resource
tensor = tl.zeros((1 << 24,), "float32")
pages = tensor.nbytes // resource.getpagesize()
def faults(work):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    result = work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, result
pickle.loads(pickle.dumps(tl.zeros(3), 5))
buffers = []
sent, stream = faults(lambda: pickle.dumps(tensor, 5, buffer_callback=buffers.append))
received = bytearray(buffers[0].raw())
got, again = faults(lambda: pickle.loads(stream, buffers=[received]))
assert sent < 50 and got < 50, (sent, got)
del again, received
limit = tl.stats()["committed_bytes"]
got, again = faults(lambda: pickle.loads(pickle.dumps(tensor, 5)))
assert tl.stats()["committed_bytes"] <= limit
assert got < 3.2 * pages, (got, pages)  # the stream grows by copies of itself; then the bytearray
"""
    )


# Of [tensor[1:], tl.DType.INT16] and of a matrix, by the first version, which had all its modules in one folder.
STORED = (
    b"\x80\x02](ctl_runtime._pickling\nload_tensor\nctl_runtime._pickling\nload_bytes\n(c_codecs\nencode\nX\x03\x00"
    b"\x00\x00\x00\x01\x02X\x06\x00\x00\x00latin1\x86RX\x05\x00\x00\x00UINT8K\x03\x85X\x03\x00\x00\x00cputRK"
    b"\x01K\x02\x85K\x01\x85\x87\x86Rctl_runtime._dtype\nDType\nK\x12\x85Re."
)
STORED_MATRIX = (
    b"\x80\x02ctl_runtime._pickling\nload_sparse\n(X\x03\x00\x00\x00csrK\x01K\x03\x86K\x00ctl_runtime._pickling\n"
    b"load_bytes\nq\x00(c_codecs\nencode\nq\x01X\x02\x00\x00\x00\x02\x05X\x06\x00\x00\x00latin1q\x02\x86RX\x05\x00"
    b"\x00\x00UINT8K\x02\x85X\x03\x00\x00\x00cpuq\x03tRh\x00(h\x01X\x08\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00"
    b"\x00h\x02\x86RX\x05\x00\x00\x00INT32q\x04K\x02\x85h\x03tRh\x00(h\x01X\x08\x00\x00\x00\x00\x00\x00\x00\x02"
    b"\x00\x00\x00h\x02\x86Rh\x04K\x02\x85h\x03tRtR."
)


def test_pickles_of_an_older_version() -> None:
    """They are loaded, and what is pickled now names the same functions."""
    tensor, dtype = pickle.loads(STORED)
    assert (content(tensor), tensor.dtype, dtype) == (b"\x01\x02", tl.DType.UINT8, tl.DType.INT16)
    values, indices, _ = pickle.loads(STORED_MATRIX).to_contiguous()
    assert (content(values), content(indices)) == (b"\x02\x05", bytes([0, 0, 0, 0, 2, 0, 0, 0]))
    for stored in (STORED, STORED_MATRIX):
        assert pickletools.optimize(pickle.dumps(pickle.loads(stored), 2)) == stored


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_refused_pickles(protocol: int) -> None:
    from tl_runtime._tensor import pickling

    load = pickling.load_buffer if protocol == 5 else pickling.load_bytes
    for content, dtype, shape in ((bytes(8), "INT32", (3,)), (bytes(12), "INT32", (-3,)), (bytes(8), "INT32", (3, 0))):
        with pytest.raises(ValueError, match="bytes"):
            load(content, dtype, shape, "cpu")
    with pytest.raises(TypeError, match="INT33"):
        load(bytes(8), "INT33", (2,), "cpu")
    storage = tl.zeros(10)
    for layout in ((0, (11,), (1,)), (-1, (3,), (1,)), (9, (2,), (1,)), (1, (3,), (-1,)), (0, (1 << 40,), (1 << 40,))):
        with pytest.raises(ValueError):
            pickling.load_tensor(storage, layout)


def test_a_layout_that_no_view_has() -> None:
    """Windows that overlap: the library makes no such view, and a pickle may hold one all the same."""
    from tl_runtime._tensor import pickling

    storage = filled(10)
    windows = pickling.load_tensor(storage, (0, (4, 3), (2, 1)))
    assert windows.shape == (4, 3) and windows.strides == (8, 4) and windows.data == storage.data
    assert content(windows[1]) == content(storage[2:5])
    address = storage.address
    del storage
    assert tl.Object(address).status == tl.Status.OK  # the windows hold it


def test_copies() -> None:
    tensor = filled((4, 5))
    shallow, deep = copy.copy(tensor.T), copy.deepcopy(tensor)
    assert content(shallow) == content(tensor.T) and content(deep) == content(tensor)
    assert shallow.base is None and len({shallow.data, deep.data, tensor.data}) == 3
    with pytest.raises(TypeError):
        tl.Tensor()


def test_deepcopy_of_a_structure() -> None:
    base = filled(100)
    model = {"weights": base, "bias": base[90:], "list": [base[:10]]}
    again = copy.deepcopy(model)
    assert again["bias"].base.address == again["list"][0].base.address == again["weights"].address
    assert again["weights"].data != base.data


def test_copyreg_decides_before_the_tensor() -> None:
    """Programs may register a way of their own for tensors."""
    import copyreg

    kept = copyreg.dispatch_table.get(tl.Tensor)
    copyreg.pickle(tl.Tensor, lambda tensor: (str, ("mine",)))
    try:
        assert in_band(tl.zeros(3)) == "mine"
    finally:
        if kept is None:
            del copyreg.dispatch_table[tl.Tensor]
        else:
            copyreg.dispatch_table[tl.Tensor] = kept
    assert in_band(tl.zeros(3)).shape == (3,)


def test_threads_that_pickle_at_once() -> None:
    
    base = filled(1000)
    failures: list[Any] = []

    def work() -> None:
        for _ in range(50):
            first, second = in_band((base[1:], base[5:]))
            if first.base.address != second.base.address or content(first) != content(base[1:]):
                failures.append((first, second))

    in_threads(work, [()] * 4)
    assert not failures


def test_cloudpickle() -> None:
    """What Dask and Ray pickle with: functions that hold tensors, and their buffers out of band."""
    cloudpickle = pytest.importorskip("cloudpickle")
    base = filled((3, 4))
    view = base[1:]
    buffers: list[Any] = []
    stream = cloudpickle.dumps(lambda: (base, view), protocol=5, buffer_callback=buffers.append)
    again, part = pickle.loads(stream, buffers=[bytearray(buffer.raw()) for buffer in buffers])()
    assert len(buffers) == 1 and part.base.address == again.address
    assert content(part) == content(view)
