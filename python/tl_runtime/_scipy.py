"""Sparse matrices to and from SciPy, without a copy where SciPy's formats have a place for the memory.

SciPy has one array each of values, indices and offsets. So a matrix of one block is passed in both directions
without a copy; a matrix of several blocks is copied into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arrays import needed

if TYPE_CHECKING:
    from ._sparse import SparseMatrix


def _sparse() -> Any:
    """Imports SciPy at its first use; everything else here works without it."""
    return needed("scipy.sparse", "SciPy")


def take(cls: type[SparseMatrix], matrix: Any, copy: bool | None, blocks: dict[str, int]) -> SparseMatrix:
    """Makes a matrix from one of SciPy's."""
    if not _sparse().issparse(matrix):
        raise TypeError(f"a sparse matrix of SciPy's is needed, not {type(matrix).__name__}")
    if matrix.ndim != 2:
        raise ValueError(f"a matrix has two dimensions, not {matrix.ndim}")
    if matrix.format not in ("csr", "csc"):
        if copy is False:
            raise ValueError(f"a matrix in the format {matrix.format!r} has to be copied")
        matrix = matrix.tocsr()
    elif copy is not False and not matrix.has_canonical_format:
        matrix = matrix.copy()
    if copy is not False and not matrix.has_canonical_format:
        matrix.sum_duplicates()
    values, indices, offsets = matrix.data[: matrix.nnz], matrix.indices[: matrix.nnz], matrix.indptr
    if copy is not False:
        values, indices, offsets = _straight(values), _straight(indices), _straight(offsets)
    how = {"format": matrix.format, "copy": bool(copy or blocks), **blocks}
    return cls.from_arrays(matrix.shape, values, indices, offsets, **how)


def _straight(array: Any) -> Any:
    """Returns the array, or a copy where it is not contiguous or not aligned."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def give(matrix: SparseMatrix, copy: bool | None) -> Any:
    """Makes a SciPy array from a matrix."""
    if copy is False and matrix.block_count != 1:
        raise ValueError(f"a matrix of {matrix.block_count} blocks has to be copied; blocks() shows them without")
    if matrix.block_count == 1 and not copy:
        _, *arrays = matrix.block(0)
    else:
        arrays = [tensor.numpy() for tensor in matrix.to_contiguous()]
    made = _put_together(getattr(_sparse(), matrix.format + "_array"), arrays, matrix.shape)
    made.has_canonical_format = True
    return made


def _put_together(kind: Any, arrays: list[Any], shape: tuple[int, int]) -> Any:
    """Makes a SciPy array from values, indices and offsets."""
    if arrays[1].itemsize == 4:
        return kind(tuple(arrays), shape=shape)
    # The constructor would copy 64-bit indices into 32 bits where they fit.
    made = kind(shape, dtype=arrays[0].dtype)
    made.data, made.indices, made.indptr = arrays
    return made
