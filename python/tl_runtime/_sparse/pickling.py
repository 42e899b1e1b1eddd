"""Sparse matrices in pickles and copies: as three arrays.

The arrays of a matrix of one block are those of the block, which its slices and its transpose share. Other matrices'
blocks are put together, once for all matrices of a pickle that show nothing else: the transpose, and slices that come
after the matrix, are parts of the same three arrays. A slice that comes first goes in by itself, with its own blocks
alone, since nothing says that the matrix will follow.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from .._binding.library import check, lib
from .._dtype import DType
from .._tensor.info import info_of
from .._tensor.pickling import LENT, Storage, known, load_bytes
from .._tensor.tensor import Tensor

if TYPE_CHECKING:
    from .matrix import SparseMatrix


class Part(NamedTuple):
    """The lines that a matrix shows of a block."""

    memory: int  # the tensor that has the block
    offsets: int  # the address of the first line's
    lines: int
    nonzeros: int


class Joined:
    """The blocks of a matrix, which go into a pickle as one. It is there as long as a pickler remembers its arrays."""

    __slots__ = ("__weakref__", "arrays", "first", "matrix", "parts", "place", "ready")

    def __init__(self, matrix: SparseMatrix, parts: list[Part]) -> None:
        self.matrix = type(matrix).from_address(matrix.address)  # so that no other block comes to the place of one
        self.parts, self.place = parts, {part.memory: i for i, part in enumerate(parts)}
        self.first: list[tuple[int, int]] = []  # line and nonzero of each part
        self.ready: dict[int, Tensor] = {}
        self.arrays: list[weakref.ref[Array]] = []
        line = nonzero = 0
        for part in parts:
            self.first.append((line, nonzero))
            line, nonzero = line + part.lines, nonzero + part.nonzeros

    def take(self, which: int) -> Tensor:
        """Returns values, indices or offsets as they are now; a pickler asks for each once, in this order."""
        if which not in self.ready:
            self.ready = dict(enumerate(self.matrix.to_contiguous()))
        return self.ready.pop(which)

    def find(self, parts: list[Part], number: Any) -> tuple[int, int] | None:
        """The numbers of the line and the nonzero with which parts of blocks begin; None: they are not all here."""
        at, size = self.place.get(parts[0].memory), ctypes.sizeof(number)
        if at is None or at + len(parts) > len(self.parts):
            return None
        skipped = before = (parts[0].offsets - self.parts[at].offsets) // size
        for i, (part, ours) in enumerate(zip(parts, self.parts[at:])):
            beyond, is_last = ours.lines - before - part.lines, i == len(parts) - 1
            if part.memory != ours.memory or part.offsets != ours.offsets + before * size:
                return None
            if before < 0 or beyond < 0 or (beyond and not is_last):
                return None
            before = 0
        line, nonzero = self.first[at]
        begins = (number.from_address(one.offsets).value for one in (parts[0], self.parts[at]))
        return line + skipped, nonzero + next(begins) - next(begins)


class Array:
    """One of the arrays of a Joined, which it keeps."""

    __slots__ = ("__weakref__", "joined", "which")

    def __init__(self, joined: Joined, which: int) -> None:
        self.joined, self.which = joined, which

    def __reduce_ex__(self, protocol: Any) -> Any:
        tensor = self.joined.take(self.which)
        return Storage(tensor, tensor.data, tensor.shape, tensor.dtype, False).__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.joined.take(self.which)


def _join(matrix: SparseMatrix, parts: list[Part]) -> list[Array]:
    """The arrays of a matrix of several blocks, for the matrices that follow in the pickle, too."""
    joined = Joined(matrix, parts)
    made = [Array(joined, which) for which in range(3)]
    joined.arrays = [weakref.ref(array) for array in made]
    known.joined.update((part.memory, joined) for part in parts)
    return made


def _of_joined(matrix: SparseMatrix, parts: list[Part], number: Any) -> tuple[Any, ...] | None:
    """The nonzero with which a matrix begins in arrays of several blocks, and the arrays; None: it is a block's."""
    joined = known.joined.get(parts[0].memory)
    found = None if joined is None else joined.find(parts, number)
    if joined is not None and found is not None:
        arrays = [reference() for reference in joined.arrays]
        if None not in arrays:
            whole = sum(part.lines for part in parts) == sum(part.lines for part in joined.parts)
            return found[1], *arrays[:2], arrays[2] if whole else matrix.to_contiguous()[2]
    return None if len(parts) == 1 else (0, *_join(matrix, parts))


def _of_block(matrix: SparseMatrix, block: Any, number: Any) -> tuple[Any, ...]:
    """Where the lines of a matrix begin in the arrays of its block, and the arrays."""
    size, lines = ctypes.sizeof(number), block.lines
    begin = number.from_address(block.offsets).value
    holder = Tensor.from_address(block.memory)
    of_holder = info_of(block.memory)
    if of_holder.flags & LENT:
        stored = of_holder.nbytes // matrix.dtype.itemsize
    else:  # the library's own block ends with the offset of its end
        stored = number.from_address(of_holder.data + of_holder.nbytes - size).value

    def storage(address: int, count: int, dtype: DType) -> Storage:
        found = known.storages.get((holder.address, address))
        if found is None:
            found = Storage(holder, address, (count,), dtype, matrix.is_read_only)
            known.storages[holder.address, address] = found
        return found

    values = storage(block.values - begin * matrix.dtype.itemsize, stored, matrix.dtype)
    indices = storage(block.indices - begin * size, stored, matrix.index_dtype)
    offsets: Any = storage(block.offsets, lines + 1, matrix.index_dtype)
    if begin:
        memory = (number * (lines + 1)).from_address(block.offsets)
        content = bytes((number * (lines + 1))(*(offset - begin for offset in memory)))
        offsets = load_bytes(content, matrix.index_dtype.name, (lines + 1,), "cpu")
    return begin, values, indices, offsets


def pickled(matrix: SparseMatrix) -> tuple[Any, ...]:
    """What a sparse matrix is pickled as: the arguments of load_sparse."""
    kind = (matrix.format, matrix.shape)
    blocks = []
    for i in range(matrix.block_count):
        block = _abi.tl_sparse_block_info(struct_size=ctypes.sizeof(_abi.tl_sparse_block_info))
        check(lib.tl_sparse_block(matrix.address, i, ctypes.byref(block)))
        blocks.append(block)
    if not matrix.nnz:
        return *kind, 0, *matrix.to_contiguous()
    number = ctypes.c_int32 if matrix.index_dtype is DType.INT32 else ctypes.c_int64
    parts = [Part(block.memory, block.offsets, block.lines, block.nonzeros) for block in blocks]
    found = _of_joined(matrix, parts, number)
    return *kind, *(_of_block(matrix, blocks[0], number) if found is None else found)
