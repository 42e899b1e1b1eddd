"""How Dask moves, measures and names tensors and sparse matrices.

A tensor travels as one frame, which is its own memory, and arrives as a tensor over the frame that was received: of the
copies none is ours. A view travels without its base, as NumPy's arrays do with Dask; a pickle, which Dask uses where
this module was not imported, takes the base along.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from typing import Any

import dask
from dask.hashing import hash_buffer_hex
from dask.sizeof import sizeof
from dask.tokenize import normalize_token
from dask.utils import parse_bytes
from distributed.protocol.serialize import dask_deserialize, dask_serialize

from .._binding.library import lib
from .._dtype import DType
from .._sparse.matrix import SparseMatrix, load_sparse
from .._tensor.arrays import numpy_module
from .._tensor.devices import name_of
from .._tensor.layout import Layout
from .._tensor.pickling import Described, Storage, address_of, load_buffer, load_bytes, load_tensor
from .._tensor.tensor import CtypesTensor, Tensor, empty, from_numpy

Header = dict[str, Any]
Frames = list[Any]

# A tensor has to begin at a multiple of its element size. Dask reads the first frame that is no bytes object into the
# buffer that the message's headers are in, where it begins at any address, and each later one into a buffer of its own.
# So a frame of one byte goes before the memory of a tensor.
_SPACER = memoryview(bytearray(1))

# Dask cuts larger frames, and puts together by a copy what it has read into several buffers. It reads a first frame that
# is cut into one. So a larger tensor comes first, after a frame of its own first bytes: room by which it can be moved
# down to where it is aligned.
_CUT = int(parse_bytes(dask.config.get("distributed.comm.shard")))
_ROOM = 16


def _stored_once(tensor: Tensor) -> Tensor:
    """Returns the part of a tensor that a broadcast has repeated."""
    strides, shape = tensor.strides, tensor.shape
    if tensor.device or not any(stride == 0 and extent > 1 for stride, extent in zip(strides, shape)):
        return tensor
    return tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]


def _dense(tensor: Tensor) -> tuple[Storage, Layout | None]:
    """Returns the memory of a tensor's elements and no others, and how they lie in it; None: in row-major order."""
    found = Described(tensor.address)
    if not found.is_dense:
        tensor = tensor.cpu() if tensor.device else tensor.clone()
        found = Described(tensor.address)
    read_only = tensor.is_read_only
    if tensor.is_contiguous:
        return Storage(tensor, found.data, tensor.shape, found.dtype, read_only), None
    lowest = found.layout.lowest
    storage = Storage(tensor, found.data + lowest * found.dtype.itemsize, (found.numel,), found.dtype, read_only)
    return storage, found.layout._replace(offset=-lowest)


def serialize_tensor(tensor: Tensor) -> tuple[Header, Frames]:
    """A header for msgpack and the frames of a tensor; only elements with gaps between them are copied."""
    storage, layout = _dense(_stored_once(tensor))
    header = {
        "stored": [storage.dtype.name, list(storage.shape), name_of(tensor.device) if tensor.device else "cpu"],
        "layout": None if layout is None else [layout.offset, list(layout.shape), list(layout.strides)],
        "shape": list(tensor.shape),
        "read-only": tensor.is_read_only,
    }
    memory = storage.memory()
    if not memory.nbytes:
        return header, []
    return header, [memory[:_ROOM] if memory.nbytes > _CUT else _SPACER, memory]


def _aligned(before: memoryview, memory: memoryview, itemsize: int) -> memoryview:
    """Returns the memory at a multiple of the element size, moved down over the frame before it where that helps."""
    begin = address_of(memory)
    apart = begin % itemsize
    if not apart or memory.readonly or before.nbytes < apart or before.obj is not memory.obj:
        return memory
    whole = memoryview(memory.obj)
    if not whole.contiguous or begin - address_of(before) != before.nbytes:
        return memory
    whole = whole.cast("B")
    first = begin - address_of(whole)
    ctypes.memmove(begin - apart, begin, memory.nbytes)
    return whole[first - apart : first - apart + memory.nbytes]


def deserialize_tensor(header: Header, frames: Frames) -> Tensor:
    """A tensor over the frame, read-only where the frame is or the tensor was."""
    if frames:
        memory = _aligned(memoryview(frames[0]), memoryview(frames[1]), DType[header["stored"][0]].itemsize)
        stored: Tensor = load_buffer(memory.toreadonly() if header["read-only"] else memory, *header["stored"])
    else:
        stored = load_bytes(b"", *header["stored"])
    tensor: Tensor = load_tensor(stored, header["layout"])
    shape = tuple(header["shape"])
    return tensor if tensor.shape == shape else tensor.broadcast_to(shape)


def _parts(matrix: SparseMatrix) -> list[Tensor]:
    """The values, indices and offsets of a matrix and nothing besides; the offsets begin at 0.

    Values and indices of a matrix of one block are views of them.
    """
    if matrix.block_count != 1 or not matrix.nnz:
        return list(matrix.to_contiguous())
    values, indices, offsets = matrix._tensors(lib.tl_sparse_block_tensors, 0)
    first = offsets[0].item()
    return [values, indices, from_numpy(offsets - first, copy=False) if first else offsets]


def serialize_sparse(matrix: SparseMatrix) -> tuple[Header, Frames]:
    """A header and the frames of a matrix: those of its three arrays."""
    headers, frames = [], []
    for part in _parts(matrix):
        header, given = serialize_tensor(part)
        headers.append(header | {"frames": len(given)})
        frames += given
    return {"format": matrix.format, "shape": list(matrix.shape), "parts": headers}, frames


def deserialize_sparse(header: Header, frames: Frames) -> SparseMatrix:
    """A matrix over the frames."""
    rest, parts = list(frames), []
    for part in header["parts"]:
        parts.append(deserialize_tensor(part, rest[: part["frames"]]))
        del rest[: part["frames"]]
    matrix: SparseMatrix = load_sparse(header["format"], tuple(header["shape"]), 0, *parts)
    return matrix


def sizeof_tensor(tensor: Tensor) -> int:
    """The bytes that a tensor takes on its way and where it arrives: of a view those of its own elements."""
    return int(_stored_once(tensor).nbytes)


def sizeof_sparse(matrix: SparseMatrix) -> int:
    """The bytes of the elements and of their positions."""
    return int(matrix.payload_bytes)


def _content(tensor: Tensor) -> tuple[Any, ...]:
    """What tells a tensor from others: type, shape and elements, wherever they are."""
    here = tensor.cpu()
    here = here if here.is_contiguous else here.clone()
    memory = Storage(here, here.data, here.shape, here.dtype, True).memory()
    return tensor.dtype.name, tensor.shape, hash_buffer_hex(memory)


def normalize_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """What Dask makes a tensor's name of: equal tensors have equal names."""
    return ("tl_runtime.Tensor", *_content(tensor))


def normalize_sparse(matrix: SparseMatrix) -> tuple[Any, ...]:
    """What Dask makes a matrix's name of."""
    return ("tl_runtime.SparseMatrix", matrix.format, matrix.shape, *map(_content, _parts(matrix)))


def concatenate(arrays: Any, axis: int = 0) -> Any:
    """What dask.array puts chunks together with, where one of them is a tensor: an array, which in more than one piece
    is made in a tensor's memory.

    Dask's own way for chunks that are not NumPy's copies once for each axis, and of a single chunk too.
    """
    numpy = numpy_module()
    given = [numpy.asarray(array) for array in arrays]
    if len(given) == 1:
        return given[0]
    if len({(array.dtype, array.ndim) for array in given}) > 1:
        return numpy.concatenate(given, axis)
    shape = list(given[0].shape)
    shape[axis] = sum(array.shape[axis] for array in given)
    dtype = next(array.dtype for array in arrays if isinstance(array, (Tensor, CtypesTensor)))
    made = empty(tuple(shape), dtype, 0).numpy()
    into = made
    if made.dtype.kind == "V":  # bfloat16, which NumPy does not put together
        into, *given = (array.view("u2") for array in (made, *given))
    numpy.concatenate(given, axis, out=into)
    return made


def register_reading() -> None:
    """Tells Dask how tensors and sparse matrices are read that another process has sent."""
    for kind in (Tensor, CtypesTensor):
        dask_deserialize.register(kind, deserialize_tensor)
    dask_deserialize.register(SparseMatrix, deserialize_sparse)


@functools.cache
def register() -> None:
    """Tells Dask all about tensors and sparse matrices, once: a program may have told it otherwise since."""
    register_reading()
    for kind in (Tensor, CtypesTensor):
        dask_serialize.register(kind, serialize_tensor)
        sizeof.register(kind, sizeof_tensor)
        normalize_token.register(kind, normalize_tensor)
    with contextlib.suppress(ImportError):  # there may be no NumPy, and so no dask.array
        from dask.array.dispatch import concatenate_lookup

        concatenate_lookup.register((Tensor, CtypesTensor), concatenate)
    dask_serialize.register(SparseMatrix, serialize_sparse)
    sizeof.register(SparseMatrix, sizeof_sparse)
    normalize_token.register(SparseMatrix, normalize_sparse)
