"""The extension module beside its twin: both do the same to the same tensor, exceptions and their texts included."""

from __future__ import annotations

import ctypes
import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import Run, in_threads
from tl_runtime._binding.native import fast
from tl_runtime._tensor.methods import TensorMethods
from tl_runtime._tensor.tensor import TWINS, CtypesTensor

needs_fast = pytest.mark.skipif(fast is None, reason="tl_runtime._fast is not in use")


def outcome(call: Callable[[], Any]) -> Any:
    """What a call does, in a form that the two ways have in common."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    if isinstance(result, TensorMethods):
        return described(result)
    if isinstance(result, numpy.ndarray):
        flags, strides = result.flags, result.strides if result.size else ()  # they say nothing of no elements
        return result.shape, strides, result.dtype, result.ctypes.data, flags.writeable, flags.aligned
    if isinstance(result, memoryview):
        # Others say nothing.
        strides = [step for step, extent in zip(result.strides, result.shape) if extent > 1 and result.nbytes]
        return result.shape, strides, result.itemsize, result.readonly, result.c_contiguous
    return result


def described(tensor: Any) -> tuple[Any, ...]:
    names = ("shape", "strides", "ndim", "dtype", "itemsize", "nbytes", "size", "data", "device", "is_contiguous")
    return (*(getattr(tensor, name) for name in names), tensor.is_read_only, tensor.__dlpack_device__())


def tensors() -> list[tl.Tensor]:
    counted = tl.empty((2, 3, 4), "int64")
    counted.numpy()[...] = numpy.arange(24).reshape(2, 3, 4)
    locked = numpy.arange(6.0)
    locked.flags.writeable = False
    odd = numpy.frombuffer(bytearray(17), "u1")[1:].view("f4")
    made = [counted, counted.T, counted[:, ::-2], counted[1], counted.broadcast_to(5, 2, 3, 4)]
    made += [tl.zeros(()), tl.zeros((3, 0)), tl.zeros((1,) * 8), tl.zeros((1, 3, 1)).T]
    made += [tl.from_numpy(locked, copy=False), tl.from_numpy(odd, copy=False)]
    made += [tl.zeros((2, 2), dtype) for dtype in tl.DType]
    return made


class Index:
    def __index__(self) -> int:
        return 1


class Failing:
    def __index__(self) -> int:
        raise KeyError("no number")


INDICES = [
    0, 1, -1, 2, -3, True, 1.5, "a", None, ..., (), (0, 1), (0, 1, 2), (0,) * 9, (..., 0), (None, 1), [0],
    slice(None), slice(1, 3), slice(None, None, -1), slice(None, None, 2), slice(None, None, 0), slice(1.5, 2),
    slice(-100, 100), slice(1 << 70, None), slice(None, -(1 << 70), -1), slice(None, None, 1 << 62),
    slice(None, None, 1 << 70), slice(None, None, (1 << 63) - 1), 1 << 70, numpy.int64(1), Index(), Failing(),
    slice(Index(), None), slice(Failing(), None), (slice(None), 1), (slice(0, 1), slice(None, None, -1), 2),
]  # fmt: skip

METHODS: list[Callable[[Any], Any]] = [
    lambda t: t.T,
    lambda t: t.numpy(),
    lambda t: t.transpose(),
    lambda t: t.transpose(None),
    lambda t: t.transpose(2, 0, 1),
    lambda t: t.transpose((1, 0)),
    lambda t: t.transpose([0]),
    lambda t: t.transpose(0, 0, 0),
    lambda t: t.transpose("a"),
    lambda t: t.transpose(numpy.int64(0)),
    lambda t: t.transpose(*range(9)),
    lambda t: t.reshape(-1),
    lambda t: t.reshape(4, 6),
    lambda t: t.reshape((2, -1)),
    lambda t: t.reshape([3, 8]),
    lambda t: t.reshape(),
    lambda t: t.reshape(1 << 70),
    lambda t: t.reshape(1.5),
    lambda t: t.reshape(*(1,) * 9),
    lambda t: t.reshape(-1, -1),
    lambda t: t.__buffer__(0),
    lambda t: t.__dlpack__(1),
    lambda t: t.__dlpack__(stream=1),
    lambda t: t.__dlpack__(dl_device=(2, 0)),
    lambda t: t.__dlpack__(max_version="1"),
    lambda t: t.__dlpack__(wrong=1),
    lambda t: t.__array_interface__,
    lambda t: t.swapaxes(0, 7),
    lambda t: t.squeeze(),
    lambda t: t.expand_dims(0),
    lambda t: len(t),
    lambda t: t.missing,
    lambda t: type(t)(),
    lambda t: type(t)(1, x=2),
    lambda t: t.base is None,
    lambda t: repr(t),
    lambda t: type(t).__name__ + type(t).__module__ + str(type(t).__doc__),
    lambda t: t.from_address(0),
    lambda t: t.from_address(8),
    lambda t: t.from_address(t.address),
]


@needs_fast
@pytest.mark.parametrize("number", range(len(tensors())))
def test_both_ways_do_the_same_to_a_tensor(number: int) -> None:
    tensor = tensors()[number]
    twin = CtypesTensor.from_address(tensor.address)
    assert type(twin) is not type(tensor)
    assert described(twin) == described(tensor)
    for index in INDICES:
        assert outcome(lambda: tensor[index]) == outcome(lambda: twin[index]), index  # noqa: B023
    for at, method in enumerate(METHODS):
        assert outcome(lambda: method(tensor)) == outcome(lambda: method(twin)), at  # noqa: B023
    exports: list[dict[str, Any]] = [{}, {"max_version": (1, 0)}, {"max_version": (0, 8)}, {"dl_device": (1, 0)}]
    for keywords in [*exports, {"dl_device": [1, 0]}, {"copy": True}]:
        both = [outcome(lambda: tl.from_dlpack(way.__dlpack__(**keywords))) for way in (tensor, twin)]  # noqa: B023
        if isinstance(both[0][0], tuple) and keywords.get("copy"):
            both = [found[:7] + found[8:] for found in both]  # the data lie elsewhere
        assert both[0] == both[1], keywords


MAKINGS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((3,), {}), (((2, 3),), {}), (([2, 3],), {}), (((),), {}), (((2, 3), "float64"), {}), ((4, float), {}),
    ((4, tl.DType.INT8), {}), ((4, 17), {}), ((4, numpy.dtype("int16")), {}), ((4, numpy.float32), {}),
    ((4,), {"dtype": "bool"}), ((4,), {"device": 0}), ((4,), {"device": "cpu"}), ((4,), {"device": None}),
    ((), {"shape": 4}), ((True,), {}), (((numpy.int64(2), 3),), {}), ((range(3),), {}), ((numpy.array([2, 3]),), {}),
    ((), {}), ((1, 2, 3, 4), {}), ((4,), {"shape": 4}), ((4,), {"wrong": 1}), (("ab",), {}), ((1.5,), {}), ((-1,), {}),
    (((-1, 2),), {}), ((1 << 70,), {}), (((1 << 40, 1 << 40),), {}), (((1,) * 9,), {}), ((4, "float33"), {}),
    ((4, None), {}), ((4, object), {}), ((4, 999), {}), ((4,), {"device": 77}), ((4,), {"device": "nope:0"}),
    ((4,), {"device": 1 << 70}), ((4,), {"device": 1.5}), (((Failing(),),), {}), ((1 << 48,), {}),
]  # fmt: skip


@needs_fast
@pytest.mark.parametrize("name", ["empty", "zeros"])
def test_both_ways_make_the_same(name: str) -> None:
    make, twin = getattr(tl, name), TWINS[name]
    assert make is not twin
    for arguments, keywords in MAKINGS:
        ours, theirs = (outcome(lambda: way(*arguments, **keywords)) for way in (make, twin))  # noqa: B023
        if isinstance(ours[0], tuple):
            ours, theirs = (found[:7] + (bool(found[7]),) + found[8:] for found in (ours, theirs))
        assert ours == theirs, (arguments, keywords)


@needs_fast
def test_both_ways_take_the_same_from_others() -> None:
    class Producer:
        def __init__(self, **methods: Any) -> None:
            self.__dict__.update(methods)

        def __dlpack_device__(self) -> Any:
            return self.device()  # type: ignore[attr-defined]

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.give(**keywords)  # type: ignore[attr-defined]

    def refuse(**keywords: Any) -> Any:
        raise BufferError("not now")

    array = numpy.arange(12.0).reshape(3, 4)
    ways = (tl.from_dlpack, TWINS["from_dlpack"])
    sources: list[Any] = [array, array.T, array[::-1], array[:0], numpy.float32(1), numpy.zeros(2, ">f4")]
    sources += [[1], None, object()]
    gifts = [refuse, lambda **keywords: None, array.__dlpack__, lambda: array.__dlpack__(), lambda **keywords: 1 // 0]
    for here in ((1, 0), [1, 0], (2, 0), (1,), None, ("a", 0)):
        sources += [Producer(device=lambda here=here: here, give=give) for give in gifts]
    wishes = ({}, {"copy": None}, {"copy": False}, {"device": None}, {"device": "cpu"}, {"copy": True}, {"x": 1})
    for at, source in enumerate(sources):
        for keywords in wishes:
            ours, theirs = (outcome(lambda: way(source, **keywords)) for way in ways)  # noqa: B023
            if keywords.get("copy") and isinstance(ours[0], tuple):
                ours, theirs = ours[:7] + ours[8:], theirs[:7] + theirs[8:]
            assert ours == theirs, (at, keywords)
    for arguments in ((), (array, array)):
        ours, theirs = (outcome(lambda: way(*arguments)) for way in ways)  # noqa: B023
        assert ours == theirs


@needs_fast
def test_buffers_are_as_consumers_want_them() -> None:
    """By all requests that the C interface knows, as NumPy answers them for the same memory."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
    get = prototype(("PyObject_GetBuffer", ctypes.pythonapi))
    release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyBuffer_Release", ctypes.pythonapi))
    writable, formatted, nd, strides, c, fortran, either, indirect = 1, 4, 8, 0x18, 0x38, 0x58, 0x98, 0x118
    buffer = ctypes.create_string_buffer(200)

    def answer(source: Any, flags: int) -> bool:
        try:
            get(source, buffer, flags)
        except (BufferError, ValueError):
            return False
        release(buffer)
        return True

    for tensor in tensors():
        array = tensor.numpy()
        if array.dtype.kind == "V":
            continue
        for shape in (0, nd, strides, c, fortran, either, indirect):
            for flags in (shape, shape | writable, shape | formatted, shape | writable | formatted):
                assert answer(tensor, flags) == answer(array, flags), (tensor, flags)
        same = numpy.asarray(tensor)
        assert (same.ctypes.data, same.shape, same.dtype) == (array.ctypes.data, array.shape, array.dtype)
        assert memoryview(tensor).tobytes() == array.tobytes()


@needs_fast
def test_a_tensor_is_no_part_of_collections() -> None:
    tensor = tl.zeros(3)
    assert not gc.is_tracked(tensor)
    gone: list[int] = []
    reference = weakref.ref(tensor, lambda _: gone.append(1))
    assert reference() is tensor
    del tensor
    assert (reference(), gone) == (None, [1])


def assert_nothing_is_left(work: Callable[[], Any], held: list[Any]) -> None:
    """Repeated work leaves the counts of the objects held, and Python's memory, as they were."""
    for _ in range(20):
        work()
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in held]
    tracemalloc.start()
    grown = []
    for _ in range(5):
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            work()
        gc.collect()
        grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert [sys.getrefcount(thing) for thing in held] == counts
    # Python's own caches fill in some of the rounds: its cache of attributes holds thousands of names. What the work
    # leaves, if it is but one object of 16 bytes, grows in each of them.
    assert min(grown) < 300 * 16, grown


@needs_fast
def test_calls_leave_no_references() -> None:
    """Many calls of each kind, failing ones too, leave counts and memory of Python's as they were."""
    tensor, array = tl.zeros((4, 4)), numpy.zeros((4, 4))
    capsule = tensor.__dlpack__()
    tl.from_dlpack(capsule)

    calls: list[Callable[[], Any]] = [
        lambda: tl.empty((4, 4), "float64"),
        lambda: tl.zeros(3, device="cpu"),
        lambda: tl.empty(-1),
        lambda: tl.empty("ab"),
        lambda: tensor.numpy(),
        lambda: tensor.T,
        lambda: tensor[1:, 2],
        lambda: tensor[9],
        lambda: tensor[None, 1],
        lambda: tensor.reshape(16),
        lambda: tensor.reshape(3),
        lambda: tensor.shape,
        lambda: tensor.strides,
        lambda: tensor.dtype,
        lambda: tl.from_dlpack(array),
        lambda: tl.from_dlpack(capsule),
        lambda: tl.from_dlpack([1]),
        lambda: memoryview(tensor),
        lambda: tensor.__dlpack__(max_version=(1, 0)),
        lambda: tensor.__dlpack__(copy=True),
        lambda: numpy.from_dlpack(tensor),
        lambda: tensor.__array_interface__,
        lambda: type(tensor)(),
        lambda: tl.Tensor.from_address(tensor.address),
    ]

    held = [type(tensor), numpy.ndarray, numpy.dtype("float32"), numpy.dtype("float64"), tl.DType.FLOAT32]
    assert_nothing_is_left(lambda: [outcome(call) for call in calls], [*held, tensor, array, capsule])


@needs_fast
def test_long_chains_of_borrowed_arrays_end_without_a_deep_stack() -> None:
    """Each tensor is over an array over a tensor over an array, and so on."""
    made: Any = numpy.zeros(4)
    for _ in range(20_000):
        made = tl.from_numpy(made, copy=False).numpy()
    address = made.base.address
    del made
    tl.stats()
    assert tl.Object(address).status != tl.Status.OK
    made = numpy.zeros(4)
    for _ in range(20_000):
        made = numpy.from_dlpack(tl.from_dlpack(made))
    del made


@needs_fast
def test_threads_use_one_tensor() -> None:
    tensor = tl.zeros((8, 8))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3000):
                assert tensor.T[1:3].reshape(2, 8).numpy().shape == (2, 8)
                assert tl.from_dlpack(tl.empty((3, 3)).numpy()).shape == (3, 3)
        except BaseException as error:
            errors.append(error)

    in_threads(work, [()] * 4)
    assert not errors
    assert tensor.refcount == 1


def test_the_way_is_the_environments(python: Run) -> None:
    """0 goes through ctypes, 1 insists on the extension module."""
    code = "from tl_runtime._binding.native import fast\nprint(fast is None, type(tl.zeros(3)).__flags__ & 512 != 0)"
    assert python(code, TL_PYTHON_FAST="0").stdout.split()[0] == "True"
    if fast is not None:
        assert python(code, TL_PYTHON_FAST="1").stdout.split()[0] == "False"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older versions have no extension module")
def test_a_missing_module_is_an_error_on_request(python: Run, tmp_path: Any) -> None:
    code = "import sys\nsys.modules['tl_runtime._fast'] = None\n"
    script = tmp_path / "sitecustomize.py"
    script.write_text(code)
    program = f"""
import os, subprocess, sys
path = {str(tmp_path)!r} + os.pathsep + os.environ["PYTHONPATH"]
for way in ("1", ""):
    environment = {{**os.environ, "PYTHONPATH": path, "TL_PYTHON_FAST": way}}
    command = [sys.executable, "-c", "import tl_runtime"]
    print(subprocess.run(command, env=environment, stderr=subprocess.DEVNULL).returncode)
"""
    assert python(program, TL_PYTHON_FAST="0").stdout.split() == ["1", "0"]
