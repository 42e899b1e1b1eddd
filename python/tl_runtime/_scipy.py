"""Sparse matrices to and from SciPy, without a copy where SciPy's formats have a place for the memory.

SciPy has one array each of values, indices and offsets. So a matrix of one block
goes there and back without a copy; several blocks are put together by one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._sparse import SparseMatrix


def _sparse() -> Any:
    """Imports SciPy at its first use; everything else here works without it."""
    try:
        return importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError("this needs SciPy, which is not installed") from error


def take(cls: type[SparseMatrix], matrix: Any, copy: bool | None, blocks: dict[str, int]) -> SparseMatrix:
    """Makes a matrix of SciPy's."""
    if matrix.format not in ("csr", "csc"):
        if copy is False:
            raise ValueError(f"a matrix in the format {matrix.format!r} has to be copied")
        matrix = matrix.tocsr()
    elif copy is not False and not matrix.has_canonical_format:
        matrix = matrix.copy()
    if copy is not False and not matrix.has_canonical_format:
        matrix.sum_duplicates()
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    return cls.from_arrays(matrix.shape, *arrays, format=matrix.format, copy=bool(copy or blocks), **blocks)


def give(matrix: SparseMatrix, copy: bool | None) -> Any:
    """Makes a SciPy array of a matrix."""
    if copy is False and matrix.block_count != 1:
        raise ValueError(f"a matrix of {matrix.block_count} blocks has to be copied; blocks() shows them without")
    kind = getattr(_sparse(), matrix.format + "_array")
    made = kind(matrix.shape, dtype=str(matrix.dtype))
    if matrix.block_count == 1 and not copy:
        _, made.data, made.indices, made.indptr = matrix.block(0)
    else:
        made.data, made.indices, made.indptr = (tensor.numpy() for tensor in matrix.to_contiguous())
    # Given to the constructor, 64-bit indices would be copied into 32 bits where they fit.
    made.has_canonical_format = True
    return made
