"""The values of a tensor: elements, lists, assignment, comparison and text.

Arithmetic is NumPy's. Operators and NumPy's functions read the tensor's memory where it is and return NumPy's arrays; a
tensor given as out=, or on the left of +=, receives the result. docs/start-python.md has the rules, RATIONALE.md the
reasons.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, Union

from .._binding.library import check, lib
from .._dtype import FORMAT, TYPESTR, DType
from .arrays import numpy_module
from .devices import name_of
from .info import uninitialised
from .sharing import in_reach
from .views import Viewable

if TYPE_CHECKING:
    import numpy

    from .tensor import Tensor

    Array = numpy.ndarray[Any, Any]

Number = Union[bool, int, float, complex]
Self = TypeVar("Self", bound="Values")

_BFLOAT16 = DType.BFLOAT16  # an attribute of an enumeration takes as long as a call
_NUMBERS = frozenset((bool, int, float, complex))

# What struct calls an element otherwise than buffers do; bfloat16 is the upper half of a float32.
_IN_STRUCTS = {"l": "q", "L": "Q", "2x": "f", "Zf": "2f", "Zd": "2d"}


def _element(dtype: DType, raw: bytes) -> Number:
    """The number that the bytes of an element stand for."""
    letters = "<" + _IN_STRUCTS.get(FORMAT[dtype], FORMAT[dtype])
    numbers = struct.unpack(letters, b"\0\0" + raw if dtype is DType.BFLOAT16 else raw)
    number: Number = complex(*numbers) if len(numbers) == 2 else numbers[0]
    return number


def from_bfloat16(bits: Any) -> Any:
    """Returns an array of two-byte elements as the float32 that they are the upper halves of."""
    numpy = numpy_module()
    wide = numpy.asarray(bits).view(numpy.uint16).astype(numpy.uint32) << 16
    return wide.view(numpy.float32)


def to_bfloat16(numbers: Any) -> Any:
    """Returns numbers as the nearest bfloat16, each as the 16 bits of it; of two that are equally near the even one."""
    numpy = numpy_module()
    bits = numpy.asarray(numbers, numpy.float32).view(numpy.uint32)
    near = (bits + ((bits >> 16 & 1) + numpy.uint32(0x7FFF))) >> 16
    quiet = bits >> 16 | 0x40  # the sum could turn a NaN into an infinity
    return numpy.where(bits & 0x7FFFFFFF > 0x7F800000, quiet, near).astype(numpy.uint16)


def _is_near(tensor: Values) -> bool:
    """Whether the CPU uses the memory of a tensor at its address."""
    return tensor.device == 0 or in_reach(tensor.device)


def _array(tensor: Values) -> Any:
    """The array over a tensor of which NumPy reads elements fastest; None where it cannot, or is not loaded."""
    if sys.modules.get("numpy") is None or tensor.dtype is DType.BFLOAT16 or not _is_near(tensor):
        return None
    return tensor.numpy()


def _numbers(given: Any) -> Any:
    """A tensor as an array of what its elements stand for, on the CPU; anything else as it is."""
    if not isinstance(given, Values):
        return given
    array = (given if _is_near(given) else given.cpu()).numpy()
    return from_bfloat16(array) if given.dtype is DType.BFLOAT16 else array


def _operand(given: Any) -> Any:
    """A tensor as an array over its memory, also in lists, tuples and dictionaries; anything else as it is."""
    if isinstance(given, Values):
        if given.dtype is _BFLOAT16:
            raise TypeError("NumPy does not compute with bfloat16; tl.asarray(tensor, 'float32') converts the tensor")
        return given.numpy()
    kind = type(given)
    if kind is list or kind is tuple:
        return kind([_operand(item) for item in given])
    if kind is dict:
        return {key: _operand(item) for key, item in given.items()}
    return given


def _declines(other: Any) -> bool:
    """Whether an operand of another type computes by itself (NEP 13)."""
    kind = type(other)
    return kind not in _NUMBERS and getattr(kind, "__array_ufunc__", True) is None


Method = Callable[["Values", Any], Any]


def _operator(operation: Callable[[Any, Any], Any]) -> Method:
    def forward(self: Values, other: Any) -> Any:
        return NotImplemented if _declines(other) else operation(_operand(self), _operand(other))

    return forward


def _reflected(operation: Callable[[Any, Any], Any]) -> Method:
    def backward(self: Values, other: Any) -> Any:
        return NotImplemented if _declines(other) else operation(_operand(other), _operand(self))

    return backward


def _in_place(operation: Callable[[Any, Any], Any]) -> Method:
    def in_place(self: Values, other: Any) -> Any:
        array = _operand(self)
        made = operation(array, _operand(other))
        if made is not array:
            raise TypeError(f"the result is a {type(made).__name__} of its own and cannot replace a tensor's elements")
        return self

    return in_place


def _three_ways(name: str) -> tuple[Method, Method, Method]:
    """An operator of two operands with the tensor on the left, on the right, and in place."""
    operation, in_place = getattr(operator, f"__{name}__"), getattr(operator, f"__i{name}__")
    return _operator(operation), _reflected(operation), _in_place(in_place)


def _of_one(operation: Callable[[Any], Any]) -> Callable[[Values], Array]:
    def method(self: Values) -> Any:
        return operation(_operand(self))

    return method


def _kind(given: Any) -> str:
    """What the type of an argument is called in a message."""
    kind = type(given)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


class Values(Viewable):
    """What a Tensor does with its elements."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def dtype(self) -> DType: ...
        @property
        def device(self) -> int: ...
        @property
        def data(self) -> int: ...
        @property
        def is_read_only(self) -> bool: ...
        def numpy(self) -> Array: ...
        def clone(self: Self) -> Self: ...
        def cpu(self: Self) -> Self: ...

    def item(self, *index: Any) -> Number:
        """The only element as a number of Python's, or the one at an index: item(3) in row-major order, item(1, 2)
        by axes. An element of a device is copied."""
        array = _array(self)
        if array is not None:
            try:
                number: Number = array.item(*index)
                return number
            except (IndexError, TypeError, ValueError):
                pass  # which is told below, as for every tensor
        if len(index) == 1 and isinstance(index[0], tuple):
            index = index[0]
        shape = self.shape
        if not index:
            return self._only("item", "; name one, as in item(0)")
        if len(index) == 1 and len(shape) != 1:
            index = self._unravelled(operator.index(index[0]))
        if len(index) != len(shape):
            raise IndexError(f"item: {len(index)} indices for a tensor of {len(shape)} dimensions")
        return self[tuple(map(operator.index, index))]._only("item")

    def _unravelled(self, position: int) -> tuple[int, ...]:
        """The index of an element that is counted in row-major order."""
        size = math.prod(self.shape)
        if not -size <= position < size:
            raise IndexError(f"item: index {position} is out of range for {size} elements")
        position %= size
        index: list[int] = []
        for extent in reversed(self.shape):
            position, at = divmod(position, extent)
            index.append(at)
        return tuple(reversed(index))

    def _only(self, what: str, hint: str = "", error: type[Exception] = ValueError) -> Number:
        """The element of a tensor that has one."""
        size = math.prod(self.shape)
        if size != 1:
            raise error(f"{what}: a tensor of shape {self.shape} has {size} elements, not one{hint}")
        array = _array(self)
        if array is not None:
            number: Number = array.item()
            return number
        here = self if _is_near(self) else self.cpu()
        return _element(here.dtype, ctypes.string_at(here.data, here.dtype.itemsize))

    def tolist(self) -> Any:
        """The elements as numbers of Python's in nested lists; of a tensor of rank 0 the number alone."""
        if not self.shape:
            return self.item()
        try:
            return _numbers(self).tolist()
        except ImportError:
            return [row.tolist() for row in self]

    def __float__(self) -> float:
        return float(self._only("float", error=TypeError))  # type: ignore[arg-type]

    def __int__(self) -> int:
        return int(self._only("int", error=TypeError))  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(self._only("complex", error=TypeError))

    def __index__(self) -> int:
        if self.shape or TYPESTR[self.dtype][1] not in "iu":
            what = f"one of {self.dtype} and shape {self.shape}"
            raise TypeError(f"only an integer tensor of rank 0 is an index, not {what}")
        return int(self)

    def __bool__(self) -> bool:
        return bool(self._only("bool", "; use numpy.any or numpy.all"))

    def __contains__(self, element: Any) -> bool:
        return element in _operand(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        """t[index] = value, with every index and value that NumPy takes.

        On a device that the CPU cannot reach the index is one that a view has, and the value is copied there.
        """
        if self.is_read_only:
            raise ValueError("the memory of this tensor was lent for reading only; assign to a clone()")
        if not _is_near(self):
            self[index]._fill_from_afar(value)
            return
        array, place = self.numpy(), _position(index)
        if self.dtype is not DType.BFLOAT16:
            array[place] = _numbers(value)
        elif isinstance(value, Values) and value.dtype is DType.BFLOAT16 and _is_near(value):
            array[place] = value.numpy()
        else:
            array.view("u2")[place] = to_bfloat16(_numbers(value))

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError("the elements of a tensor cannot be deleted")

    def _fill_from_afar(self, value: Any) -> None:
        if not isinstance(value, Values) or (value.shape, value.dtype) != (self.shape, self.dtype):
            here = uninitialised(self.shape, self.dtype)
            here[...] = value
            value = here
        self.copy_from(value)

    def fill(self, value: Any) -> None:
        """Sets every element to a value."""
        self[...] = value

    def copy_from(self: Self, source: Tensor) -> Self:
        """Copies the elements of a tensor of the same shape and type into this one, between any devices."""
        if not isinstance(source, Values):
            raise TypeError(f"copy_from: source is a {_kind(source)}, not a Tensor; tensor[...] = source takes arrays")
        check(lib.tl_tensor_copy(self._address, source._address))
        return self

    def copy(self: Self) -> Self:
        """A contiguous copy on the same device, as clone()."""
        return self.clone()

    def __copy__(self: Self) -> Self:
        return self.clone()

    def __repr__(self) -> str:
        near = _is_near(self)
        where = f", device={name_of(self.device)!r}" if self.device else ""
        about = f"shape={self.shape}, dtype={self.dtype}{where})"
        try:
            values = self._text() if near else f"{self._address:#x}"
        except ImportError:
            values = f"{self._address:#x}"
        return f"tl.Tensor({values}, {about}"

    def _text(self) -> str:
        """The values as NumPy writes them, many of them abbreviated."""
        bfloat16 = {"void": lambda element: repr(_element(DType.BFLOAT16, element.tobytes()))}
        written = {"formatter": bfloat16} if self.dtype is DType.BFLOAT16 else {}
        text: str = numpy_module().array2string(self.numpy(), separator=", ", prefix="tl.Tensor(", **written)
        return text

    def __format__(self, spec: str) -> str:
        return format(self._only("format"), spec) if spec else str(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's element-wise functions: they return arrays, or the tensors that were given as out."""
        given: tuple[Any, ...] = options.get("out", ())
        made = getattr(ufunc, method)(*map(_operand, inputs), **_operand(options))
        if not given:
            return made
        if len(given) == 1:
            return given[0]
        return tuple(one if out is None else out for out, one in zip(given, made))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """NumPy's other functions: they return arrays, or the tensor that was given as out."""
        given, plain = options.get("out"), _operand(options)
        made = function(*_operand(tuple(arguments)), **plain)
        return given if given is not None and made is plain["out"] else made

    __hash__ = object.__hash__  # by identity, though == compares elements

    __eq__, __ne__ = _operator(operator.eq), _operator(operator.ne)
    __lt__, __le__ = _operator(operator.lt), _operator(operator.le)
    __gt__, __ge__ = _operator(operator.gt), _operator(operator.ge)

    __add__, __radd__, __iadd__ = _three_ways("add")
    __sub__, __rsub__, __isub__ = _three_ways("sub")
    __mul__, __rmul__, __imul__ = _three_ways("mul")
    __mod__, __rmod__, __imod__ = _three_ways("mod")
    __and__, __rand__, __iand__ = _three_ways("and")
    __xor__, __rxor__, __ixor__ = _three_ways("xor")
    __or__, __ror__, __ior__ = _three_ways("or")
    __truediv__, __rtruediv__, __itruediv__ = _three_ways("truediv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _three_ways("floordiv")
    __matmul__, __rmatmul__, __imatmul__ = _three_ways("matmul")
    __lshift__, __rlshift__, __ilshift__ = _three_ways("lshift")
    __rshift__, __rrshift__, __irshift__ = _three_ways("rshift")
    _power, __rpow__, __ipow__ = _three_ways("pow")
    __divmod__, __rdivmod__ = _operator(divmod), _reflected(divmod)
    __neg__, __pos__ = _of_one(operator.neg), _of_one(operator.pos)
    __abs__, __invert__ = _of_one(operator.abs), _of_one(operator.invert)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise TypeError("pow: a tensor takes no modulus; numpy.mod(tensor**exponent, modulus) computes it")
        return self._power(other)


def _position(index: Any) -> Any:
    """An index of NumPy's, of which parts are tensors."""
    if isinstance(index, tuple):
        return tuple(map(_position, index))
    return _numbers(index) if isinstance(index, Values) else index
