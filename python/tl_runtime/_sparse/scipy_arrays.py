"""Sparse matrices to and from SciPy, without a copy where SciPy's formats have a place for the memory.

SciPy has one array each of values, indices and offsets. So a matrix of one block is passed in both directions
without a copy; a matrix of several blocks is copied into one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._dtype import to_dtype
from .._tensor.arrays import needed, numpy_module

if TYPE_CHECKING:
    from .matrix import SparseMatrix
    from .values import SparseValues

_ARRAYS = ("data", "indices", "indptr")
_CHANGES = ("eliminate_zeros", "resize", "set_shape", "setdiag")


def _sparse() -> Any:
    """Imports SciPy at its first use; everything else here works without it."""
    return needed("scipy.sparse", "SciPy")


def take(cls: type[SparseMatrix], matrix: Any, copy: bool | None, blocks: dict[str, int]) -> SparseMatrix:
    """Makes a matrix from one of SciPy's."""
    if not _sparse().issparse(matrix):
        raise TypeError(f"a sparse matrix of SciPy's is needed, not {type(matrix).__name__}")
    if matrix.ndim != 2:
        raise ValueError(f"a matrix has two dimensions, not {matrix.ndim}")
    try:
        to_dtype(matrix.dtype)
    except TypeError:
        raise TypeError(f"a SparseMatrix cannot hold values of {matrix.dtype}; convert them with astype") from None
    if matrix.format not in ("csr", "csc"):
        if copy is False:
            raise ValueError(f"a matrix in the format {matrix.format!r} has to be copied")
        matrix = _compressed(matrix)
    _check_lines(matrix)
    values, indices, offsets = _nonzeros(matrix)
    kind = _index_type(indices, offsets)
    if copy is False:
        if not indices.dtype == offsets.dtype == kind:
            raise ValueError(f"indices of {indices.dtype} and offsets of {offsets.dtype} have to be copied to {kind}")
    else:
        indices, offsets = indices.astype(kind, copy=False), offsets.astype(kind, copy=False)
        # Without the matrix's flags, which may be stale.
        fresh = _put_together(type(matrix), [values, indices, offsets], matrix.shape)
        if not fresh.has_canonical_format:
            fresh = _put_together(type(matrix), [a.copy() for a in (values, indices, offsets)], matrix.shape)
            _check_lines(fresh)  # again: nobody else can write to this one
            fresh.sum_duplicates()
            values, indices, offsets = _nonzeros(fresh)
        values, indices, offsets = _straight(values), _straight(indices), _straight(offsets)
    how = {"format": matrix.format, "copy": bool(copy or blocks), **blocks}
    return cls.from_arrays(matrix.shape, values, indices, offsets, **how)


# SciPy's functions in C follow offsets and indices without a look at them, and a program may have replaced or changed
# the arrays since SciPy has looked. So what they would follow is checked before any of them is called.


def _check_lines(matrix: Any) -> None:
    """Raises what is wrong with the offsets of a csr, csc or bsr matrix, and with the sizes of its arrays."""
    numpy = numpy_module()
    sizes, blocks = (1, 1), 3 if matrix.format == "bsr" else 1
    for name, dimensions in zip(_ARRAYS, (blocks, 1, 1)):
        if getattr(matrix, name).ndim != dimensions:
            raise ValueError(f"{name} has {getattr(matrix, name).ndim} dimensions, and not {dimensions}")
    for name in _ARRAYS[1:]:
        if getattr(matrix, name).dtype.kind not in "iu":
            raise TypeError(f"{name} has elements of type {getattr(matrix, name).dtype}, and not integers")
    if matrix.format == "bsr":
        sizes = matrix.data.shape[1:]
        if 0 in sizes or any(extent % size for extent, size in zip(matrix.shape, sizes)):
            raise ValueError(f"a shape of {matrix.shape} is not made of blocks of {sizes}")
    lines, offsets = matrix.shape[matrix.format == "csc"] // sizes[0], matrix.indptr
    stored = min(len(matrix.data), len(matrix.indices))
    if offsets.size != lines + 1:
        raise ValueError(f"indptr has {offsets.size} offsets; {lines} lines have {lines + 1}")
    if offsets[0] != 0 or not 0 <= offsets[-1] <= stored:
        raise ValueError(f"indptr goes from {offsets[0]} to {offsets[-1]}; {stored} nonzeros are stored, from 0 on")
    falls = numpy.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        line = int(falls[0])
        raise ValueError(f"indptr falls from {offsets[line]} to {offsets[line + 1]} at line {line}; offsets never fall")


def _compressed(matrix: Any) -> Any:
    """Returns a csr matrix with the elements of one in another format."""
    if matrix.format == "bsr":
        _check_lines(matrix)
        return matrix.tocsr()
    if matrix.format == "lil":
        lengths = [list(map(len, lists)) for lists in (matrix.rows, matrix.data)]
        if lengths[0] != lengths[1] or len(lengths[0]) != matrix.shape[0]:
            raise ValueError(f"the lists of a lil matrix of {matrix.shape[0]} rows have other lengths than its values")
        return matrix.tocsr()
    if matrix.format == "dia":
        return type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape).tocsr()  # which looks at both
    entries = matrix if matrix.format == "coo" else matrix.tocoo()
    rows, columns = entries.row, entries.col
    for what, array, extent in (("row", rows, matrix.shape[0]), ("column", columns, matrix.shape[1])):
        if array.shape != entries.data.shape or array.dtype.kind not in "iu":
            raise ValueError(f"a {what} is needed for each of {entries.data.size} values, as an integer")
        if array.size and not (0 <= array.min() and array.max() < extent):
            raise ValueError(f"{what}s go from {array.min()} to {array.max()}; the shape is {matrix.shape}")
    return entries.tocsr()


def _nonzeros(matrix: Any) -> tuple[Any, Any, Any]:
    """Returns values, indices and offsets whose lines were checked, without what lies behind the last line."""
    nonzeros = matrix.indptr[-1]
    return matrix.data[:nonzeros], matrix.indices[:nonzeros], matrix.indptr


def _index_type(indices: Any, offsets: Any) -> Any:
    """Returns the narrowest type of a SparseMatrix's indices that holds both arrays."""
    kind = numpy_module().result_type(indices.dtype, offsets.dtype, "int32")
    if kind.kind != "i":
        raise TypeError(f"indices of {indices.dtype} and offsets of {offsets.dtype} have no type in common; use int64")
    return kind


def _straight(array: Any) -> Any:
    """Returns the array, or a copy where it is not contiguous or not aligned."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def give(matrix: SparseMatrix, copy: bool | None) -> Any:
    """Makes a SciPy array from a matrix."""
    if matrix.dtype.kind == "V" or matrix.dtype.char == "e":
        raise TypeError(f"SciPy has no sparse arrays of {matrix.dtype}; blocks(), toarray() and to_coo() show them")
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


def class_of(matrix: SparseValues) -> Any:
    """Returns the class that a matrix would have in SciPy; None where the program does not use SciPy's matrices."""
    return getattr(sys.modules.get("scipy.sparse"), matrix.format + "_array", None)


def attribute(matrix: SparseValues, name: str) -> Any:
    """Returns what SciPy's array has under a name that a matrix itself does not have.

    What would change the array and not the matrix is refused.
    """
    missing = AttributeError(f"'SparseMatrix' object has no attribute {name!r}", name=name, obj=matrix)
    if name.startswith("__") or name in ("_held", "_info"):
        raise missing
    if not name.startswith("_"):  # else it is for those who have loaded SciPy anyway
        try:
            _sparse()
        except ImportError as error:
            raise missing from error
    kind = class_of(matrix)
    if kind is None or not (hasattr(kind, name) or name in (*_ARRAYS, "_shape", "maxprint")):
        raise missing
    if name in _CHANGES:
        raise TypeError(f"{name} would change the structure of a SparseMatrix; change what to_scipy(copy=True) returns")
    found = getattr(matrix.to_scipy(), name)
    if name in _ARRAYS:  # a copy where there are several blocks, to which a write would be lost
        found = found.view()
        found.flags.writeable = False
    return found


def _with_indices(made: Any, dtype: Any) -> Any:
    """Gives an array of SciPy's own making indices of a type."""
    made.indices, made.indptr = made.indices.astype(dtype, copy=False), made.indptr.astype(dtype, copy=False)
    return made


def selected(matrix: SparseValues, rows: Any, columns: Any) -> Any:
    """Returns a copy of rows and columns of a matrix; of two lists the elements at these places."""
    made = matrix.to_scipy()
    if isinstance(rows, slice) or isinstance(columns, slice):  # SciPy 1.17 confuses a list beside a slice with a step
        made = made[rows][:, columns]
    else:
        made = made[rows, columns]
    if not _sparse().issparse(made):
        return made
    return matrix.from_scipy(_with_indices(made.asformat(matrix.format), matrix.index_dtype.dtype))


def stacked(cls: Any, how: str, matrices: Sequence[Any], format: str | None) -> SparseMatrix:
    """Returns matrices one below or beside the other, in the format of the first unless one is given."""
    sparse = _sparse()
    parts = []
    for matrix in matrices:
        if not sparse.issparse(matrix):
            raise TypeError(f"{how} takes sparse matrices, not {type(matrix).__name__}")
        parts.append((matrix if isinstance(matrix, cls) else cls.from_scipy(matrix)).to_scipy())
    if not parts:
        raise ValueError(f"{how} takes one matrix or more")
    form = format or getattr(matrices[0], "format", "csr")
    made = getattr(sparse, how)(parts, format=form if form in ("csr", "csc") else "csr")
    wide = any(part.indptr.itemsize == 8 for part in parts)
    made_of: SparseMatrix = cls.from_scipy(_with_indices(made, "int64") if wide else made)
    return made_of
