"""Views of tensors: other shapes and strides over the same memory."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._binding.library import lib, unchecked
from .._binding.numbers import HIGHEST, LOWEST, int64, shape_for_c

_reshape = unchecked("tl_view_reshape")
_slice_axes = unchecked("tl_view_slice_axes")

View = TypeVar("View", bound="Viewable")


def shape_array(shape: int | Sequence[int]) -> tuple[tuple[int, ...], ctypes.Array[ctypes.c_int64]]:
    """Returns a shape as a tuple and as the array that the library reads."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if bool in map(type, extents):
        raise TypeError(f"an extent is an integer, not a truth value: {extents}")
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

    _address: int

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...

    def _view(self: View, address: int | None) -> View:
        """Makes a tensor of what a function of the library returned, and the current scope holds; None raises."""
        raise NotImplementedError

    def reshape(self: View, *shape: Any) -> View:
        """The same elements, in row-major order, in another shape; one extent may be -1."""
        extents, array = shape_array(_one_or_many(shape))
        return self._view(_reshape(self._address, len(extents), array))

    def transpose(self: View, *axes: Any) -> View:
        """The axes in another order; without arguments in reverse order."""
        rank = len(self.shape)
        order = _one_or_many(axes) if axes and axes != (None,) else range(rank - 1, -1, -1)
        given, array = shape_array(order)
        return self._view(lib.tl_view_permute(self._address, len(given), array))

    @property
    def T(self: View) -> View:
        """The axes in reverse order."""
        return self.transpose()

    def swapaxes(self: View, axis1: int, axis2: int) -> View:
        """Two axes swapped."""
        return self._view(lib.tl_view_transpose(self._address, int64(axis1, "axis1"), int64(axis2, "axis2")))

    def broadcast_to(self: View, *shape: Any) -> View:
        """Axes of one element repeated, and the whole tensor repeated along new leading axes; -1 keeps an
        extent."""
        extents, array = shape_array(_one_or_many(shape))
        return self._view(lib.tl_view_broadcast_to(self._address, len(extents), array))

    def squeeze(self: View, axis: int | None = None) -> View:
        """Without an axis of one element, or without all of them."""
        if axis is not None:
            return self._view(lib.tl_view_squeeze(self._address, int64(axis, "axis")))
        shape = [extent for extent in self.shape if extent != 1]
        return self.reshape(shape)

    def expand_dims(self: View, axis: int) -> View:
        """With one more axis, of one element."""
        return self._view(lib.tl_view_expand_dims(self._address, int64(axis, "axis")))

    def __getitem__(self: View, index: Any) -> View:
        """A view by integers, slices, an ellipsis and None, as NumPy means them; an integer does not make a scalar.

        A mask or a list of integers selects elements that no view can have: tensor.numpy()[index] copies them.
        tensor[index] = value takes either.
        """
        parts: list[tuple[int, int, int]] = []  # of axes: start, stop, step
        new: list[int] = []  # axes of the view that the tensor does not have
        axis = 0
        for item in self._complete(index if isinstance(index, tuple) else (index,)):
            if item is None:
                new.append(axis)
            elif isinstance(item, slice):
                parts.append(_bounds(item))
            else:
                parts.append((self._position(len(parts), _integer(item)), 0, 0))
                continue
            axis += 1
        starts, stops, steps = ((ctypes.c_int64 * len(parts))(*numbers) for numbers in zip(*parts)) if parts else (None,) * 3
        view = self._view(_slice_axes(self._address, len(parts), starts, stops, steps))
        for axis in new:
            view = view.expand_dims(axis)
        return view

    def __iter__(self: View) -> Iterator[View]:
        """The rows."""
        shape = self.shape
        if not shape:
            raise TypeError("a tensor of rank 0 has no rows")
        return (self[row] for row in range(shape[0]))

    def _complete(self, index: tuple[Any, ...]) -> list[Any]:
        """Replaces the ellipsis, which is at the end unless it is written, by slices of whole axes."""
        rank = len(self.shape)
        named = sum(item is not None and item is not Ellipsis for item in index)
        if named > rank:
            raise IndexError(f"{named} indices for a tensor of {rank} dimensions")
        at = [i for i, item in enumerate(index) if item is Ellipsis]
        if len(at) > 1:
            raise IndexError("an index can have one ellipsis")
        first = at[0] if at else len(index)
        skipped = [slice(None)] * (rank - named) if at and first != len(index) - 1 else []
        return [*index[:first], *skipped, *index[first + 1 :]]

    def _position(self, axis: int, at: int) -> int:
        extent: int = self.shape[axis]
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is out of range for axis {axis} with {extent} elements")
        return at


def _integer(item: Any) -> int:
    """An integer of an index. True and False are masks, as NumPy means them."""
    is_mask = isinstance(item, bool) or (type(item).__module__ == "numpy" and type(item).__name__.startswith("bool"))
    if not is_mask and not isinstance(item, (list, tuple)):
        try:
            return operator.index(item)
        except TypeError:
            pass
    what = f"the mask {item!r}" if is_mask else f"a {type(item).__name__}"
    raise TypeError(
        f"a view of a tensor is made by integers, slices, an ellipsis and None, not by {what}; tensor.numpy()[index] "
        "copies the elements that a mask or a list selects"
    )


def _bounds(item: slice) -> tuple[int, int, int]:
    """A slice of Python's as start, stop and step for the library, for which a step of 0 is an index."""
    step = 1 if item.step is None else int64(item.step, "a step")
    if step == 0:
        raise ValueError("a slice cannot go on by 0 elements")
    start, stop = (LOWEST, HIGHEST) if step > 0 else (HIGHEST, LOWEST)
    if item.start is not None:
        start = min(max(operator.index(item.start), LOWEST), HIGHEST)
    if item.stop is not None:
        stop = min(max(operator.index(item.stop), LOWEST), HIGHEST)
    return start, stop, step
