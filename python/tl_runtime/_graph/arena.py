"""Graphs that share one block of memory, with states that stay there between calls.

    prefill.state("cache", "present")
    decode.state("cache", "past", "present")
    arena = tl.plan_together({"prefill": prefill, "decode": decode})
    arena.nbytes, arena.states, arena.entries["decode"].frame_bytes
    chat = arena.compile()
    logits = chat["prefill"](prompt)
    logits = chat["decode"](token)               # with the cache that the call before has left
    chat.states["cache"]                         # an array in the memory
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .._binding.library import c_string, check
from .._dtype import DType
from .execution import CompiledGraph, Execution
from .graph import Graph
from .handles import Handle
from .native import filled, graph_lib, written
from .options import Options, for_c
from .parts import numbers_of
from .runnable import aligned, checked_memory

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack


class ArenaState(NamedTuple):
    """A tensor that keeps its content between calls."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    nbytes: int
    offset: int
    """In the memory."""
    begin: bytes | None
    """What it begins with, where that is a constant of a graph."""


def plan_together(graphs: Mapping[str, Graph] | Iterable[Graph], **options: Unpack[Options]) -> GraphArena:
    """Plans graphs that run in turns for one block of memory.

    graphs have names in a mapping, else their own. Their states are those that Graph.state has told. The options are
    those of Graph.plan, without capacity and symbolic. InvalidArgumentError names the graph and the value that is
    wrong, such as a state that has not the same shape everywhere.
    """
    held = list(graphs.values() if isinstance(graphs, Mapping) else graphs)
    handles = (ctypes.c_void_p * len(held))(*(graph._handle for graph in held))
    called = (ctypes.c_char_p * len(held))(*map(c_string, graphs)) if isinstance(graphs, Mapping) else None
    handle = ctypes.c_void_p()
    check(
        graph_lib().tl_graph_plan_together(
            ctypes.addressof(handles) if held else None,
            None if called is None else ctypes.addressof(called),
            len(held),
            ctypes.byref(for_c(options)),
            ctypes.byref(handle),
        )
    )
    return GraphArena(handle.value)


class GraphArena(Handle):
    """Planned graphs in one block of memory: states first, and behind them the scratch of whichever runs.

    It does not change, and any thread may use it. nbytes is how large the memory is, separate_bytes what plans of
    their own and buffers for the states would take.
    """

    _instead = "plan the graphs there"

    def __init__(self, handle: int | None) -> None:
        self._destroy = graph_lib().tl_graph_arena_destroy
        self._handle = handle
        info = filled("tl_graph_arena_info", graph_lib().tl_graph_arena_get_info, handle)
        self.name: str = info.name.decode()
        self.nbytes: int = info.bytes
        self.alignment: int = info.alignment
        self.state_bytes: int = info.state_bytes
        self.separate_bytes: int = info.separate_bytes
        self._counts = info

    def __repr__(self) -> str:
        return f"<tl_runtime.GraphArena {self.name}: {self._counts.num_entries} entries in {self.nbytes} bytes>"

    @cached_property
    def states(self) -> tuple[ArenaState, ...]:
        """The states, in the order in which the graphs have them."""
        return tuple(self._state(i) for i in range(self._counts.num_states))

    def _state(self, i: int) -> ArenaState:
        made = filled("tl_graph_arena_state", graph_lib().tl_graph_arena_get_state, self._handle, i)
        begin = ctypes.string_at(made.data, made.bytes) if made.data else None
        shape = numbers_of(made.shape, made.rank)
        return ArenaState(made.name.decode(), DType(made.dtype), shape, made.bytes, made.offset, begin)

    @cached_property
    def entries(self) -> dict[str, Execution]:
        """The plan of each graph by its name. Offsets count from the start of the memory."""
        plans = [self._entry(i) for i in range(self._counts.num_entries)]
        return {plan.name: plan for plan in plans}

    def _entry(self, i: int) -> Execution:
        handle = ctypes.c_void_p()
        check(graph_lib().tl_graph_arena_get_entry(self._handle, i, ctypes.byref(handle)))
        return Execution(handle.value)

    def json(self) -> str:
        """Returns the arena as `tl plan A B -o FILE.json` writes it."""
        return self._text("json", None, 0)

    def header(self, prefix: str | None = None) -> str:
        """Returns size, places and functions for C; all begin with prefix."""
        return self._text("header", prefix, 0)

    def llvm(self, prefix: str | None = None, *, version: int = 0) -> str:
        """Returns a module in LLVM IR with a function for each graph, whose last argument is the memory."""
        return self._text("llvm", prefix, version)

    def _text(self, form: str, name: str | None, version: int) -> str:
        return written("tl_graph_arena_text", self._handle, form, name, version)

    def validate(self) -> None:
        """Checks the plans with code that is independent of the planner."""
        check(graph_lib().tl_graph_arena_validate(self._handle))

    def memory(self) -> numpy.ndarray:
        """Makes memory for the graphs: zeros, and the first content of the states that have one."""
        made = aligned(self.nbytes, self.alignment)
        self._begin(made)
        return made

    def _begin(self, memory: numpy.ndarray) -> None:
        import numpy

        memory = memory.reshape(-1).view(numpy.uint8)
        for state in self.states:
            content = 0 if state.begin is None else numpy.frombuffer(state.begin, numpy.uint8)
            memory[state.offset : state.offset + state.nbytes] = content

    def compile(self, compiler: str | None = None, *, memory: Any = None) -> CompiledArena:
        """Compiles all graphs in this process, to run in memory() or in an array of the caller's.

        The states in an array of the caller's keep the content that it has.
        """
        memory = self.memory() if memory is None else checked_memory(memory, self.nbytes, self.alignment)
        codes = {name: plan.compile(compiler, memory=memory) for name, plan in self.entries.items()}
        return CompiledArena(self, codes, memory)


class CompiledArena(Mapping[str, CompiledGraph]):
    """Compiled graphs by their names, in one block of memory: memory, and the states that lie in it.

    Any thread may call them; one call runs at a time, and others wait.
    """

    def __init__(self, arena: GraphArena, codes: Mapping[str, CompiledGraph], memory: numpy.ndarray) -> None:
        self.arena, self.memory = arena, memory
        turn = threading.Lock()
        self._graphs = {name: code.in_turns(memory, turn) for name, code in codes.items()}

    @cached_property
    def states(self) -> dict[str, numpy.ndarray]:
        """The states as arrays in the memory, to read and to write between calls."""
        import numpy

        flat = self.memory.reshape(-1).view(numpy.uint8)
        return {
            s.name: flat[s.offset : s.offset + s.nbytes].view(s.dtype.dtype).reshape(s.shape) for s in self.arena.states
        }

    def reset(self) -> None:
        """Gives each state its first content: zeros where no constant tells another one."""
        self.arena._begin(self.memory)

    def another(self, memory: Any = None) -> CompiledArena:
        """Returns the same code in other memory: that of arena.memory(), or an array of the caller's."""
        arena = self.arena
        memory = arena.memory() if memory is None else checked_memory(memory, arena.nbytes, arena.alignment)
        return CompiledArena(arena, self._graphs, memory)

    def __getitem__(self, name: str) -> CompiledGraph:
        return self._graphs[name]

    def __iter__(self) -> Any:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)

    def __repr__(self) -> str:
        return f"<tl_runtime.CompiledArena {', '.join(self)} in {self.memory.nbytes} bytes>"
