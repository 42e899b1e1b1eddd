"""Compiled plans of graphs: what Execution.compile returns."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import compilation
from .execution import Execution, ExecutionOperand
from .native import graph_lib
from .runnable import Batch, ModelTensor, Outputs, Runnable

if TYPE_CHECKING:
    import numpy

_FUNCTION = "tl_graph"  # the name of compiled functions
_ALIGNED = 64  # memory of a caller, at least

Pointers = Any  # an array of ctypes


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


def aligned(nbytes: int, alignment: int) -> numpy.ndarray:
    """Makes zeroed memory whose address is a multiple of the alignment, and of 64."""
    import numpy

    alignment = max(alignment, _ALIGNED)
    block = numpy.zeros(nbytes + alignment, numpy.uint8)
    first = -block.ctypes.data % alignment
    return block[first : first + nbytes]


def checked_memory(memory: Any, nbytes: int, alignment: int) -> numpy.ndarray:
    """Returns memory of the caller's as an array; ValueError when a graph cannot run there."""
    import numpy

    alignment = max(alignment, _ALIGNED)
    if not isinstance(memory, numpy.ndarray) or memory.dtype.hasobject:
        raise ValueError("memory for a graph: it is a NumPy array of bytes or numbers, such as scratch() makes")
    array = memory
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError("memory for a graph: the array cannot be written, or has gaps")
    if array.nbytes < nbytes:
        raise ValueError(f"memory for a graph: the array has {array.nbytes} bytes; {nbytes} are needed")
    if nbytes and array.ctypes.data % alignment:
        raise ValueError(f"memory for a graph: the array is not at a multiple of {alignment}; scratch() makes one that is")
    return array


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
    return ModelTensor(operand.name, execution.buffers[operand.buffer].dtype, operand.shape)
