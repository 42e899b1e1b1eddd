"""Arrays over tensors and tensors over arrays, without a copy, and who keeps whom alive."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import in_threads


def in_thread(work: Callable[[], None]) -> None:
    """Runs work in a thread of its own and passes on what it raises."""
    errors: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    in_threads(body)
    if errors:
        raise errors[0]


def is_live(address: int) -> bool:
    return tl.Object(address).status == tl.Status.OK


def owner(array: Any) -> tl.Tensor:
    """The tensor that an array keeps, by itself or by a buffer, which does not tell."""
    waiting = [array.base]
    while not isinstance(waiting[0], tl.Tensor):
        waiting += [thing for thing in gc.get_referents(waiting.pop(0)) if not isinstance(thing, type)]
    return waiting[0]


def test_array_is_the_tensor() -> None:
    tensor = tl.zeros((2, 3), "float32")
    array = tensor.numpy()
    assert array.ctypes.data == tensor.data
    assert array.shape == (2, 3)
    assert array.dtype == numpy.float32
    assert array.flags.writeable
    assert array.flags.c_contiguous
    array[1, 2] = 5
    assert tensor.numpy()[1, 2] == 5
    assert owner(numpy.asarray(tensor)) is tensor


@pytest.mark.parametrize("dtype", [dtype for dtype in tl.DType if dtype is not tl.DType.BFLOAT16])
def test_dtypes(dtype: tl.DType) -> None:
    array = tl.zeros(3, dtype).numpy()
    assert array.dtype == numpy.dtype(str(dtype))
    assert tl.from_numpy(array).dtype is dtype
    assert tl.empty(2, array.dtype).dtype is dtype
    assert tl.empty(2, array.dtype.type).dtype is dtype


def test_bfloat16_is_two_opaque_bytes() -> None:
    array = tl.zeros(3, "bfloat16").numpy()
    array.view(numpy.uint16)[...] = 0x3F80
    assert array.itemsize == 2


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (2, 3, 4), (1,) * 6])
def test_shapes(shape: tuple[int, ...]) -> None:
    array = tl.zeros(shape, "int32").numpy()
    assert array.shape == shape
    array += 1
    assert array.sum() == array.size
    assert tl.from_numpy(array).shape == shape


def test_array_outlives_tensor() -> None:
    tensor = tl.zeros(1000)
    address, array = tensor.address, tensor.numpy()
    del tensor
    gc.collect()
    assert is_live(address)
    array[:] = 3
    view = array[10:20]
    del array
    assert is_live(address)
    assert view.sum() == 30
    del view
    assert not is_live(address)


def test_tensor_outlives_array() -> None:
    tensor = tl.zeros(10)
    array = tensor.numpy()
    array[:] = 1
    del array
    assert is_live(tensor.address)
    assert tensor.numpy().sum() == 10


def test_last_array_goes_in_another_thread() -> None:
    holder = [tl.zeros(100).numpy()]
    address = owner(holder[0]).address
    in_thread(holder.clear)
    assert not is_live(address)


def test_tensor_of_a_thread_that_has_ended() -> None:
    made: list[Any] = []
    in_thread(lambda: made.append(tl.zeros(50).numpy()))
    made[0][:] = 2
    address = owner(made[0]).address
    assert made.pop().sum() == 100
    assert not is_live(address)


def test_many_threads() -> None:
    """Every thread makes, hands over and drops; in the end nothing is live (the fixture looks)."""
    shared: list[Any] = []
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for step in range(300):
                array = tl.zeros(1 + (seed * 7 + step) % 64).numpy()
                array += seed
                shared.append((seed, array))
                if step % 3:
                    owner, other = shared.pop(0)
                    assert (other == owner).all()
        except IndexError:
            pass  # another thread was quicker
        except BaseException as error:
            failures.append(error)

    in_threads(work, [(seed,) for seed in range(8)])
    shared.clear()
    assert not failures


def test_from_numpy_copies() -> None:
    source = numpy.arange(6, dtype="float32").reshape(2, 3)
    tensor = tl.from_numpy(source)
    source[:] = 0
    assert tensor.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_from_numpy_of_what_lies_otherwise() -> None:
    base = numpy.arange(24, dtype="int16").reshape(4, 6)
    for source in (
        base.T,
        base[::2, ::-1],
        base.astype(">i2"),
        base[:0],
        base[1, 1],
        numpy.broadcast_to(base[0], (3, 6)),
    ):
        tensor = tl.from_numpy(source)
        assert tensor.dtype is tl.DType.INT16
        assert (tensor.numpy() == source).all()
        assert tensor.is_contiguous
    assert tl.from_numpy([[1.5, 2.5]]).numpy().tolist() == [[1.5, 2.5]]


def test_arrays_that_no_tensor_can_hold() -> None:
    for source in (
        numpy.array(["text"]),
        numpy.array([object()]),
        numpy.zeros(2, "datetime64[s]"),
        numpy.zeros(2, "f4,f4"),
    ):
        with pytest.raises(TypeError):
            tl.from_numpy(source)
        with pytest.raises(TypeError):
            tl.from_numpy(source, copy=False)


def test_borrowed_array() -> None:
    array = numpy.arange(12, dtype="float64").reshape(3, 4)
    alive = weakref.ref(array)
    tensor = tl.from_numpy(array, copy=False)
    assert tensor.data == array.ctypes.data
    assert (tensor.shape, tensor.strides, tensor.dtype) == ((3, 4), (32, 8), tl.DType.FLOAT64)
    array[0, 0] = 99
    assert tensor.numpy()[0, 0] == 99
    del array
    assert alive() is not None
    assert tensor.clone().numpy()[2, 3] == 11
    del tensor
    assert alive() is None


def test_borrowed_array_with_strides() -> None:
    base = numpy.arange(24, dtype="int32").reshape(4, 6)
    for source in (base.T, base[::2], base[:, 1:3]):
        tensor = tl.from_numpy(source, copy=False)
        assert tensor.data == source.ctypes.data
        assert tensor.strides == source.strides
        assert (tensor.numpy() == source).all()
        assert (tensor.clone().numpy() == source).all()
        assert (tl.Tensor.from_address(tensor.address).numpy() == source).all()


def test_borrowed_array_that_generated_code_lets_go_of() -> None:
    """The deleter runs outside of Python; the next call into the package lets the array go."""
    array = numpy.zeros(10)
    alive = weakref.ref(array)
    tensor = tl.from_numpy(array, copy=False)
    address = tensor.address
    tl.lib.tl_tensor_acquire(address)
    del tensor, array
    assert alive() is not None
    tl.lib.tl_tensor_release(address)
    tl.stats()
    assert alive() is None


def test_borrowed_array_across_threads() -> None:
    arrays = [numpy.full(20, i) for i in range(50)]
    alive = [weakref.ref(array) for array in arrays]
    tensors = [tl.from_numpy(array, copy=False) for array in arrays]
    arrays.clear()
    halves = [tensors[:25], tensors[25:]]
    tensors.clear()
    threads = [threading.Thread(target=half.clear) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tl.stats()
    assert [ref() for ref in alive] == [None] * 50


def test_arrays_that_cannot_be_borrowed() -> None:
    odd = numpy.zeros(3, dtype=[("a", "u1"), ("b", "f4")])["b"]
    for source in (odd, numpy.zeros(3, ">f4")):
        with pytest.raises((ValueError, TypeError)):
            tl.from_numpy(source, copy=False)


def test_scalars_have_no_memory_to_lend() -> None:
    for scalar in (numpy.float64(3.25), numpy.int32(7), numpy.bool_(True)):
        with pytest.raises(TypeError, match="scalar of NumPy's"):
            tl.from_numpy(scalar, copy=False)
        assert tl.from_numpy(scalar).numpy() == scalar


class Described:
    """An array interface made by hand, anew each time that it is asked for."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    @property
    def __array_interface__(self) -> dict[str, Any]:
        owner = numpy.arange(64, dtype="f4")
        described = {"version": 3, "data": (owner.ctypes.data, False), "shape": (2, 2), "typestr": "<f4", "own": owner}
        return {**described, **self.changes}


def test_what_an_interface_refers_to_is_kept() -> None:
    tensors = [tl.from_numpy(Described(), copy=False) for _ in range(100)]
    junk = [numpy.full(64, 7, "f4") for _ in range(100)]
    assert all(tensor.numpy().tolist() == [[0, 1], [2, 3]] for tensor in tensors)
    assert len(junk) == 100


@pytest.mark.parametrize(
    "changes",
    [
        {"strides": (4,)},
        {"strides": (8, 4, 4)},
        {"strides": (1 << 66, 4)},
        {"shape": (2,) * 8, "strides": (4,)},
        {"shape": ((1 << 64) + 2,)},
        {"data": ((1 << 64) + 4096, False)},
        {"data": None},
        {"data": b"ab"},
        {"offset": 16},
        {"mask": numpy.zeros((2, 2), bool)},
    ],
    ids=str,
)
def test_descriptions_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        tl.from_numpy(Described(**changes), copy=False)
    with pytest.raises((ValueError, TypeError, OverflowError)):
        described = Described(**{"shape": (3,), "typestr": "<i8", **changes})
        tl.SparseMatrix.from_arrays((2, 2), described, described, described, copy=False)


def test_tensor_over_a_tensor() -> None:
    inner = tl.zeros(8)
    address = inner.address
    outer = tl.from_numpy(inner, copy=False)
    del inner
    assert is_live(address)
    outer.numpy()[:] = 4
    del outer
    assert not is_live(address)


def test_hand_over_asks_the_runtime_nothing() -> None:
    """The interface is made with the tensor, so that numpy() costs what NumPy takes (bench/ has the time)."""
    tensor = tl.zeros((32, 32))
    first = tl.stats()["slow_calls"]
    cost_of_stats = tl.stats()["slow_calls"] - first
    arrays = [tensor.numpy() for _ in range(1000)]
    assert tl.stats()["slow_calls"] - first == 2 * cost_of_stats
    assert len(arrays) == 1000
