"""Tensors of given values: ones, full, arange, asarray."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .._dtype import DType, DTypeLike, to_dtype
from .arrays import numpy_module
from .devices import DeviceLike, device_number, name_of
from .tensor import Tensor, empty, from_dlpack, from_numpy
from .values import _kind


def ones(
    shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, device: DeviceLike | None = None
) -> Tensor:
    """Returns a tensor whose elements are 1, on the device that the option TL_DEVICE names unless one is given."""
    return full(shape, 1, dtype, device)


def full(
    shape: int | Sequence[int], fill_value: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Returns a tensor whose elements are fill_value, or what NumPy broadcasts from it.

    Without dtype a bool makes BOOL, an int INT64, a float FLOAT32 as in tl.zeros, a complex COMPLEX64, and a value
    with a dtype of its own that one.
    """
    tensor = empty(shape, _type_of(fill_value) if dtype is None else dtype, device)
    tensor.fill(fill_value)
    return tensor


def _type_of(value: Any) -> DType:
    if hasattr(value, "dtype"):
        return to_dtype(value.dtype)
    for kind, dtype in ((bool, DType.BOOL), (int, DType.INT64), (float, DType.FLOAT32), (complex, DType.COMPLEX64)):
        if isinstance(value, kind):
            return dtype
    return to_dtype(numpy_module().asarray(value).dtype)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Returns the numbers from start, or 0, to below stop; INT64 for integers, else FLOAT32, unless dtype says."""
    if stop is None:
        start, stop = 0, start
    if not step:
        raise ValueError("arange: step is 0, with which no number follows another")
    try:
        start, stop, step = operator.index(start), operator.index(stop), operator.index(step)
        default = DType.INT64
    except TypeError:
        start, stop, step = float(start), float(stop), float(step)
        default = DType.FLOAT32
    numbers = numpy_module().arange(start, stop, step)
    tensor = empty(numbers.shape, default if dtype is None else dtype, device)
    tensor[...] = numbers
    return tensor


def asarray(
    obj: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None, *, copy: bool | None = None
) -> Tensor:
    """Returns a tensor of what obj holds: obj itself, or a tensor over its memory, where that is possible.

    obj is a Tensor, an array of any library with DLPack or NumPy's protocols, a number, or nested lists. Other types
    and devices than asked for are copied, and so is what has no memory that a tensor can use, lists for example.
    copy=True always copies; copy=False raises ValueError instead of copying.
    """
    kind = None if dtype is None else to_dtype(dtype)
    tensor, is_new = (obj, False) if isinstance(obj, Tensor) else _taken(obj, copy)
    place = tensor.device if device is None else device_number(device)
    if kind is not None and tensor.dtype is not kind:
        if copy is False:
            raise ValueError(f"asarray: {tensor.dtype} becomes {kind} by a copy, and copy is False")
        converted = empty(tensor.shape, kind, 0)
        converted[...] = tensor
        tensor, is_new = converted, True
    if place != tensor.device:
        if copy is False:
            here, there = name_of(tensor.device), name_of(place)
            raise ValueError(f"asarray: elements come from {here} to {there} by a copy, and copy is False")
        return tensor.to(place)
    return tensor.clone() if copy and not is_new else tensor


def _taken(obj: Any, copy: bool | None) -> tuple[Tensor, bool]:
    """Returns a tensor of what another library's array or Python's numbers hold, and whether it is a copy."""
    if not hasattr(obj, "__array_interface__") and hasattr(obj, "__dlpack__"):
        return from_dlpack(obj, copy=copy or None), bool(copy)
    numpy = numpy_module()
    array = numpy.asarray(obj)
    try:
        to_dtype(array.dtype)
    except TypeError:
        raise TypeError(
            f"asarray: obj is a {_kind(obj)} of elements {array.dtype}, which a tensor cannot hold"
        ) from None
    shares = isinstance(obj, numpy.ndarray) or array.base is not None
    if shares and not copy:
        try:
            return from_numpy(array, copy=False), False
        except (ValueError, TypeError):
            if copy is False:
                raise
    if copy is False:
        raise ValueError(f"asarray: a {_kind(obj)} has no memory that a tensor can use, and copy is False")
    return from_numpy(array), True
