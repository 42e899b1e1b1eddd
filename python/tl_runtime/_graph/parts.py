"""What a planned graph consists of: buffers, operands, ports, symbols, places."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._dtype import DType
from .native import graph_abi


class ExecutionBuffer(NamedTuple):
    """Memory that values lie in."""

    name: str
    kind: str
    """"activation", "input", "output", "constant", "state" or "outside"."""
    dtype: DType | None
    """None: one of ONNX's that plans pass on, strings or narrow numbers."""
    shape: tuple[int, ...]
    nbytes: int
    first: int
    """The first instruction that touches it; -1: it is alive before."""
    last: int
    offset: int | None
    """In the frame; None: it is not there."""
    outside: int | None = None
    """In the second space; None: it is not there."""


class ExecutionOperand(NamedTuple):
    """A tensor in a buffer. Strides and offset count elements; buffer is None for an argument that is left out."""

    name: str
    buffer: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class ExecutionPort(NamedTuple):
    """What an input or an output of a body is to the instruction that runs it."""

    role: str
    """
    "foreign" (the operator is not known), "capture" (an argument, the same in all turns), "counter" (the number of the
    turn), "going" (whether there is one more turn), "carried" (as an output, what the input is in the next turn),
    "scanned" (a part of an argument), "result", "collected" (a part of a result).
    """
    argument: int | None
    """Index of the argument of the instruction that is captured or scanned, or that is carried at first."""
    result: int | None
    """Index of the result of the instruction that this port is, or of which it is a part."""
    axis: int
    """Axis of the whole along which the parts of the turns lie; 0 for other roles."""
    is_back: bool
    """The first turn has the last part."""


class ExecutionSymbol(NamedTuple):
    """A symbol in the shapes of the graph, and the numbers that the plan is for.

    A lower number takes the memory and the places of the first one.
    """

    name: str
    first: int
    last: int


class ExecutionPlaces(NamedTuple):
    """Where the buffers lie for some numbers of the symbols: in the order of Execution.buffers."""

    frame_bytes: int
    offsets: tuple[int | None, ...]
    nbytes: tuple[int, ...]


def numbers_of(pointer: Any, n: int) -> tuple[int, ...]:
    return tuple(pointer[:n]) if n else ()


def places_of(pointer: Any, n: int) -> tuple[int | None, ...]:
    return tuple(None if at < 0 else at for at in numbers_of(pointer, n))


def port_of(made: Any) -> ExecutionPort:
    return ExecutionPort(
        graph_abi().PortRole(made.role).name.lower(),
        None if made.argument < 0 else made.argument,
        None if made.result < 0 else made.result,
        made.axis,
        bool(made.is_back),
    )


def buffer_of(made: Any) -> ExecutionBuffer:
    return ExecutionBuffer(
        made.name.decode(),
        graph_abi().BufferKind(made.kind).name.lower(),
        None if made.dtype < 0 else DType(made.dtype),
        numbers_of(made.shape, made.rank),
        made.bytes,
        made.first,
        made.last,
        None if made.offset < 0 else made.offset,
        None if made.outside < 0 else made.outside,
    )


def operand_of(made: Any) -> ExecutionOperand:
    return ExecutionOperand(
        made.name.decode(),
        None if made.buffer < 0 else made.buffer,
        numbers_of(made.shape, made.rank),
        numbers_of(made.strides, made.rank),
        made.offset,
    )
