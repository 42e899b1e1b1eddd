"""pyarrow: arrays over a tensor's memory, by Arrow's C data interface and by buffers."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")

import tl_runtime as tl

TYPES = {
    "float16": "halffloat",
    "float32": "float",
    "float64": "double",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "bool": "bool",
}


def is_live(address: int) -> bool:
    return tl.Object(address).status == tl.Status.OK


def counted(dtype: str, *shape: int) -> tl.Tensor:
    numbers = numpy.arange(numpy.prod(shape)).reshape(shape)
    return tl.from_numpy((numbers % 3 == 0) if dtype == "bool" else numbers.astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_an_array_of_numbers(dtype: str) -> None:
    tensor = counted(dtype, 11)
    array = pyarrow.array(tensor)
    array.validate(full=True)
    assert str(array.type) == TYPES[dtype]
    assert array.null_count == 0
    assert array.to_pylist() == tensor.numpy().tolist()
    if dtype != "bool":
        assert array.buffers()[1].address == tensor.data


def test_matrices_are_lists_of_a_fixed_size() -> None:
    tensor = counted("int32", 3, 4)
    array = pyarrow.array(tensor)
    array.validate(full=True)
    assert array.type == pyarrow.list_(pyarrow.int32(), 4)
    assert array.values.buffers()[1].address == tensor.data
    assert array.to_pylist() == tensor.numpy().tolist()
    deep = pyarrow.array(counted("float32", 2, 3, 4))
    assert deep.type == pyarrow.list_(pyarrow.list_(pyarrow.float32(), 4), 3)
    assert deep.to_pylist() == counted("float32", 2, 3, 4).numpy().tolist()
    images = pyarrow.ExtensionArray.from_storage(pyarrow.fixed_shape_tensor(pyarrow.int32(), [4]), array)
    assert (images.to_numpy_ndarray() == tensor.numpy()).all()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1)])
def test_small_arrays(shape: tuple[int, ...]) -> None:
    tensor = tl.zeros(shape, "int64")
    array = pyarrow.array(tensor)
    array.validate(full=True)
    assert array.to_pylist() == tensor.numpy().tolist()


def test_views() -> None:
    tensor = counted("int32", 4, 6)
    for view in (tensor[1:3], tensor[2], tensor.reshape(24)[5:]):
        array = pyarrow.array(view)
        assert array.to_pylist() == view.numpy().tolist()
        values = array.values if view.ndim > 1 else array
        assert values.buffers()[1].address == view.data
    for view in (tensor.T, tensor[:, 2], tensor[::-1], tensor[0].broadcast_to(3, 6)):  # copies
        assert pyarrow.array(view).to_pylist() == view.numpy().tolist()


def test_the_array_keeps_the_tensor() -> None:
    tensor = counted("float64", 1000)
    address = tensor.address
    array = pyarrow.array(tensor)
    part = array[5:10]
    del tensor, array
    gc.collect()
    assert is_live(address)
    thread = threading.Thread(target=lambda held: held.clear(), args=([part],))
    assert part.to_pylist() == [5, 6, 7, 8, 9]
    del part
    thread.start()
    thread.join()
    del thread
    gc.collect()
    assert not is_live(address)


def test_a_child_outlives_its_list() -> None:
    tensor = counted("int32", 5, 7)
    address, values = tensor.address, pyarrow.array(tensor).values
    del tensor
    assert is_live(address) and values.to_pylist() == list(range(35))
    del values
    assert not is_live(address)


def test_capsules_that_nobody_takes() -> None:
    tensor = counted("int32", 5, 7)
    both = tensor.__arrow_c_array__()
    assert tensor.refcount == 2
    del both
    assert tensor.refcount == 1


def test_what_arrow_does_not_have() -> None:
    for tensor in (tl.zeros(3, "complex64"), tl.zeros(3, "bfloat16"), tl.zeros(())):
        with pytest.raises(TypeError, match="Arrow"):
            pyarrow.array(tensor)


def test_a_table() -> None:
    columns = {"a": counted("int32", 6), "b": counted("float64", 6, 2)}
    table = pyarrow.table({name: pyarrow.array(tensor) for name, tensor in columns.items()})
    assert table.num_rows == 6
    assert table.column("a").chunk(0).buffers()[1].address == columns["a"].data


def test_from_arrow_to_a_tensor() -> None:
    """Arrow's arrays are read-only, and so are tensors over them."""
    array = pyarrow.array([1.0, 2.0, 3.0])
    tensor = tl.from_dlpack(array)
    assert tensor.data == array.buffers()[1].address
    assert tensor.is_read_only and tensor.numpy().tolist() == [1, 2, 3]
    again = tl.from_numpy(array.to_numpy(), copy=False)
    assert again.data == array.buffers()[1].address and again.is_read_only


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float16", "complex64"])
def test_buffers(dtype: str) -> None:
    tensor = counted(dtype, 12)
    given: Any = tensor if sys.version_info >= (3, 12) or hasattr(type(tensor), "__release_buffer__") else None
    try:
        memoryview(tensor)  # type: ignore[arg-type]
        given = tensor
    except TypeError:  # a class of Python's before 3.12 has no buffers
        given = tensor.__buffer__(0)
    buffer = pyarrow.py_buffer(given)
    assert buffer.address == tensor.data and buffer.size == tensor.nbytes
    address = tensor.address
    del tensor, given
    gc.collect()
    assert is_live(address)
    del buffer
    gc.collect()
    assert not is_live(address)


def test_ipc() -> None:
    tensor = counted("float32", 100)
    sink = pyarrow.BufferOutputStream()
    batch = pyarrow.record_batch({"x": pyarrow.array(tensor)})
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    read = pyarrow.ipc.open_stream(sink.getvalue()).read_all()
    again = tl.from_dlpack(read.column("x").chunk(0))
    assert (again.numpy() == tensor.numpy()).all()
