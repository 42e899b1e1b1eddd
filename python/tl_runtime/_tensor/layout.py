"""Views by offset and strides: how a view lies in the memory of its base, and the same view of other memory.

The library makes views by steps (slices, reshapes, permutations), and a pickle keeps where a view's elements are.
So lay_out finds steps that lead there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor


class Layout(NamedTuple):
    """Where elements are, counted in elements of the memory: element (i, j, ...) is number
    offset + i * strides[0] + j * strides[1] + ..."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Stride and extent of the axes with more than one element, the largest distance first."""
        axes = [(stride, extent) for stride, extent in zip(self.strides, self.shape) if extent != 1]
        return sorted(axes, key=lambda axis: -abs(axis[0]))

    @property
    def lowest(self) -> int:
        """The number of the first element in the memory; strides below 0 lead to it."""
        return self.offset + sum((extent - 1) * min(stride, 0) for stride, extent in self.steps)

    @property
    def end(self) -> int:
        """The number after that of the last element in the memory."""
        return self.offset + sum((extent - 1) * max(stride, 0) for stride, extent in self.steps) + 1

    @property
    def has_each_once(self) -> bool:
        """Whether no element has two indices, as far as strides show it."""
        span = 1
        for stride, extent in reversed(self.steps):
            if abs(stride) < span:
                return False
            span += (extent - 1) * abs(stride)
        return True

    @property
    def is_dense(self) -> bool:
        """Whether the elements fill a part of the memory, each element of it once."""
        expected = 1
        for stride, extent in reversed(self.steps):
            if abs(stride) != expected:
                return False
            expected *= extent
        return True


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements that lie one after another in row-major order."""
    strides, elements = [], 1
    for extent in reversed(shape):
        strides.append(elements)
        elements *= extent
    return tuple(reversed(strides))


def compacted(view: Layout, base: Layout) -> Layout | None:
    """Where the elements of a view are after those of its base were copied in row-major order.

    None: the base has elements under several indices, or the view's are no regular steps in the copy.
    """
    if 0 in view.shape:
        return Layout(0, view.shape, row_major(view.shape))
    strides = []
    first = _number_in_copy(view.offset, base) if base.has_each_once else None
    for stride, extent in zip(view.strides, view.shape):
        if first is None:
            return None
        second = _number_in_copy(view.offset + stride, base) if extent > 1 else first
        last = _number_in_copy(view.offset + (extent - 1) * stride, base)
        if second is None or last is None or last - first != (extent - 1) * (second - first):
            return None
        strides.append(second - first)
    return None if first is None else Layout(first, view.shape, tuple(strides))


def _number_in_copy(number: int, base: Layout) -> int | None:
    """The number that an element of the base has in a row-major copy; None for a gap."""
    rest, found = number - base.lowest, 0
    axes = zip(base.strides, base.shape, row_major(base.shape))
    for stride, extent, in_copy in sorted(axes, key=lambda axis: -abs(axis[0])):
        if extent == 1:
            continue
        index, rest = divmod(rest, abs(stride))
        if not 0 <= index < extent:
            return None
        found += (index if stride > 0 else extent - 1 - index) * in_copy
    return None if rest else found


def lay_out(flat: Tensor, layout: Layout) -> Tensor | None:
    """Returns a view with this layout of a contiguous tensor of one dimension; None: no steps lead to it."""
    offset, shape, strides = layout
    if 0 in shape:
        return flat[:0].reshape(shape)
    if layout.lowest < 0 or layout.end > flat.shape[0]:
        raise ValueError(f"a view of the elements {layout.lowest} to {layout.end - 1} has memory of {flat.shape[0]}")
    walked = [axis for axis, extent in enumerate(shape) if extent > 1 and strides[axis]]
    walked.sort(key=lambda axis: -abs(strides[axis]))
    part = _nest(flat, layout.lowest, [(abs(strides[axis]), shape[axis]) for axis in walked])
    if part is None:
        return None
    if any(strides[axis] < 0 for axis in walked):
        part = part[tuple(slice(None, None, -1 if strides[axis] < 0 else 1) for axis in walked)]
    if walked != sorted(walked):
        part = part.transpose([walked.index(axis) for axis in sorted(walked)])
    for axis in range(len(shape)):
        if axis not in walked:
            part = part.expand_dims(axis)
    return part if part.shape == shape else part.broadcast_to(shape)


def _nest(part: Tensor, offset: int, axes: list[tuple[int, int]]) -> Tensor | None:
    """Divides the last axis of part among axes, given by stride and extent, the largest stride first.

    Element 0 of them all is at offset.
    """
    if not axes:
        return part[..., offset]
    common = math.gcd(*(stride for stride, _ in axes))
    if common > 1:
        part, offset = part[..., offset % common :: common], offset // common
    (stride, extent), *rest = [(stride // common, extent) for stride, extent in axes]
    if not rest:
        return part[..., offset : offset + extent]
    *before, length = part.shape
    span = 1 + sum((extent - 1) * stride for stride, extent in rest)
    for unit in _divisors(stride):  # rows of so many elements, of which the view takes one in stride // unit
        rows = (extent - 1) * (stride // unit) + 1
        start = min(offset, length - rows * unit)
        if start >= max(0, offset + span - unit):
            table = part[..., start : start + rows * unit].reshape(*before, rows, unit)
            return _nest(table[..., :: stride // unit, :], offset - start, rest)
    return None


def _divisors(number: int) -> Iterator[int]:
    """The divisors of a number, the largest first."""
    small = []
    yield number
    for divisor in range(2, math.isqrt(number) + 1):
        if number % divisor == 0:
            small.append(divisor)
            yield number // divisor
    yield from reversed(small)
