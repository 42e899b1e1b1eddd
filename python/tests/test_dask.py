"""Tensors in Dask's own serialisation, sizes and names, in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

numpy = pytest.importorskip("numpy", reason="skip: no NumPy")
distributed = pytest.importorskip("distributed", reason="skip: no distributed")

from dask.sizeof import sizeof
from dask.tokenize import tokenize
from distributed.protocol import deserialize, serialize
from distributed.protocol.core import dumps, loads
from distributed.protocol.serialize import Serialize, deserialize_bytes, serialize_bytes

import tl_runtime as tl
import tl_runtime.dask  # noqa: F401
from test_pickling import content, filled


def address_of(frame: Any) -> int:
    return int(numpy.frombuffer(frame, "u1").__array_interface__["data"][0])


def sent(value: Any, received: Any = bytearray) -> Any:
    header, frames = serialize(value)
    assert header["serializer"] == "dask"
    return deserialize(header, [received(frame) for frame in frames])


VIEWS = {
    "whole": lambda t: t,
    "rows": lambda t: t[3:7],
    "one element": lambda t: t[3, 4],
    "none": lambda t: t[5:5],
    "transposed": lambda t: t.T,
    "reversed": lambda t: t[::-1],
    "part of a transposed one": lambda t: t.T[2:4],
    "columns": lambda t: t[:, 1:3],
    "broadcast": lambda t: t[:1].broadcast_to((50, 8)),
    "broadcast columns": lambda t: t[:, 2:3].broadcast_to((10, 70)),
    "new axes": lambda t: t.reshape(2, 5, 8, 1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64", "complex128", "bfloat16"])
def test_views_arrive_with_their_elements(view: Any, dtype: str) -> None:
    tensor = view(filled((10, 8), dtype))
    again = sent(tensor)
    assert (again.shape, again.dtype, again.device) == (tensor.shape, tensor.dtype, 0)
    assert content(again) == content(tensor)
    assert not again.is_read_only or 50 in again.shape or 70 in again.shape
    assert again.strides == tensor.strides or not tensor.is_contiguous


@pytest.mark.parametrize("name", ["whole", "rows", "transposed", "reversed"])
def test_frames_are_the_tensors_memory(name: str) -> None:
    tensor = filled((10, 8))
    view = VIEWS[name](tensor)
    _, frames = serialize(view)
    spacer, memory = map(memoryview, frames)
    assert spacer.nbytes == 1 and memory.nbytes == view.nbytes
    assert tensor.data <= address_of(memory) < tensor.data + tensor.nbytes
    references = view.refcount
    del view
    assert content(tensor) and references  # the frame goes on holding what it is of
    del memory, frames, spacer


def test_a_view_travels_without_its_base_and_a_repeated_row_once() -> None:
    tensor = filled((1000, 100))
    assert sum(memoryview(frame).nbytes for frame in serialize(tensor[3])[1]) == 401
    repeated = tensor[:1].broadcast_to((1000, 100))
    assert sum(memoryview(frame).nbytes for frame in serialize(repeated)[1]) == 401
    assert sizeof(tensor) == 400_000 and sizeof(tensor[3]) == sizeof(repeated) == 400


def test_what_is_received_is_not_copied() -> None:
    tensor = filled((100, 100))
    header, frames = serialize(tensor)
    writable = [bytearray(frame) for frame in frames]
    again = deserialize(header, writable)
    assert again.data == address_of(writable[1]) and not again.is_read_only
    again[0, 0] = 7
    assert writable[1][0] == 7
    fixed = [bytes(frame) for frame in frames]
    view = deserialize(header, fixed)
    assert view.data == address_of(fixed[1]) and view.is_read_only
    with pytest.raises(ValueError):
        view[0, 0] = 7
    assert content(view) == content(tensor)


def test_read_only_stays_read_only() -> None:
    array = numpy.arange(12.0)
    array.flags.writeable = False
    assert sent(tl.from_numpy(array, copy=False)).is_read_only


def test_a_frame_at_an_odd_address_is_copied() -> None:
    tensor = filled((10, 10), "float64")
    header, frames = serialize(tensor)
    room = bytearray(tensor.nbytes + 16)
    room[1 : 1 + tensor.nbytes] = frames[1]
    odd = memoryview(room)[1 : 1 + tensor.nbytes]
    again = deserialize(header, [frames[0], odd])
    assert content(again) == content(tensor) and again.data != address_of(odd)


@pytest.mark.parametrize("apart", range(8))
def test_a_large_tensor_is_moved_down_to_where_it_is_aligned(apart: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask reads both frames into the buffer that the headers are in."""
    from tl_runtime._engines import dask_frames

    monkeypatch.setattr(dask_frames, "_CUT", 500)
    tensor = filled((10, 10), "float64")
    header, frames = serialize(tensor)
    assert [memoryview(frame).nbytes for frame in frames] == [16, 800] and bytes(frames[0]) == bytes(frames[1])[:16]
    assert frames[0].obj is frames[1].obj
    buffer = numpy.zeros(1000, "u1")
    buffer[:] = 255
    before = memoryview(buffer.data)[8 + apart : 24 + apart]
    memory = memoryview(buffer.data)[24 + apart : 824 + apart]
    before[:], memory[:] = frames
    again = deserialize(header, [before, memory])
    assert content(again) == content(tensor) and not again.is_read_only
    assert again.data == buffer.__array_interface__["data"][0] + 24  # over the buffer, whatever it begins with
    assert set(buffer[: 8 + apart]) == set(buffer[824 + apart :]) == {255}
    fixed = bytes(frames[0]) + bytes(frames[1])
    assert content(deserialize(header, [memoryview(fixed)[:16], memoryview(fixed)[16:]])) == content(tensor)


def test_concatenated_tensors() -> None:
    from tl_runtime._engines.dask_frames import concatenate

    parts = [filled((2, 3)), filled((4, 3)), filled((1, 3)).numpy()]
    made = concatenate(parts)
    assert made.tolist() == numpy.concatenate([numpy.asarray(part) for part in parts]).tolist()
    assert tl.stats()["tensors_live"] == 4  # its memory is one of the runtime's
    assert concatenate(parts[:1]).__array_interface__["data"][0] == parts[0].data
    assert concatenate([parts[0], parts[0].T.T], axis=-1).shape == (2, 6)
    mixed = concatenate([parts[0], filled((2, 3), "float64")])
    assert mixed.dtype == "float64" and mixed.shape == (4, 3)
    assert concatenate([filled((2,), "bfloat16"), filled((3,), "bfloat16")]).nbytes == 10


def test_a_message_as_dask_writes_it() -> None:
    tensors = [filled((300, 70), "float64"), filled((5,)), filled((1 << 10, 1 << 10), "uint8")[1:]]
    message = {"data": Serialize({"a": tensors[0], "b": tensors[1:]}), "op": "x"}
    frames = dumps(message, frame_split_size=1 << 18)
    again = loads([bytearray(frame) for frame in frames])["data"]
    assert [content(t) for t in (again["a"], *again["b"])] == [content(t) for t in tensors]


def test_what_is_spilled_comes_back() -> None:
    tensor = filled((1000, 100))
    assert content(deserialize_bytes(serialize_bytes(tensor))) == content(tensor)


def matrix(rows: int = 40, columns: int = 30) -> tl.SparseMatrix:
    dense = numpy.arange(rows * columns, dtype="float64").reshape(rows, columns) % 7
    dense[dense > 2] = 0
    kept = dense != 0
    offsets = numpy.concatenate([[0], kept.sum(1).cumsum()]).astype("int64")
    return tl.SparseMatrix.from_arrays((rows, columns), dense[kept], kept.nonzero()[1].astype("int64"), offsets, "csr")


def same(a: tl.SparseMatrix, b: tl.SparseMatrix) -> bool:
    arrays = zip(a.to_contiguous(), b.to_contiguous())
    return (a.format, a.shape, a.dtype) == (b.format, b.shape, b.dtype) and all(
        content(x) == content(y) for x, y in arrays
    )


def test_sparse_matrices() -> None:
    whole = matrix()
    for given in (whole, whole.T, whole[5:9], whole[5:9].T, whole[7:7], tl.SparseMatrix.empty((3, 4), [0, 0, 0])):
        again = sent(given)
        again.validate()
        assert same(given, again)
    _, frames = serialize(whole[5:9])
    assert sum(memoryview(frame).nbytes for frame in frames) <= whole[5:9].payload_bytes + 3
    assert sizeof(whole) == whole.payload_bytes > sizeof(whole[5:9])


def test_matrices_of_many_blocks() -> None:
    made = tl.SparseMatrix.empty((6, 5), [2, 1, 0, 3, 1, 1], target_rows=2, min_elements=1)
    assert made.block_count > 1
    for block in made.blocks():
        block.values[:] = 3
        block.indices[:] = numpy.concatenate([numpy.arange(n) for n in numpy.diff(block.offsets)])
    assert same(made, sent(made))


def test_names_tell_contents() -> None:
    tensor = filled((10, 8))
    named = {tokenize(t) for t in (tensor, tensor.clone(), sent(tensor), tensor.T.T, tensor.T.clone().T)}
    assert len(named) == 1
    changed = tensor.clone()
    changed[9, 7] = 1
    others = [changed, tensor.T, tensor.reshape(8, 10), tensor[1:], filled((10, 8), "uint32")]
    assert len(named | set(map(tokenize, others))) == 6
    assert tokenize(matrix()) == tokenize(matrix()) != tokenize(matrix().T)
    assert tokenize(matrix()[3:5]) == tokenize(sent(matrix()[3:5])) != tokenize(matrix()[4:6])


READER = """
import pickle, sys
import distributed.protocol                       # as in a worker, which knows nothing of tensors yet
header, frames = pickle.load(sys.stdin.buffer)
from distributed.protocol import deserialize, serialize
tensor = deserialize(header, [bytearray(frame) for frame in frames])
assert tensor.shape == (10, 8), tensor
assert serialize(tensor)[0]["serializer"] == "pickle"   # its own are for everybody to read
assert "tl_runtime.dask" not in sys.modules
"""


def test_a_worker_without_the_module_reads_tensors(tmp_path: Path) -> None:
    import pickle

    header, frames = serialize(filled((10, 8)))
    given = pickle.dumps((header, [bytes(frame) for frame in frames]))
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run(
        [sys.executable, "-c", READER], input=given, check=True, timeout=120, env={**os.environ, "PYTHONPATH": path}
    )
