"""TL Runtime: the memory runtime of tensor-language compilers, from Python.

    import tl_runtime as tl

    tensor = tl.zeros((2, 3), "float32")
    array = tensor.numpy()          # the same memory; keeps the tensor alive
    again = tl.from_numpy(array)    # a copy, with copy=False the array's own memory

    with tl.scope():                # what generated code registers here
        ...                         # is released here, also after an exception

Every failure is a tl.Error with the runtime's own explanation as its message and
the tl_status as its .status. After os.fork() calls that need more than the fast
path raise tl.ForkedError in the child; use the spawn or forkserver method.
"""

import sys as _sys
from typing import TYPE_CHECKING

from . import mr, registry
from ._binding.library import bitcode_path, include_path, inline_path, lib, make_symbols_global, path, symbols
from ._dtype import DType
from ._errors import (
    AlreadyRegisteredError,
    ArenaExhaustedError,
    BusyError,
    CorruptedError,
    CountOverflowError,
    DeviceError,
    Error,
    ForkedError,
    InteriorPointerError,
    InternalError,
    InvalidArgumentError,
    LimitError,
    NoFrameError,
    NotLiveError,
    NotRegisteredError,
    OutOfMemoryError,
    ScopeUnderflowError,
    SlotOutOfRangeError,
    Status,
    UnknownPointerError,
    UnsupportedError,
)
from ._graph.plan import Plan, PlanProgress
from ._memory.allocator import numpy_allocator
from ._memory.limits import (
    MemoryUsage,
    TensorPoolKey,
    memory_limit,
    memory_usage,
    set_memory_limit,
    set_out_of_memory_callback,
    set_tensor_pool_limits,
    tensor_pool_keys,
)
from ._memory.object import Object, collect_cycles
from ._memory.pool import MemoryPool, MemoryPoolStatistics
from ._memory.refs import Ref, Weak
from ._memory.scope import arena, frame, function_frame, scope, scope_depth
from ._memory.types import define_type, define_vec
from ._observe.leaks import Leak, LeakReport, leak_report
from ._observe.profiles import dump_memory_snapshot, memory_snapshot, profile, profile_write, trace, trace_mark
from ._observe.stats import (
    config,
    configure,
    live_count,
    memory_stats,
    memory_summary,
    openmetrics,
    print_stats,
    purge,
    reset_peak_memory_stats,
    shutdown,
    statistics,
    stats,
)
from ._observe.tracking import AllocationInfo, allocation_info, check_all, tag, track_count
from ._sparse.matrix import SparseMatrix
from ._tensor.creation import arange, asarray, full, ones
from ._tensor.devices import (
    Device,
    DeviceAllocator,
    DeviceKind,
    default_device,
    device,
    device_allocator,
    device_copy,
    device_fill,
    device_memory,
    devices,
)
from ._tensor.sharing import SharedTensor
from ._tensor.tensor import Tensor, empty, from_dlpack, from_numpy, zeros
from ._tensor.traced import TRACEMALLOC_DOMAIN

if TYPE_CHECKING:
    from ._engines.model import Model
    from ._graph.arena import ArenaState, CompiledArena, GraphArena, plan_together
    from ._graph.execution import CompiledGraph, Execution, ExecutionBody, ExecutionInstruction
    from ._graph.graph import Graph
    from ._graph.parts import ExecutionBuffer, ExecutionOperand, ExecutionPlaces, ExecutionPort, ExecutionSymbol
    from ._graph.runnable import ModelTensor

_LATE = {
    "ArenaState": "_graph.arena",
    "CompiledArena": "_graph.arena",
    "CompiledGraph": "_graph.execution",
    "Execution": "_graph.execution",
    "ExecutionBody": "_graph.execution",
    "ExecutionBuffer": "_graph.parts",
    "ExecutionInstruction": "_graph.execution",
    "ExecutionOperand": "_graph.parts",
    "ExecutionPlaces": "_graph.parts",
    "ExecutionPort": "_graph.parts",
    "ExecutionSymbol": "_graph.parts",
    "Graph": "_graph.graph",
    "GraphArena": "_graph.arena",
    "Model": "_engines.model",
    "ModelTensor": "_graph.runnable",
    "plan_together": "_graph.arena",
}

version: str = lib.tl_version().decode()
__version__ = version


def __getattr__(name: str) -> object:
    """Loads what imports much and few programs use."""
    if name in _LATE:
        import importlib

        return getattr(importlib.import_module("." + _LATE[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _read_for_dask() -> None:
    from ._engines.dask_frames import register_reading

    register_reading()


# A process of Dask's imports this package when the first tensor comes in, and has to know then how to read it.
if _dask := _sys.modules.get("distributed.protocol.serialize"):
    _dask.dask_deserialize.register_lazy(__name__, _read_for_dask)

__all__ = [
    "AllocationInfo",
    "AlreadyRegisteredError",
    "ArenaExhaustedError",
    "ArenaState",
    "BusyError",
    "CompiledArena",
    "CompiledGraph",
    "CorruptedError",
    "CountOverflowError",
    "DType",
    "Device",
    "DeviceAllocator",
    "DeviceError",
    "DeviceKind",
    "Error",
    "Execution",
    "ExecutionBody",
    "ExecutionBuffer",
    "ExecutionInstruction",
    "ExecutionOperand",
    "ExecutionPlaces",
    "ExecutionPort",
    "ExecutionSymbol",
    "ForkedError",
    "Graph",
    "GraphArena",
    "InteriorPointerError",
    "InternalError",
    "InvalidArgumentError",
    "Leak",
    "LeakReport",
    "LimitError",
    "MemoryPool",
    "MemoryPoolStatistics",
    "MemoryUsage",
    "Model",
    "ModelTensor",
    "NoFrameError",
    "NotLiveError",
    "NotRegisteredError",
    "Object",
    "OutOfMemoryError",
    "Plan",
    "PlanProgress",
    "Ref",
    "ScopeUnderflowError",
    "SharedTensor",
    "SlotOutOfRangeError",
    "SparseMatrix",
    "Status",
    "TRACEMALLOC_DOMAIN",
    "Tensor",
    "TensorPoolKey",
    "UnknownPointerError",
    "UnsupportedError",
    "Weak",
    "allocation_info",
    "arange",
    "arena",
    "asarray",
    "bitcode_path",
    "check_all",
    "collect_cycles",
    "config",
    "configure",
    "default_device",
    "define_type",
    "define_vec",
    "device",
    "device_allocator",
    "device_copy",
    "device_fill",
    "device_memory",
    "devices",
    "dump_memory_snapshot",
    "empty",
    "frame",
    "from_dlpack",
    "from_numpy",
    "full",
    "function_frame",
    "include_path",
    "inline_path",
    "lib",
    "leak_report",
    "live_count",
    "make_symbols_global",
    "memory_limit",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "memory_usage",
    "mr",
    "numpy_allocator",
    "ones",
    "openmetrics",
    "path",
    "plan_together",
    "print_stats",
    "profile",
    "profile_write",
    "purge",
    "registry",
    "reset_peak_memory_stats",
    "scope",
    "scope_depth",
    "set_memory_limit",
    "set_out_of_memory_callback",
    "set_tensor_pool_limits",
    "shutdown",
    "statistics",
    "stats",
    "symbols",
    "tag",
    "tensor_pool_keys",
    "trace",
    "trace_mark",
    "track_count",
    "version",
    "zeros",
]
