"""Sparse matrices: rows or columns in blocks that matrices and arrays share by count."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from .._binding import deferred
from .._binding.library import check, error_for, last_error, lib, unchecked
from .._binding.numbers import int64, int64_array
from .._dtype import BY_NUMBER, TYPESTR, DType, DTypeLike, to_dtype
from .._memory.scope import scope
from .._tensor.arrays import Lent, lent, numpy_module
from .._tensor.pickling import or_undelivered
from .._tensor.tensor import Tensor
from . import scipy_arrays
from .pickling import pickled
from .values import SparseValues

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

_acquire = unchecked("tl_ptr_acquire")
_release = unchecked("tl_ptr_release")
# By address: a byref object for each call would cost as much as the call.
_row = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)(("tl_sparse_row", lib))

_FORMATS = {"csr": int(_abi.SparseFormat.SPARSE_CSR), "csc": int(_abi.SparseFormat.SPARSE_CSC)}
_NAMES = {number: name for name, number in _FORMATS.items()}
_READ_ONLY = int(_abi.TensorFlag.READ_ONLY)
_LENT = int(_abi.TensorFlag.LENT)


class Line(NamedTuple):
    """A row of a CSR matrix, a column of a CSC matrix: its indices, which ascend, and their values."""

    indices: Array
    values: Array


class Block(NamedTuple):
    """Lines of one block: line first + i has values[offsets[i]:offsets[i + 1]], and indices likewise."""

    first: int
    values: Array
    indices: Array
    offsets: Array


class _Held:
    """A counted reference to a matrix: of its Python object, and of the arrays of its lines."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = _acquire(address)

    def __del__(self, _release: Any = _release, _deferred: Any = deferred.head, _drain: Any = deferred.drain) -> None:
        # The defaults stay reachable while the interpreter takes modules apart.
        try:
            address = self.address
        except AttributeError:  # an exception has ended the construction
            return
        _release(address)
        if _deferred.value:
            _drain()


class _Memory:
    """The memory under an array of a line: the reference to the matrix keeps it alive."""

    __slots__ = ("__array_interface__", "held")

    def __init__(self, matrix: SparseMatrix, address: int, length: int, dtype: DType) -> None:
        self.held = matrix._held
        self.__array_interface__ = {
            "version": 3,
            "shape": (length,),
            "typestr": TYPESTR[dtype],
            "data": (address or matrix.address, matrix.is_read_only),
        }


class _Lengths(ctypes.Structure):
    """The outputs of tl_sparse_row."""

    _fields_ = [("values", ctypes.c_void_p), ("indices", ctypes.c_void_p), ("length", ctypes.c_int64)]


def _check_kind(shape: Sequence[int], format: str) -> tuple[int, int, int]:
    """Returns rows, columns, and the number of the format."""
    if format not in _FORMATS:
        raise ValueError(f"the format {format!r} is neither 'csr' nor 'csc'")
    if len(shape) != 2:
        raise ValueError(f"a matrix has two extents, not a shape of {tuple(shape)}")
    rows, columns = (int64(extent, "an extent") for extent in shape)
    return rows, columns, _FORMATS[format]


def _lent(given: Any, what: str) -> Lent:
    """Returns the memory of a contiguous array of one dimension."""
    array = lent(given, what)
    if array.strides or len(array.shape) != 1:
        raise ValueError(f"{what} have to be a contiguous array of one dimension")
    return array


def in_scope(make: Callable[[], Any]) -> Any:
    """Calls make in a scope of its own, which releases everything that make has not taken a reference to."""
    with scope():
        return make()


class SparseMatrix(SparseValues):
    """A sparse matrix of the runtime, in the format "csr" or "csc".

    It holds one counted reference, as a Tensor does. Slices, transposes and the
    arrays of blocks share blocks without a copy and keep them alive, even if the matrix that they were made
    from ends.
    """

    __slots__ = ("__weakref__", "_address", "_held", "_info", "_shares")

    _address: int
    _held: _Held | None
    _info: _abi.tl_sparse_info
    _shares: bool  # the blocks of the matrix that it was sliced or transposed from

    def __new__(cls) -> SparseMatrix:
        raise TypeError("make a SparseMatrix with from_scipy, from_arrays, from_coo, empty or from_address")

    @classmethod
    def _own(cls, make: Callable[[], int | None]) -> SparseMatrix:
        def taken() -> SparseMatrix:
            address = make()
            if address is None:
                raise last_error()
            return cls.from_address(address)

        matrix: SparseMatrix = in_scope(taken)
        return matrix

    @classmethod
    def from_address(cls, address: int) -> SparseMatrix:
        """Takes a reference to the matrix at an address that other code of the process has; it is checked."""
        info = _abi.tl_sparse_info()
        info.struct_size = ctypes.sizeof(info)
        check(lib.tl_sparse_info_get(address, ctypes.byref(info)))
        if not address:
            raise ValueError("NULL is no matrix")
        matrix = object.__new__(cls)
        matrix._held = _Held(address)
        matrix._address, matrix._info, matrix._shares = address, info, False
        return matrix

    @classmethod
    def empty(
        cls,
        shape: tuple[int, int],
        lengths: Sequence[int],
        dtype: DTypeLike = DType.FLOAT32,
        index_dtype: DTypeLike = DType.INT32,
        format: str = "csr",
        **blocks: int,
    ) -> SparseMatrix:
        """Returns a matrix with room for the given number of nonzeros in each line; indices and values are
        undefined."""
        *extents, number = _check_kind(shape, format)
        lines = extents[number]
        if len(lengths) != lines:
            raise ValueError(f"{len(lengths)} lengths for {lines} lines")
        numbers = int64_array(lengths)
        kinds = (to_dtype(dtype), to_dtype(index_dtype))
        return cls._own(lambda: lib.tl_sparse_create(number, *extents, *kinds, numbers, _options(blocks)))

    @classmethod
    def from_arrays(
        cls,
        shape: tuple[int, int],
        values: Any,
        indices: Any,
        offsets: Any,
        format: str = "csr",
        *,
        copy: bool = True,
        **blocks: int,
    ) -> SparseMatrix:
        """Returns a matrix from three contiguous arrays; indices and offsets have one type.

        With copy=False it is one block over the arrays themselves, read-only if one
        of them is. They live as long as anything uses them.
        """
        *extents, number = _check_kind(shape, format)
        arrays = [_lent(values, "values"), _lent(indices, "indices"), _lent(offsets, "offsets")]
        value, index, other = (array.dtype for array in arrays)
        nonzeros, lines = arrays[0].shape[0], extents[number]
        if index != other or arrays[1].shape[0] != nonzeros or arrays[2].shape[0] != lines + 1:
            raise ValueError("as many indices as values, one offset more than lines, and one type for both are needed")
        addresses = [array.address for array in arrays]
        if copy:
            make = lib.tl_sparse_from_csr if format == "csr" else lib.tl_sparse_from_csc
            return cls._own(lambda: make(*extents, nonzeros, value, index, *addresses, _options(blocks)))
        flags = _READ_ONLY if any(array.read_only for array in arrays) else 0

        def wrap() -> int | None:
            kept = deferred.keep([array.kept for array in arrays])
            kinds = (nonzeros, value, index)
            made: int | None = lib.tl_sparse_wrap(number, *extents, *kinds, *addresses, flags, deferred.DELETER, kept)
            if made is None:
                error = last_error()
                deferred.forget(kept)
                raise error
            return made

        return cls._own(wrap)

    @classmethod
    def from_scipy(cls, matrix: Any, *, copy: bool | None = None, **blocks: int) -> SparseMatrix:
        """Returns a matrix from a SciPy matrix or array.

        From CSR and CSC with ascending indices without duplicates it is one block over SciPy's own memory,
        unless copy is true; others are copied once, or refused when copy is false. Indices and offsets of different
        types become the wider one. copy=True makes blocks of several lines. ValueError says what is wrong with offsets
        or indices.
        """
        if isinstance(matrix, SparseMatrix):
            matrix = matrix.to_scipy()
        return scipy_arrays.take(cls, matrix, copy, blocks)

    def to_scipy(self, *, copy: bool | None = None) -> Any:
        """Returns a scipy.sparse.csr_array or csc_array.

        For a matrix of one block the result uses the block's memory, unless copy is true. Such a matrix is one
        that from_scipy made without a copy, a small one, or a slice within a block. Others are copied once, or
        refused when copy is false.
        """
        return scipy_arrays.give(self, copy)

    def __reduce__(self) -> Any:
        return load_sparse, pickled(self)

    def __repr__(self) -> str:
        kind = f"shape={self.shape}, nnz={self.nnz}, format={self.format!r}, dtype={self.dtype}"
        where = "closed" if self._held is None else f"{self._address:#x}"
        return f"tl.SparseMatrix({where}, {kind})"

    @property
    def address(self) -> int:
        """The address to hand to generated code, which borrows it."""
        return self._address

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._info.rows, self._info.columns

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def nnz(self) -> int:
        """The number of nonzeros that are stored."""
        return int(self._info.nonzeros)

    @property
    def format(self) -> str:
        """ "csr": lines are rows; "csc": lines are columns."""
        return _NAMES[self._info.format]

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return BY_NUMBER[self._info.value_dtype]

    @property
    def index_dtype(self) -> DType:
        """The type of indices and offsets."""
        return BY_NUMBER[self._info.index_dtype]

    @property
    def block_count(self) -> int:
        """The number of blocks."""
        return int(self._info.blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix and of its blocks, each as a whole."""
        return int(self._info.bytes)

    @property
    def payload_bytes(self) -> int:
        """Bytes of the three arrays that SciPy would need for it."""
        return int(self._info.payload_bytes)

    @property
    def is_read_only(self) -> bool:
        """Whether the memory is borrowed and its lender does not allow writes."""
        return bool(self._info.flags & _READ_ONLY)

    @property
    def refcount(self) -> int:
        """The number of references: this one, and those of other code."""
        return int(lib.tl_ptr_refcount(self._address))

    def validate(self) -> None:
        """Raises what is wrong when indices are out of order or range; the message names the line."""
        check(lib.tl_sparse_validate(self._address))

    def register(self) -> SparseMatrix:
        """Gives the current scope a reference of its own, as generated code would."""
        check(lib.tl_mem_register_ptr(self._address))
        return self

    def __sizeof__(self) -> int:
        """What sys.getsizeof counts: this object, and nbytes if the matrix owns its blocks.

        Borrowed arrays belong to their lender, blocks of a slice or a transpose to the matrix that it was made from;
        neither counts here.
        """
        shared = self._shares or self._held is None or self._info.flags & _LENT
        return object.__sizeof__(self) + (0 if shared else self.nbytes)

    def _sharing(self, make: Callable[[], int | None]) -> SparseMatrix:
        """A matrix over blocks of this one."""
        matrix = self._own(make)
        matrix._shares = True
        return matrix

    @property
    def T(self) -> SparseMatrix:
        """The transpose, over the same blocks: of "csr" a "csc", whose columns are the rows."""
        return self._sharing(lambda: lib.tl_sparse_transpose(self._address))

    def transpose(self) -> SparseMatrix:
        """The same as T."""
        return self.T

    def line(self, i: int) -> Line:
        """Row i of a CSR matrix, column i of a CSC matrix, as arrays over the same memory."""
        at = _Lengths()
        base = ctypes.addressof(at)
        status = _row(self._address, int64(i, "a number"), base, base + 8, base + 16)
        if status:
            raise error_for(status)
        asarray = numpy_module().asarray
        return Line(
            asarray(_Memory(self, at.indices, at.length, self.index_dtype)),
            asarray(_Memory(self, at.values, at.length, self.dtype)),
        )

    def lines(self) -> Iterator[Line]:
        """Every line, one after the other."""
        return map(self.line, range(self.shape[self._info.format]))

    def row(self, i: int) -> Line:
        """Row i of a CSR matrix."""
        return self._of("csr").line(i)

    def rows(self) -> Iterator[Line]:
        """The rows of a CSR matrix."""
        return self._of("csr").lines()

    def column(self, i: int) -> Line:
        """Column i of a CSC matrix."""
        return self._of("csc").line(i)

    def columns(self) -> Iterator[Line]:
        """The columns of a CSC matrix."""
        return self._of("csc").lines()

    def _of(self, format: str) -> SparseMatrix:
        if self.format != format:
            raise TypeError(f"a {self.format} matrix stores no {'rows' if format == 'csr' else 'columns'} together")
        return self

    def block(self, i: int) -> Block:
        """Block i as arrays over its memory, which they keep alive; the offsets of a slice's part are a copy."""
        i = int64(i, "a number")
        info = _abi.tl_sparse_block_info()
        info.struct_size = ctypes.sizeof(info)
        check(lib.tl_sparse_block(self._address, i, ctypes.byref(info)))
        values, indices, offsets = (tensor.numpy() for tensor in self._tensors(lib.tl_sparse_block_tensors, i))
        return Block(int(info.first_line), values, indices, offsets - offsets[0] if offsets[0] else offsets)

    def blocks(self) -> Iterator[Block]:
        """Every block, one after the other."""
        return map(self.block, range(self.block_count))

    def to_contiguous(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns values, indices and offsets as tensors of their own."""
        values, indices, offsets = self._tensors(lib.tl_sparse_to_contiguous)
        return values, indices, offsets

    def _tensors(self, fill: Any, *arguments: int) -> list[Tensor]:
        def taken() -> list[Tensor]:
            made = [ctypes.c_void_p() for _ in range(3)]
            check(fill(self._address, *arguments, *(ctypes.byref(one) for one in made)))
            return [Tensor.from_address(one.value or 0) for one in made]

        tensors: list[Tensor] = in_scope(taken)
        return tensors


def _options(blocks: dict[str, int]) -> Any:
    """The tl_sparse_options of target_rows, min_elements and max_elements; None for the defaults."""
    if not blocks:
        return None
    options = _abi.tl_sparse_options(struct_size=ctypes.sizeof(_abi.tl_sparse_options))
    for name, value in blocks.items():
        if name not in ("target_rows", "min_elements", "max_elements"):
            raise TypeError(f"{name} is no option of blocks; there are target_rows, min_elements and max_elements")
        setattr(options, name, int64(value, name))
    return ctypes.byref(options)


@or_undelivered
def load_sparse(
    format: str, shape: tuple[int, int], begin: int, values: Tensor, indices: Tensor, offsets: Tensor
) -> SparseMatrix:
    """A sparse matrix over three arrays, of which it uses as many elements as the offsets say."""
    nonzeros = _last(offsets)
    arrays = (values[begin : begin + nonzeros], indices[begin : begin + nonzeros], offsets)
    return SparseMatrix.from_arrays(shape, *arrays, format, copy=False)


def _last(offsets: Tensor) -> int:
    kind = {DType.INT32: ctypes.c_int32, DType.INT64: ctypes.c_int64}.get(offsets.dtype)
    if kind is None or not offsets.size:
        raise ValueError(f"{offsets.size} offsets of the type {offsets.dtype} are none of a sparse matrix")
    return int(kind.from_address(offsets.data + offsets.nbytes - ctypes.sizeof(kind)).value)


load_sparse.__module__ = "tl_runtime._pickling"  # by which pickles name it, wherever it is
