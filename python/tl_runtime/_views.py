"""Views of tensors: other shapes and strides over the same memory."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from ._info import hold, info_of, interface_of
from ._library import lib, unchecked
from ._numbers import HIGHEST, LOWEST, int64, shape_for_c

_reshape = unchecked("tl_tensor_reshape")
_slice = unchecked("tl_tensor_slice")

View = TypeVar("View", bound="Viewable")


def shape_array(shape: int | Sequence[int]) -> tuple[tuple[int, ...], ctypes.Array[ctypes.c_int64]]:
    """Returns a shape as a tuple and as the array that the library reads."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    return extents, shape_for_c(extents)


def _one_or_many(shape: tuple[Any, ...]) -> Any:
    """The arguments of f(2, 3) and of f((2, 3)) as one tuple."""
    return shape[0] if len(shape) == 1 else shape


class Viewable:
    """The views of a Tensor.

    Views share the tensor's memory and keep it alive. No method here copies: a view that strides cannot express
    raises tl.UnsupportedError; clone() copies.
    """

    __slots__ = ()

    _interface: dict[str, Any]
    _address: int

    def _describe(self, address: int, interface: dict[str, Any], device: int) -> None:
        raise NotImplementedError

    def _view(self: View, address: int | None) -> View:
        held = hold(address)
        view: View = object.__new__(type(self))
        info = info_of(held)
        view._describe(held, interface_of(info, held), info.device)
        return view

    def reshape(self: View, *shape: Any) -> View:
        """The same elements, in row-major order, in another shape; one extent may be -1."""
        extents, array = shape_array(_one_or_many(shape))
        return self._view(_reshape(self._address, len(extents), array))

    def transpose(self: View, *axes: Any) -> View:
        """The axes in another order; without arguments in reverse order."""
        rank = len(self._interface["shape"])
        order = _one_or_many(axes) if axes and axes != (None,) else range(rank - 1, -1, -1)
        given, array = shape_array(order)
        return self._view(lib.tl_tensor_permute(self._address, len(given), array))

    @property
    def T(self: View) -> View:
        """The axes in reverse order."""
        return self.transpose()

    def swapaxes(self: View, axis1: int, axis2: int) -> View:
        """Two axes swapped."""
        return self._view(lib.tl_tensor_transpose(self._address, axis1, axis2))

    def broadcast_to(self: View, *shape: Any) -> View:
        """Axes of one element repeated, and the whole tensor repeated along new leading axes; -1 keeps an
        extent."""
        extents, array = shape_array(_one_or_many(shape))
        return self._view(lib.tl_tensor_broadcast_to(self._address, len(extents), array))

    def squeeze(self: View, axis: int | None = None) -> View:
        """Without an axis of one element, or without all of them."""
        if axis is not None:
            return self._view(lib.tl_tensor_squeeze(self._address, axis))
        shape = [extent for extent in self._interface["shape"] if extent != 1]
        return self.reshape(shape)

    def expand_dims(self: View, axis: int) -> View:
        """With one more axis, of one element."""
        return self._view(lib.tl_tensor_expand_dims(self._address, axis))

    def __getitem__(self: View, index: Any) -> View:
        """A view by integers, slices, an ellipsis and None, as NumPy means them; an integer does not make a scalar."""
        view, axis = self, 0
        for item in self._complete(index if isinstance(index, tuple) else (index,)):
            if item is None:
                view, axis = view.expand_dims(axis), axis + 1
            elif isinstance(item, slice):
                view, axis = view._sliced(axis, item), axis + 1
            else:
                view = view._picked(axis, operator.index(item))
        return view if view is not self else self.transpose(range(len(self._interface["shape"])))

    def __iter__(self: View) -> Iterator[View]:
        """The rows."""
        shape = self._interface["shape"]
        if not shape:
            raise TypeError("a tensor of rank 0 has no rows")
        return (self[row] for row in range(shape[0]))

    def _complete(self, index: tuple[Any, ...]) -> list[Any]:
        """Replaces the ellipsis, which is at the end unless it is written, by slices of whole axes."""
        rank = len(self._interface["shape"])
        named = sum(item is not None and item is not Ellipsis for item in index)
        if named > rank:
            raise IndexError(f"{named} indices for a tensor of {rank} dimensions")
        at = [i for i, item in enumerate(index) if item is Ellipsis]
        if len(at) > 1:
            raise IndexError("an index can have one ellipsis")
        first = at[0] if at else len(index)
        skipped = [slice(None)] * (rank - named) if at and first != len(index) - 1 else []
        return [*index[:first], *skipped, *index[first + 1 :]]

    def _sliced(self: View, axis: int, item: slice) -> View:
        if item == slice(None):
            return self
        step = 1 if item.step is None else int64(item.step, "a step")
        start, stop = (LOWEST, HIGHEST) if step > 0 else (HIGHEST, LOWEST)
        if item.start is not None:
            start = min(max(operator.index(item.start), LOWEST), HIGHEST)
        if item.stop is not None:
            stop = min(max(operator.index(item.stop), LOWEST), HIGHEST)
        return self._view(_slice(self._address, axis, start, stop, step))

    def _picked(self: View, axis: int, at: int) -> View:
        extent = self._interface["shape"][axis]
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is out of range for axis {axis} with {extent} elements")
        at %= extent
        return self._view(_slice(self._address, axis, at, at + 1, 1)).squeeze(axis)
