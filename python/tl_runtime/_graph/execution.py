"""Planned graphs: what tl.Graph.plan returns."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .._binding.library import check
from .._binding.numbers import int64_array
from .._dtype import DType
from .handles import Handle
from .native import filled, graph_abi, graph_lib, written

if TYPE_CHECKING:
    import numpy

    from .compiled import CompiledGraph

class ExecutionBuffer(NamedTuple):
    """Memory that values lie in."""

    name: str
    kind: str
    """"activation", "input", "output", "constant", "state" or "outside"."""
    dtype: DType
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


class ExecutionInstruction(NamedTuple):
    """One operator at work."""

    node: str
    op: str
    attributes: dict[str, Any]
    inputs: tuple[ExecutionOperand, ...]
    outputs: tuple[ExecutionOperand, ...]
    scratch: ExecutionOperand | None
    repeats: str | None = None
    """The node that it computes again for the capacity."""
    bodies: tuple[ExecutionBody, ...] = ()
    """The graphs that it runs."""


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


class ExecutionBody:
    """A graph that an instruction runs: a branch of If, what Loop or Scan repeats.

    What it needs lies in the instruction's scratch, at offsets in bytes: frame, inputs, outputs. What is None has no
    memory of its own there: the last inputs are the arguments of the instruction that captures lists; what a Loop or Scan
    carries lies in the result, what a turn reads or adds in an argument or a result, and the outputs of a branch are the
    results.
    """

    def __init__(self, made: Any, owner: Execution, instruction: int, number: int) -> None:
        self._owner, self._place = owner, (instruction, number)
        self.name: str = made.name.decode()
        self.frame: int = made.frame
        self.inputs: tuple[int | None, ...] = _places(made.inputs, made.num_inputs)
        self.outputs: tuple[int | None, ...] = _places(made.outputs, made.num_outputs)
        self.captures: tuple[int, ...] = _numbers(made.captures, made.num_captures)

    def __repr__(self) -> str:
        return f"<tl_runtime.ExecutionBody {self.name}: {len(self.inputs)} inputs, {len(self.outputs)} outputs>"

    @cached_property
    def execution(self) -> Execution:
        """The plan of the body. It is a handle of the library, which is made when it is asked for."""
        handle = ctypes.c_void_p()
        check(
            graph_lib().tl_execution_get_body(self._owner._handle, *self._place, None, ctypes.byref(handle))
        )
        return Execution(handle.value)

    @cached_property
    def input_ports(self) -> tuple[ExecutionPort, ...]:
        """What each input is to the instruction."""
        return self._ports(graph_abi().OperandRole.INPUT, len(self.inputs))

    @cached_property
    def output_ports(self) -> tuple[ExecutionPort, ...]:
        """What each output is to the instruction."""
        return self._ports(graph_abi().OperandRole.OUTPUT, len(self.outputs))

    def _ports(self, role: int, n: int) -> tuple[ExecutionPort, ...]:
        get, owner = graph_lib().tl_execution_get_port, self._owner._handle
        return tuple(_port(filled("tl_execution_port", get, owner, *self._place, role, i)) for i in range(n))


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


class Execution(Handle):
    """A planned graph: its instructions in strict order, and where each buffer lies in one frame.

    It does not change, and any thread may use it. seconds is the time that it is estimated to take, seconds_once the
    same where nothing is computed again (recomputed operators) and nothing is moved to a second space (transfers, of
    moved_bytes in all; the space has outside_bytes).
    """

    _instead = "plan the graph there"

    def __init__(self, handle: int | None) -> None:
        self._destroy = graph_lib().tl_execution_destroy
        self._handle = handle
        info = self._filled("tl_execution_info", graph_lib().tl_execution_get_info)
        self.name: str = info.name.decode()
        self.frame_bytes: int = info.frame_bytes
        self.alignment: int = info.frame_alignment
        self.lower_bound: int = info.lower_bound
        self.naive_bytes: int = info.naive_bytes
        self.is_optimal = bool(info.is_optimal)
        self.recomputed: int = info.num_recomputed
        self.transfers: int = info.num_transfers
        self.moved_bytes: int = info.moved_bytes
        self.outside_bytes: int = info.outside_bytes
        self.seconds: float = info.seconds
        self.seconds_once: float = info.seconds_once
        self.is_proved = bool(info.is_proved)
        self._counts = info

    def __repr__(self) -> str:
        return (
            f"<tl_runtime.Execution {self.name}: {self._counts.num_instructions} instructions, "
            f"frame of {self.frame_bytes} bytes>"
        )

    def _filled(self, struct: str, function: Callable[..., int], *arguments: Any) -> Any:
        return filled(struct, function, self._handle, *arguments)

    @cached_property
    def buffers(self) -> tuple[ExecutionBuffer, ...]:
        """All buffers; operands name them by their index."""
        get = graph_lib().tl_execution_get_buffer
        return tuple(
            _buffer(self._filled("tl_execution_buffer", get, i)) for i in range(self._counts.num_buffers)
        )

    @cached_property
    def instructions(self) -> tuple[ExecutionInstruction, ...]:
        """What to do, in strict order."""
        return tuple(self._instruction(i) for i in range(self._counts.num_instructions))

    @cached_property
    def inputs(self) -> tuple[ExecutionOperand, ...]:
        """The graph's inputs, in its order."""
        return self._operands(-1, graph_abi().OperandRole.INPUT, self._counts.num_inputs)

    @cached_property
    def outputs(self) -> tuple[ExecutionOperand, ...]:
        """The graph's outputs, in its order."""
        return self._operands(-1, graph_abi().OperandRole.OUTPUT, self._counts.num_outputs)

    def _instruction(self, i: int) -> ExecutionInstruction:
        made = self._filled("tl_execution_instruction", graph_lib().tl_execution_get_instruction, i)
        role = graph_abi().OperandRole
        scratch = self._operands(i, role.SCRATCH, made.num_scratch)
        return ExecutionInstruction(
            made.node.decode(),
            made.op.decode(),
            json.loads(made.attributes),
            self._operands(i, role.INPUT, made.num_inputs),
            self._operands(i, role.OUTPUT, made.num_outputs),
            scratch[0] if scratch else None,
            made.repeats.decode() if made.repeats else None,
            tuple(self._body(i, n) for n in range(made.num_bodies)),
        )

    def _body(self, instruction: int, n: int) -> ExecutionBody:
        get = graph_lib().tl_execution_get_body
        made = filled("tl_execution_body", lambda *place: get(*place, None), self._handle, instruction, n)
        return ExecutionBody(made, self, instruction, n)

    def _operands(self, instruction: int, role: int, count: int) -> tuple[ExecutionOperand, ...]:
        get = graph_lib().tl_execution_get_operand
        return tuple(
            _operand(self._filled("tl_execution_operand", get, instruction, role, i)) for i in range(count)
        )

    @cached_property
    def symbols(self) -> tuple[ExecutionSymbol, ...]:
        """The symbols by name. Without symbolic=True the plan is for one number of each."""
        get = graph_lib().tl_execution_get_symbol
        made = (self._filled("tl_execution_symbol", get, i) for i in range(self._counts.num_symbols))
        return tuple(ExecutionSymbol(symbol.name.decode(), symbol.first, symbol.last) for symbol in made)

    def places(self, numbers: Mapping[str, int] | None = None, /, **more: int) -> ExecutionPlaces:
        """Tells for other numbers of the symbols where the buffers lie, and how large they and the frame are.

        The graph was planned with symbolic=True. Whatever the numbers are up to the bounds, no two buffers that are
        alive at once share a byte; is_proved tells whether the sizes were compared for all numbers or for a sample.
        """
        given = {**(numbers or {}), **more}
        names = [symbol.name for symbol in self.symbols]
        if set(given) != set(names):
            raise TypeError(f"tl.Execution.places: numbers for {', '.join(given)}; the symbols are {', '.join(names)}")
        n = self._counts.num_buffers
        frame, offsets, sizes = ctypes.c_size_t(), (ctypes.c_int64 * n)(), (ctypes.c_size_t * n)()
        at = int64_array([given[name] for name in names])
        check(
            graph_lib().tl_execution_get_places(
                self._handle, at, len(names), ctypes.byref(frame), offsets, sizes, n
            )
        )
        return ExecutionPlaces(frame.value, tuple(None if at < 0 else at for at in offsets), tuple(sizes))

    def json(self) -> str:
        """Returns the plan as `tl plan -o FILE.json` writes it."""
        return self._text("json", None, 0)

    def header(self, prefix: str | None = None, *, memory: str = "frame") -> str:
        """Returns frame and offsets as macros of C; they begin with prefix, or the graph's name.

        With memory="caller" there is the declaration of the function that llvm(memory="caller") defines, too.
        """
        return self._text("header-caller" if _memory(memory) == "caller" else "header", prefix, 0)

    def llvm(self, name: str | None = None, *, version: int = 0, memory: str = "frame") -> str:
        """Returns a module in LLVM IR with one function, of that name or the graph's.

        version is the major version of the LLVM that reads it, from 14; 0 is the newest one. memory says where the
        function has its memory from: one "frame" of the runtime, its "slots", or the "caller". UnsupportedError names
        all operators that have no kernel.
        """
        return self._text("llvm" if _memory(memory) == "frame" else f"llvm-{memory}", name, version)

    def _text(self, form: str, name: str | None, version: int) -> str:
        return written("tl_execution_text", self._handle, form, name, version)

    def validate(self) -> None:
        """Checks the plan with code that is independent of the planner."""
        check(graph_lib().tl_execution_validate(self._handle))

    def scratch(self) -> numpy.ndarray:
        """Makes memory for compile(memory=...): frame_bytes bytes, aligned."""
        from .compiled import aligned

        return aligned(self.frame_bytes, self.alignment)

    def outside_scratch(self) -> numpy.ndarray:
        """Makes memory for compile(outside=...): outside_bytes bytes, aligned."""
        from .compiled import aligned

        return aligned(self.outside_bytes, self.alignment)

    def compile(self, compiler: str | None = None, *, memory: Any = None, outside: Any = None) -> CompiledGraph:
        """Compiles the plan in this process and returns it as a function over arrays.

        compiler is "llvmlite", "clang", or None for the first of them that is installed. The function takes its memory
        from the runtime, or lies in the caller's: an array that can be written, of frame_bytes bytes at least, at a
        multiple of the alignment and of 64, such as scratch() makes. A plan that moves values to a second space takes
        memory for that as well: outside, of outside_bytes bytes. The function keeps the arrays. ValueError says what is
        wrong with one.
        """
        from .compiled import CompiledGraph

        return CompiledGraph(self, compiler, memory, outside)


def _memory(memory: str) -> str:
    if memory not in ("frame", "slots", "caller"):
        raise ValueError(f"memory is {memory!r}; a function has it from a frame, from slots or from its caller")
    return memory


def _numbers(pointer: Any, n: int) -> tuple[int, ...]:
    return tuple(pointer[:n]) if n else ()


def _places(pointer: Any, n: int) -> tuple[int | None, ...]:
    return tuple(None if at < 0 else at for at in _numbers(pointer, n))


def _port(made: Any) -> ExecutionPort:
    return ExecutionPort(
        graph_abi().PortRole(made.role).name.lower(),
        None if made.argument < 0 else made.argument,
        None if made.result < 0 else made.result,
        made.axis,
        bool(made.is_back),
    )


def _buffer(made: Any) -> ExecutionBuffer:
    return ExecutionBuffer(
        made.name.decode(),
        graph_abi().BufferKind(made.kind).name.lower(),
        DType(made.dtype),
        _numbers(made.shape, made.rank),
        made.bytes,
        made.first,
        made.last,
        None if made.offset < 0 else made.offset,
        None if made.outside < 0 else made.outside,
    )


def _operand(made: Any) -> ExecutionOperand:
    return ExecutionOperand(
        made.name.decode(),
        None if made.buffer < 0 else made.buffer,
        _numbers(made.shape, made.rank),
        _numbers(made.strides, made.rank),
        made.offset,
    )
