"""Graphs of operators, built here or read from ONNX, and their plans, which run in this process.

    graph = tl.Graph("line")
    x = graph.input("x", "float32", (64,))
    w = graph.constant("w", weights)
    graph.output(graph.add("Relu", graph.add("Mul", x, w)))
    execution = graph.plan()
    execution.frame_bytes, execution.instructions, execution.llvm()
    line = execution.compile()
    y = line(array)                              # any number of samples

They are in libtl_runtime_full.so: name it in TL_RUNTIME_LIBRARY before the package is imported.
"""

from __future__ import annotations

import base64
import ctypes
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._binding.library import c_string, check
from .._binding.numbers import int64_array
from .._dtype import BY_NAME, SHORT_NAME, DType
from .execution import Execution
from .handles import Handle
from .native import graph_lib
from .options import Options, for_c
from .plan import _steps

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

Array = Any  # of NumPy, or what NumPy makes an array of


class Graph(Handle):
    """Operators of ONNX over named tensors. Any thread may use a graph; calls take turns."""

    _instead = "save() writes a file"

    def __init__(self, name: str = "graph") -> None:
        self._destroy = graph_lib().tl_graph_destroy
        self._adopt("tl_graph_create", c_string(name))

    def _adopt(self, function: str, *arguments: Any) -> None:
        handle = ctypes.c_void_p()
        check(getattr(graph_lib(), function)(*arguments, ctypes.byref(handle)))
        self._handle, self._made = handle.value, 0

    @classmethod
    def _read(cls, function: str, *arguments: Any) -> Graph:
        graph = cls.__new__(cls)
        graph._destroy = graph_lib().tl_graph_destroy
        graph._adopt(function, *arguments)
        return graph

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """Reads a file that ends in .onnx or .json."""
        return cls._read("tl_graph_load", c_string(path))

    @classmethod
    def parse(cls, content: bytes, form: str | None = None) -> Graph:
        """Reads a graph from memory. form is "onnx" or "json"; without it, what begins with { is JSON."""
        content = bytes(content)
        if form is None:
            form = "json" if content.lstrip()[:1] == b"{" else "onnx"
        return cls._read("tl_graph_parse", content, len(content), c_string(form))

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> str:
        """Declares an input and returns its name. A string in the shape is a symbol, which bind gives a number."""
        extents = int64_array([0 if isinstance(n, str) else n for n in shape])
        symbols = (ctypes.c_char_p * len(shape))(*(c_string(n) if isinstance(n, str) else None for n in shape))
        check(
            graph_lib().tl_graph_add_input(
                self._handle, c_string(name), _number(dtype), len(shape), extents, ctypes.addressof(symbols) or None
            )
        )
        return name

    def constant(self, name: str, array: Array) -> str:
        """Adds a tensor with content, which is copied, and returns its name."""
        check(graph_lib().tl_graph_add_constant(self._handle, c_string(name), *_content(array)))
        return name

    def freeze(self, name: str, array: Array) -> None:
        """Makes an input a constant in the plans that follow."""
        check(graph_lib().tl_graph_freeze(self._handle, c_string(name), *_content(array)))

    def add(
        self, op: str, *inputs: str | None, outputs: int | Sequence[str] = 1, name: str = "", **attributes: Any
    ) -> Any:
        """Adds an operator and returns the name of its result, or a tuple of names where there are several.

        op is the operator's name in ONNX. An input of None is an argument that is left out. outputs are names, or how
        many names to make. Attributes are numbers, strings, lists of one kind, arrays of NumPy for tensors, and graphs:
        then_branch and else_branch of If, body of Loop and Scan. Such a graph is copied; it may use the names of this
        one, and its inputs have the types that the operator gives them.
        """
        results = self._names(op, outputs)
        bodies = {key: value for key, value in attributes.items() if isinstance(value, Graph)}
        plain = {key: _attribute(value) for key, value in attributes.items() if key not in bodies}
        given = (ctypes.c_char_p * len(inputs))(*(c_string(value or "") for value in inputs))
        made = (ctypes.c_char_p * len(results))(*map(c_string, results))
        called = (ctypes.c_char_p * len(bodies))(*map(c_string, bodies))
        handles = (ctypes.c_void_p * len(bodies))(*(graph._handle for graph in bodies.values()))
        check(
            graph_lib().tl_graph_add_node_with_bodies(
                self._handle,
                c_string(op),
                c_string(name),
                ctypes.addressof(given),
                len(inputs),
                ctypes.addressof(made),
                len(results),
                json.dumps(plain).encode() if plain else None,
                ctypes.addressof(called),
                ctypes.addressof(handles),
                len(bodies),
            )
        )
        return results[0] if len(results) == 1 else results

    def _names(self, op: str, outputs: int | Sequence[str]) -> tuple[str, ...]:
        if isinstance(outputs, str):
            return (outputs,)
        if not isinstance(outputs, int):
            return tuple(outputs)
        self._made += 1
        return tuple(f"{op}_{self._made}" + (f"_{i}" if i else "") for i in range(outputs))

    def output(self, *names: str) -> None:
        """Makes values outputs, in this order."""
        for name in names:
            check(graph_lib().tl_graph_add_output(self._handle, c_string(name)))

    def bind(self, symbols: Mapping[str, int] | None = None, /, **more: int) -> None:
        """Gives symbols in the shapes of inputs numbers, for the plans that follow."""
        for symbol, number in {**(symbols or {}), **more}.items():
            _steps(number)
            check(graph_lib().tl_graph_bind(self._handle, c_string(symbol), number))

    def state(self, name: str, *values: str) -> None:
        """Says that inputs, outputs and constants are a state of the arenas that follow: see plan_together.

        An input and an output that are one state are its content before and after a call. Without values it is that
        of the state's name. A constant that is a state becomes an input there, and is what the state begins with.
        """
        for value in values or (name,):
            check(graph_lib().tl_graph_add_state(self._handle, c_string(value), c_string(name)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that ends in .onnx or .json."""
        check(graph_lib().tl_graph_save(self._handle, c_string(path)))

    def plan(self, **options: Unpack[Options]) -> Execution:
        """Checks the graph and plans it; InvalidArgumentError names the node that is wrong.

        capacity is the most bytes of the frame. Where it would be larger, values are computed again (recompute=False:
        they are not), and with outside they may be moved to a second space and back: outside=True at the price of a
        copy in memory, a number at that of so many bytes a second. outside_bytes is the most that is there at once.
        LimitError says that no plan was found. rates are what operators take: a file that bench/planner/cost wrote, or
        its content as a mapping.

        With symbolic the numbers that symbols are bound to are bounds, and Execution.places tells the frame and the
        places for lower ones; there is no capacity then.

        budget are the seconds that planning may take, with symbolic for each number that is tried; what is not
        needed is spent on better offsets. Without them and max_steps a fixed amount of work is done. views, in_place, concat and reorder are what the planner may do to
        make the frame small; place_inputs and place_outputs give inputs and outputs a place in the frame.
        alignment is that of the frame and of each buffer, 64 bytes without it.
        """
        handle = ctypes.c_void_p()
        check(graph_lib().tl_graph_plan(self._handle, ctypes.byref(for_c(options)), ctypes.byref(handle)))
        return Execution(handle.value)


def _number(dtype: Any) -> int:
    """Returns the number of an element type, which may be given as a DType, a name, or a type of NumPy."""
    if isinstance(dtype, DType):
        return int(dtype)
    name = dtype if isinstance(dtype, str) else None
    if name in BY_NAME:
        return int(BY_NAME[name])
    import numpy

    named = numpy.dtype(dtype).name
    if named not in BY_NAME:
        raise TypeError(f"tl.Graph: there are no operators on elements of type {named}")
    return int(BY_NAME[named])


def _content(array: Array) -> tuple[int, int, Any, Any]:
    """Returns element type, rank, shape and address of an array, as calls take them."""
    import numpy

    array = numpy.asarray(array)
    held = _laid_out(array)  # has one axis where a scalar has none
    pointer = ctypes.c_void_p(held.ctypes.data)
    pointer.array = held  # type: ignore[attr-defined]  # lives as long as the address
    return _number(array.dtype), array.ndim, int64_array(array.shape), pointer


def _laid_out(array: numpy.ndarray) -> numpy.ndarray:
    """Returns the elements row by row, in the byte order of the machine."""
    import numpy

    return numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _attribute(value: Any) -> Any:
    """Returns an attribute as JSON has it (docs/graph-json.md)."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _tensor(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": _spelled(value)}
    if isinstance(value, (list, tuple)):
        items = [int(item) if isinstance(item, bool) else item for item in value]
        if any(isinstance(item, float) for item in items):
            return {"floats": [x if math.isfinite(x) else _spelled(x) for x in map(float, items)]}
        return [item.item() if hasattr(item, "item") else item for item in items]
    if isinstance(value, (int, str)):
        return value
    raise TypeError(f"tl.Graph.add: {value!r} is no attribute; they are numbers, strings, lists of them and arrays")


def _spelled(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _tensor(array: Any) -> dict[str, Any]:
    import numpy

    array = numpy.asarray(array)
    content = base64.b64encode(_laid_out(array).tobytes()).decode()
    return {"dtype": SHORT_NAME[DType(_number(array.dtype))], "shape": list(array.shape), "data": content}
