"""What a sparse matrix does with its elements: indices, products, copies, and SciPy's view of it.

Arithmetic is SciPy's. Operators read the matrix as a csr_array or csc_array and return SciPy's arrays, or NumPy's where
SciPy does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._binding.library import lib
from .._binding.numbers import HIGHEST, LOWEST
from .._dtype import DType
from .._tensor.arrays import numpy_module
from .._tensor.tensor import Tensor
from . import scipy_arrays

if TYPE_CHECKING:
    import numpy

    from .matrix import Line, SparseMatrix

    Array = numpy.ndarray[Any, Any]

_WHOLE = slice(None)


class Coo(NamedTuple):
    """The nonzeros of a matrix one by one: values[k] stands in row rows[k] and column columns[k]."""

    values: Array
    rows: Array
    columns: Array


def _plain(other: Any) -> Any:
    """A matrix as SciPy's, a tensor as NumPy's, anything else as it is."""
    if isinstance(other, SparseValues):
        return other.to_scipy()
    return other.numpy() if isinstance(other, Tensor) else other


Method = Callable[["SparseValues", Any], Any]


def _operator(operation: Callable[[Any, Any], Any]) -> Method:
    def forward(self: SparseValues, other: Any) -> Any:
        return operation(self.to_scipy(), _plain(other))

    return forward


def _reflected(operation: Callable[[Any, Any], Any]) -> Method:
    def backward(self: SparseValues, other: Any) -> Any:
        return operation(_plain(other), self.to_scipy())

    return backward


class SparseValues:
    """What a SparseMatrix does with its elements."""

    __slots__ = ()

    if TYPE_CHECKING:
        _address: int
        _held: Any

        @property
        def shape(self) -> tuple[int, int]: ...
        @property
        def format(self) -> str: ...
        @property
        def dtype(self) -> DType: ...
        @property
        def index_dtype(self) -> DType: ...
        @classmethod
        def _own(cls, make: Callable[[], int | None]) -> SparseMatrix: ...
        def _sharing(self, make: Callable[[], int | None]) -> SparseMatrix: ...
        @classmethod
        def from_scipy(cls, matrix: Any, *, copy: bool | None = None, **blocks: int) -> SparseMatrix: ...
        @classmethod
        def from_arrays(cls, *arrays: Any, **options: Any) -> SparseMatrix: ...
        def to_scipy(self, *, copy: bool | None = None) -> Any: ...
        def to_contiguous(self) -> tuple[Tensor, Tensor, Tensor]: ...
        def line(self, i: int) -> Line: ...

    __array_ufunc__ = None  # NumPy leaves operators between its arrays and matrices to the methods below (NEP 13)

    @classmethod
    def from_coo(
        cls, shape: tuple[int, int], values: Any, rows: Any, columns: Any, format: str = "csr", **blocks: int
    ) -> SparseMatrix:
        """Returns a matrix from nonzeros in any order; those of one place are added up."""
        numpy = numpy_module()
        values, rows, columns = (numpy.asarray(array).ravel() for array in (values, rows, columns))
        if not values.size == rows.size == columns.size:
            raise ValueError(f"{values.size} values, {rows.size} rows and {columns.size} columns are not as many")
        if format not in ("csr", "csc"):
            raise ValueError(f"the format {format!r} is neither 'csr' nor 'csc'")
        indices = {"rows": (rows, shape[0]), "columns": (columns, shape[1])}
        for what, (array, extent) in indices.items():
            if array.size and array.dtype.kind not in "iu":
                raise TypeError(f"{what} are {array.dtype}, and not integers")
            if array.size and not (0 <= array.min() and array.max() < extent):
                raise IndexError(f"{what} go from {array.min()} to {array.max()}; a shape of {shape} has {extent}")
        line, place, lines = (rows, columns, shape[0]) if format == "csr" else (columns, rows, shape[1])
        wide = max(*shape, values.size) >= 1 << 31
        kind = numpy.int64 if wide or max(rows.itemsize, columns.itemsize) == 8 else numpy.int32
        order = numpy.lexsort((place, line))
        line, place, values = line[order].astype(numpy.int64), place[order].astype(kind), values[order]
        is_new = numpy.ones(values.size, bool)
        is_new[1:] = (line[1:] != line[:-1]) | (place[1:] != place[:-1])
        first = numpy.flatnonzero(is_new)
        if first.size < values.size:
            values = numpy.add.reduceat(values, first, dtype=values.dtype)
            line, place = line[first], place[first]
        offsets = numpy.zeros(lines + 1, kind)
        numpy.cumsum(numpy.bincount(line, minlength=lines), out=offsets[1:])
        return cls.from_arrays(shape, values, place, offsets, format=format, **blocks)

    @classmethod
    def vstack(cls, matrices: Sequence[Any], format: str | None = None) -> SparseMatrix:
        """Returns the rows of several matrices, of the runtime or of SciPy, one below the other, as a copy."""
        return scipy_arrays.stacked(cls, "vstack", matrices, format)

    @classmethod
    def hstack(cls, matrices: Sequence[Any], format: str | None = None) -> SparseMatrix:
        """Returns the columns of several matrices, of the runtime or of SciPy, side by side, as a copy."""
        return scipy_arrays.stacked(cls, "hstack", matrices, format)

    def to_coo(self) -> Coo:
        """Returns the nonzeros one by one, as copies, line by line."""
        numpy = numpy_module()
        values, indices, offsets = (tensor.numpy() for tensor in self.to_contiguous())
        lines = numpy.repeat(numpy.arange(offsets.size - 1, dtype=indices.dtype), numpy.diff(offsets))
        return Coo(values, lines, indices) if self.format == "csr" else Coo(values, indices, lines)

    def toarray(self) -> Array:
        """Returns all elements as an array of NumPy's."""
        numpy, (values, rows, columns) = numpy_module(), self.to_coo()
        dense: Array = numpy.zeros(self.shape, values.dtype)
        dense[rows, columns] = values
        return dense

    def copy(self) -> SparseMatrix:
        """Returns a matrix with the same nonzeros in memory of its own."""
        values, indices, offsets = self.to_contiguous()
        return self.from_arrays(self.shape, values, indices, offsets, format=self.format, copy=False)

    def __copy__(self) -> SparseMatrix:
        return self.copy()

    def close(self) -> None:
        """Drops the reference to the matrix. Arrays, slices and transposes of it stay valid; using this object is an
        error from here on. Once is enough."""
        if self._held is not None:
            self._held = None
            del self._address

    def __enter__(self) -> SparseMatrix:
        self._address  # noqa: B018 - raises where the matrix is closed
        return self  # type: ignore[return-value]

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of rows."""
        return self.shape[0]

    def __iter__(self) -> Iterator[SparseMatrix]:
        """The rows, each a matrix of one row; those of a CSR matrix share its blocks."""
        matrix: Any = self if self.format == "csr" else self.from_scipy(self.to_scipy().tocsr())
        return (matrix[i : i + 1] for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        if self.shape != (1, 1):
            raise ValueError(f"bool: a matrix of shape {self.shape} has no one truth value; compare nnz with 0")
        return bool(self[0, 0])

    def __getitem__(self, index: Any) -> Any:
        """Rows and columns by integers, slices, lists and masks: a matrix, or of two integers the element.

        m[a:b] and m[i] of a CSR matrix, m[:, a:b] and m[:, j] of a CSC matrix share blocks; other parts are copies.
        """
        rows, columns = self._axes(index)
        if isinstance(rows, int) and isinstance(columns, int):
            return self._element(rows, columns)
        rows, columns = (slice(at, at + 1) if isinstance(at, int) else at for at in (rows, columns))
        along, across = (rows, columns) if self.format == "csr" else (columns, rows)
        extent = self.shape[1 if self.format == "csr" else 0]
        if isinstance(along, slice) and along.step in (None, 1) and _is_whole(across, extent):
            start, stop = _bound(along.start, 0), _bound(along.stop, HIGHEST)
            return self._sharing(lambda: lib.tl_sparse_slice(self._address, start, stop))
        return scipy_arrays.selected(self, rows, columns)

    def _axes(self, index: Any) -> tuple[Any, Any]:
        """Returns what an index says of rows and of columns; integers count from the beginning."""
        given = index if isinstance(index, tuple) else (index,)
        at = [i for i, item in enumerate(given) if item is Ellipsis]
        if len(at) > 1:
            raise IndexError("an index can have one ellipsis")
        if at:
            missing = 2 - (len(given) - 1)
            given = (*given[: at[0]], *[_WHOLE] * missing, *given[at[0] + 1 :])
        if len(given) > 2:
            raise IndexError(f"{len(given)} indices for a matrix, which has rows and columns")
        rows, columns = (*given, _WHOLE)[:2] if given else (_WHOLE, _WHOLE)
        return self._one(rows, 0), self._one(columns, 1)

    def _one(self, item: Any, axis: int) -> Any:
        if item is None or isinstance(item, (str, bytes, float, complex, bool)):
            raise TypeError(f"an index of a matrix is an integer, a slice, a list or a mask, not {item!r}")
        if isinstance(item, slice):
            if item.step is not None and operator.index(item.step) == 0:
                raise ValueError("a slice cannot go on by 0 elements")
            parts = (item.start, item.stop, item.step)
            return slice(*(None if part is None else operator.index(part) for part in parts))
        try:
            number = operator.index(item)
        except TypeError:
            return _plain(item)
        extent = self.shape[axis]
        if not -extent <= number < extent:
            what = "columns" if axis else "rows"
            raise IndexError(f"index {number} is out of range for {extent} {what}")
        return number % extent

    def _element(self, row: int, column: int) -> Any:
        line, place = (row, column) if self.format == "csr" else (column, row)
        indices, values = self.line(line)
        at = indices.searchsorted(place)
        return values[at] if at < indices.size and indices[at] == place else values.dtype.type(0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """An object of NumPy's with the matrix in it, as of SciPy's matrices, where one is asked for; NumPy would else
        make a dense array without a word."""
        numpy = numpy_module()
        if dtype is not None and numpy.dtype(dtype).hasobject:
            held: Array = numpy.empty((), object)
            held[()] = self
            return held
        raise TypeError("a SparseMatrix becomes a dense array by toarray(), and SciPy's by to_scipy()")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """To isinstance a matrix is SciPy's csr_array or csc_array, too, so that SciPy takes it as what it is."""
        return scipy_arrays.class_of(self) or type(self)

    def __getattr__(self, name: str) -> Any:
        """What a SparseMatrix itself does not have is that of to_scipy()."""
        if name == "_address":
            raise ValueError("this SparseMatrix was closed")
        return scipy_arrays.attribute(self, name)

    __hash__ = object.__hash__  # by identity, though == compares elements

    __eq__ = _operator(operator.eq)
    __ne__ = _operator(operator.ne)
    __lt__ = _operator(operator.lt)
    __le__ = _operator(operator.le)
    __gt__ = _operator(operator.gt)
    __ge__ = _operator(operator.ge)

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul), _reflected(operator.mul)
    __truediv__ = _operator(operator.truediv)
    __matmul__, __rmatmul__ = _operator(operator.matmul), _reflected(operator.matmul)
    __pow__ = _operator(operator.pow)

    def __neg__(self) -> Any:
        return -self.to_scipy()

    def __abs__(self) -> Any:
        return abs(self.to_scipy())


def _is_whole(item: Any, extent: int) -> bool:
    return isinstance(item, slice) and item.indices(extent) == (0, extent, 1)


def _bound(part: int | None, otherwise: int) -> int:
    return otherwise if part is None else max(min(part, HIGHEST), LOWEST)
