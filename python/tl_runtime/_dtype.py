"""Element types of tensors, and what NumPy calls them."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Union

from ._abi import DTYPES

if TYPE_CHECKING:
    import numpy


class DType(IntEnum):
    """tl_dtype: the numbers of the C ABI.

    An element type equals its number and what NumPy calls it: t.dtype == numpy.float32, == numpy.dtype("f4"), and
    == "float32".
    """

    FLOAT32 = 0
    FLOAT64 = 1
    INT32 = 2
    INT64 = 3
    UINT8 = 4
    FLOAT16 = 5
    BFLOAT16 = 6
    BOOL = 16
    INT8 = 17
    INT16 = 18
    UINT16 = 19
    UINT32 = 20
    UINT64 = 21
    COMPLEX64 = 22
    COMPLEX128 = 23

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By its number in every version of Python; from 3.11.0 to 3.11.3 enum has pickles name it by getattr."""
        return DType, (int(self),)

    @property
    def typestr(self) -> str:
        """The element type as the array interface writes it."""
        return TYPESTR[self]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(TYPESTR[self][2:])

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """NumPy's type of such elements, which is also what numpy.dtype makes of a DType; two bytes for bfloat16."""
        import numpy

        return numpy.dtype(self.typestr)

    @property
    def kind(self) -> str:
        """NumPy's letter for the kind of element: f, i, u, b, c, or V for bfloat16."""
        return self.dtype.kind

    @property
    def char(self) -> str:
        """NumPy's letter for the type."""
        return self.dtype.char

    @property
    def type(self) -> type[Any]:
        """NumPy's class of single elements."""
        return self.dtype.type

    def __str__(self) -> str:
        return self.name.lower()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return int(self) == int(other)
        return _names_a_type(other) and _named(other) is self

    def __ne__(self, other: object) -> bool:  # int has one of its own
        return not self == other

    __hash__ = int.__hash__


# bfloat16 has no letter; two opaque bytes are what ml_dtypes.bfloat16 is a view of.
TYPESTR = {DType(number): typestr for number, (_, typestr, _) in DTYPES.items()}
FORMAT = {DType(number): letters for number, (_, _, letters) in DTYPES.items()}
# What the forms of graphs and plans call an element type: f32, i64, bf16, bool.
SHORT_NAME = {DType(number): name for number, (name, _, _) in DTYPES.items()}
BY_SHORT_NAME = {name: dtype for dtype, name in SHORT_NAME.items()}
BY_NUMBER = {int(dtype): dtype for dtype in DType}
BY_NAME = {str(dtype): dtype for dtype in DType}
BY_NAME.update({"float": DType.FLOAT64, "int": DType.INT64, "complex": DType.COMPLEX128})
_BY_TYPESTR = {typestr: dtype for dtype, typestr in TYPESTR.items()}

DTypeLike = Union[DType, int, str, type, Any]


def to_dtype(spec: DTypeLike) -> DType:
    """Returns the element type that a DType, its number or name, a Python type or a NumPy type names."""
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, int):
        dtype = None if isinstance(spec, bool) else BY_NUMBER.get(spec)
    else:
        dtype = _named(spec)
    if dtype is None:
        raise TypeError(f"{spec!r} is no element type of a tensor; known are {', '.join(BY_NAME)}")
    return dtype


def _named(spec: Any) -> DType | None:
    name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", "")
    return BY_NAME.get(str(name).rstrip("_"))  # numpy.bool_


def _names_a_type(other: object) -> bool:
    """Whether something is the name of a type, a type of Python's or NumPy's, or a NumPy type of this byte order."""
    if isinstance(other, (str, type)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(other, numpy.dtype) and bool(other.isnative)


def from_typestr(typestr: str) -> DType:
    """Returns the element type of an array interface; foreign byte orders have none."""
    dtype = _BY_TYPESTR.get(typestr)
    if dtype is None:
        raise TypeError(f"a tensor cannot hold elements of the array type {typestr!r}")
    return dtype
