"""Planned graphs, which tl.Graph.plan returns, and compiled plans, which Execution.compile returns."""

from __future__ import annotations

import contextlib
import ctypes
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .._binding.library import check
from .._binding.numbers import int64_array
from . import compilation
from .handles import Handle
from .native import filled, graph_abi, graph_lib, written
from .parts import (
    ExecutionBuffer,
    ExecutionOperand,
    ExecutionPlaces,
    ExecutionPort,
    ExecutionSymbol,
    buffer_of,
    numbers_of,
    operand_of,
    places_of,
    port_of,
)
from .runnable import Batch, ModelTensor, Outputs, Runnable, aligned, checked_memory

if TYPE_CHECKING:
    import numpy

_FUNCTION = "tl_graph"  # the name of compiled functions

Pointers = Any  # an array of ctypes


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
        self.inputs: tuple[int | None, ...] = places_of(made.inputs, made.num_inputs)
        self.outputs: tuple[int | None, ...] = places_of(made.outputs, made.num_outputs)
        self.captures: tuple[int, ...] = numbers_of(made.captures, made.num_captures)

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
        return tuple(port_of(filled("tl_execution_port", get, owner, *self._place, role, i)) for i in range(n))


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
            buffer_of(self._filled("tl_execution_buffer", get, i)) for i in range(self._counts.num_buffers)
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
            operand_of(self._filled("tl_execution_operand", get, instruction, role, i)) for i in range(count)
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
        return aligned(self.frame_bytes, self.alignment)

    def outside_scratch(self) -> numpy.ndarray:
        """Makes memory for compile(outside=...): outside_bytes bytes, aligned."""
        return aligned(self.outside_bytes, self.alignment)

    def compile(self, compiler: str | None = None, *, memory: Any = None, outside: Any = None) -> CompiledGraph:
        """Compiles the plan in this process and returns it as a function over arrays.

        compiler is "llvmlite", "clang", or None for the first of them that is installed. The function takes its memory
        from the runtime, or lies in the caller's: an array that can be written, of frame_bytes bytes at least, at a
        multiple of the alignment and of 64, such as scratch() makes. A plan that moves values to a second space takes
        memory for that as well: outside, of outside_bytes bytes. The function keeps the arrays. ValueError says what is
        wrong with one.
        """
        return CompiledGraph(self, compiler, memory, outside)


def _memory(memory: str) -> str:
    if memory not in ("frame", "slots", "caller"):
        raise ValueError(f"memory is {memory!r}; a function has it from a frame, from slots or from its caller")
    return memory


class CompiledGraph(Runnable):
    """A compiled plan: call it with arrays in the order of the inputs, or by their names.

    Any thread may call it; the interpreter's lock is released meanwhile. One in memory of the caller runs one call at
    a time, and others wait; within() gives the same code other memory. States of an arena are neither inputs nor
    outputs: they lie in the memory.
    """

    _kind = "tl.CompiledGraph"

    def __init__(self, execution: Execution, compiler: str | None, memory: Any, outside: Any = None) -> None:
        self.execution = execution
        self.name = execution.name
        self.inputs = tuple(_described(execution, operand) for operand in _given(execution, execution.inputs))
        self.outputs = tuple(_described(execution, operand) for operand in _given(execution, execution.outputs))
        self.bounds: dict[str, int] = {}
        self.memory: numpy.ndarray | None = None
        self.outside: numpy.ndarray | None = None
        if memory is None and outside is not None:
            raise ValueError(f"{self._kind}: outside is memory for moves beside that for the frame; pass memory, too")
        where = "frame" if memory is None else "caller"
        spaces = None if memory is None else self._spaces(memory, outside)
        self._code, self._address = compilation.compiled(
            lambda version: execution.llvm(_FUNCTION, version=version, memory=where), _FUNCTION, compiler
        )
        self._constant_pointers = graph_lib().tl_execution_constants(execution._handle)
        if spaces is None:
            self._turn: Any = contextlib.nullcontext()
            self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(self._address)
        else:
            self._use(spaces, threading.Lock())

    def within(self, memory: Any, outside: Any = None) -> CompiledGraph:
        """Returns the same code in other memory of the caller, for another thread or other states.

        outside is needed where the plan has a second space. The result keeps both arrays; no other function may use them at
        the same time. ValueError says what is wrong with one.
        """
        if self.memory is None:
            raise ValueError(f"{self._kind}: the code has its memory from the runtime; compile(memory=...) makes the other")
        return self._in(self._spaces(memory, outside), threading.Lock())

    def in_turns(self, memory: numpy.ndarray, turn: Any) -> CompiledGraph:
        """Returns the same code in memory that others use, too, in turns by a lock."""
        return self._in([memory], turn)

    def _spaces(self, memory: Any, outside: Any) -> list[numpy.ndarray]:
        """The caller's memory for the frame, and that for the second space where the plan has one."""
        plan = self.execution
        spaces = [checked_memory(memory, plan.frame_bytes, plan.alignment)]
        if plan.outside_bytes and outside is None:
            raise ValueError(
                f"{self._kind}: the plan moves values to a second space of {plan.outside_bytes} bytes; pass outside, such "
                "as outside_scratch() makes, or compile without memory"
            )
        if outside is not None:
            if not plan.outside_bytes:
                raise ValueError(f"{self._kind}: the plan has no second space; pass no outside")
            spaces.append(checked_memory(outside, plan.outside_bytes, plan.alignment))
        return spaces

    def _in(self, spaces: list[numpy.ndarray], turn: Any) -> CompiledGraph:
        other = CompiledGraph.__new__(CompiledGraph)
        other.__dict__.update(self.__dict__)
        other._use(spaces, turn)
        return other

    def _use(self, spaces: list[numpy.ndarray], turn: Any) -> None:
        self.memory, self.outside, self._turn = spaces[0], spaces[1] if spaces[1:] else None, turn
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * (3 + len(spaces)))(self._address)
        inputs, outputs = _spread(self.execution, self.execution.inputs), _spread(self.execution, self.execution.outputs)
        addresses = [space.ctypes.data for space in spaces]

        def call(given: Pointers, results: Pointers, constants: int) -> int:
            status: int = function(inputs(given), outputs(results), constants, *addresses)
            return status

        self._function = call

    def _refusal(self) -> str:
        return self.execution._text("refusal", None, 0)

    def _run(self, batch: Batch) -> Outputs:
        with self._turn:
            return super()._run(batch)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, tensors)) for tensors in (self.inputs, self.outputs))
        return f"<tl_runtime.CompiledGraph {self.name}: {inputs} -> {outputs}>"

    def __reduce__(self) -> Any:
        raise TypeError("a CompiledGraph is code of this process and cannot be pickled; tl.Model can")


def _is_state(execution: Execution, operand: ExecutionOperand) -> bool:
    return operand.buffer is not None and execution.buffers[operand.buffer].kind == "state"


def _given(execution: Execution, operands: Sequence[ExecutionOperand]) -> list[ExecutionOperand]:
    """The operands that arrays are passed for."""
    return [operand for operand in operands if not _is_state(execution, operand)]


def _spread(execution: Execution, operands: Sequence[ExecutionOperand]) -> Callable[[Pointers], Pointers]:
    """Returns what makes the function's array of addresses, in which states have entries, of that of the tensors."""
    places = [i for i, operand in enumerate(operands) if not _is_state(execution, operand)]
    if len(places) == len(operands):
        return lambda given: given

    def spread(given: Pointers) -> Pointers:
        whole = (ctypes.c_void_p * len(operands))()
        for place, address in zip(places, given):
            whole[place] = address
        return whole

    return spread


def _described(execution: Execution, operand: ExecutionOperand) -> ModelTensor:
    assert operand.buffer is not None  # only arguments of operators are left out
    dtype = execution.buffers[operand.buffer].dtype
    assert dtype is not None  # what is only passed on has no code
    return ModelTensor(operand.name, dtype, operand.shape)
