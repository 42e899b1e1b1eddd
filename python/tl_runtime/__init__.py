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
from ._allocator import numpy_allocator
from ._creation import arange, asarray, full, ones
from ._devices import (
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
from ._library import bitcode_path, include_path, lib, make_symbols_global, path, symbols
from ._leaks import Leak, LeakReport, leak_report
from ._limits import (
    MemoryUsage,
    TensorPoolKey,
    memory_limit,
    memory_usage,
    set_memory_limit,
    set_out_of_memory_callback,
    set_tensor_pool_limits,
    tensor_pool_keys,
)
from ._memory_pool import MemoryPool, MemoryPoolStatistics
from ._object import Object, collect_cycles
from ._plan import Plan, PlanProgress
from ._profiles import dump_memory_snapshot, memory_snapshot, profile, profile_write, trace, trace_mark
from ._refs import Ref, Weak
from ._scope import arena, frame, function_frame, scope, scope_depth
from ._sharing import SharedTensor
from ._sparse import SparseMatrix
from ._stats import (
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
from ._tensor import Tensor, empty, from_dlpack, from_numpy, zeros
from ._traced import TRACEMALLOC_DOMAIN
from ._tracking import AllocationInfo, allocation_info, check_all, tag, track_count
from ._types import define_type, define_vec

if TYPE_CHECKING:
    from ._compiled import CompiledGraph
    from ._execution import (
        Execution,
        ExecutionBody,
        ExecutionBuffer,
        ExecutionInstruction,
        ExecutionOperand,
        ExecutionPlaces,
        ExecutionPort,
        ExecutionSymbol,
    )
    from ._graph import Graph
    from ._graph_arena import ArenaState, CompiledArena, GraphArena, plan_together
    from ._model import Model
    from ._runnable import ModelTensor

_LATE = {
    "ArenaState": "_graph_arena",
    "CompiledArena": "_graph_arena",
    "CompiledGraph": "_compiled",
    "Execution": "_execution",
    "ExecutionBody": "_execution",
    "ExecutionBuffer": "_execution",
    "ExecutionInstruction": "_execution",
    "ExecutionOperand": "_execution",
    "ExecutionPlaces": "_execution",
    "ExecutionPort": "_execution",
    "ExecutionSymbol": "_execution",
    "Graph": "_graph",
    "GraphArena": "_graph_arena",
    "Model": "_model",
    "ModelTensor": "_runnable",
    "plan_together": "_graph_arena",
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
    from ._dask_frames import register_reading

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
