"""Statistics as OpenMetrics text (the OpenMetrics specification 1.0.0).

cmd/tl/internal/openmetrics does the same in Go; a test of each compares it with one text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

_Row = dict[str, Any]
_Column = tuple[str, str, str, str]  # name, type, help, key of the figure in a row

_OBJECTS: tuple[_Column, ...] = (
    ("tl_objects_live", "gauge", "Live objects by kind.", "live"),
    ("tl_objects_live_bytes", "gauge", "Bytes of live objects by kind.", "bytes"),
    ("tl_objects_allocated", "counter", "Objects ever made by kind.", "allocations"),
    ("tl_objects_freed", "counter", "Of them, those that are gone.", "frees"),
)
_TYPES: tuple[_Column, ...] = (
    ("tl_type_live", "gauge", "Live objects of a type of the program.", "live"),
    ("tl_type_live_bytes", "gauge", "Bytes of live objects of a type.", "bytes"),
    ("tl_type_allocated", "counter", "Objects of a type ever made.", "allocations"),
)
_CLASSES: tuple[_Column, ...] = (
    ("tl_class_live", "gauge", "Live objects of a size class; 0 are large ones.", "live"),
    ("tl_class_free", "gauge", "Free slots of a size class.", "free"),
    ("tl_class_held_bytes", "gauge", "Memory that is held for a size class.", "held"),
)
_DEVICES: tuple[_Column, ...] = (
    ("tl_device_reserved_bytes", "gauge", "Memory that is held of a device.", "reserved"),
    ("tl_device_in_use_bytes", "gauge", "Of it, in live objects and blocks.", "in_use"),
    ("tl_device_cached_bytes", "gauge", "Of it, the rest.", "cached"),
    ("tl_device_reserved_peak_bytes", "gauge", "The most that was held.", "peak"),
    ("tl_device_in_use_peak_bytes", "gauge", "At least the most that was in use.", "peak_in_use"),
    ("tl_device_allocated_bytes", "counter", "In objects and blocks, ever.", "allocated"),
    ("tl_device_freed_bytes", "counter", "Of it, what came back.", "freed"),
    ("tl_device_soft_limit_bytes", "gauge", "Soft limit; 0 is none.", "soft_limit"),
    ("tl_device_hard_limit_bytes", "gauge", "Hard limit; 0 is none.", "hard_limit"),
    ("tl_device_relieved", "counter", "Requests that caches were emptied for.", "relieved"),
    ("tl_device_out_of_memory", "counter", "Of them, those that failed.", "failed"),
)
_POOL: tuple[_Column, ...] = (
    ("tl_tensor_pool_tensors", "gauge", "Tensors that the pool keeps.", "tensors"),
    ("tl_tensor_pool_kept_bytes", "gauge", "Their memory.", "bytes"),
    ("tl_tensor_pool_hits", "counter", "Requests that kept tensors served.", "hits"),
    ("tl_tensor_pool_misses", "counter", "Requests that they did not.", "misses"),
)
_STACKS: tuple[_Column, ...] = (
    ("tl_scope_entries", "gauge", "References that scopes hold.", "scope_entries"),
    ("tl_frame_bytes", "gauge", "Memory in use in frames.", "frame_bytes"),
    ("tl_arena_bytes", "gauge", "Memory in use in arenas.", "arena_bytes"),
)
_PROCESS: tuple[_Column, ...] = (
    ("tl_resident_bytes", "gauge", "Resident memory of the process.", "resident_bytes"),
    ("tl_contexts", "gauge", "Threads attached or parked.", "contexts"),
    ("tl_slow_calls", "counter", "Calls of the slow path.", "slow_calls"),
    ("tl_system_calls", "counter", "System calls about memory.", "system_calls"),
    ("tl_releases_deferred", "counter", "Last references that waited for their owner.", "releases_deferred"),
)


def _escape(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _braces(labels: dict[str, object]) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _families(
    columns: Iterable[_Column], rows: list[_Row], labels: Callable[[_Row], dict[str, object]] = lambda _: {}
) -> Iterable[str]:
    for name, kind, explanation, key in columns:
        yield f"# TYPE {name} {kind}"
        if name.endswith("_bytes"):
            yield f"# UNIT {name} bytes"
        yield f"# HELP {name} {explanation}"
        suffix = "_total" if kind == "counter" else ""
        for row in rows:
            yield f"{name}{suffix}{_braces(labels(row))} {row[key]}"


def openmetrics_text(s: dict[str, Any]) -> str:
    """Returns what tl_stats_json has written as OpenMetrics text."""
    objects = [*s["kinds"], {"kind": "foreign", **s["foreign"]}, {"kind": "pool_blocks", **s["pool_blocks"]}]
    lines = [
        *_families(_OBJECTS, objects, lambda row: {"kind": row["kind"]}),
        *_families(_TYPES, s["types"], lambda row: {"type": row["type"], "name": row["name"]}),
        *_families(_CLASSES, s["classes"], lambda row: {"slot_bytes": row["slot_bytes"]}),
        *_families(_DEVICES, s["devices"], lambda row: {"device": row["device"]}),
        *_families(_POOL, [s["tensor_pool"]]),
        *_families(_STACKS, [s["stacks"]]),
        *_families(_PROCESS, [s["process"]]),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


class Rising:
    """Keeps every counter at the highest value seen.

    While threads work, freed memory may be read a little too low, and readers of OpenMetrics take a counter
    that falls for one that started again.
    """

    def __init__(self) -> None:
        self._most: dict[str, int] = {}
        self._lock = threading.Lock()

    def hold(self, text: str) -> str:
        """Returns OpenMetrics text with the values of its counters that have not fallen."""
        with self._lock:
            return "".join(self._line(line) + "\n" for line in text.split("\n")[:-1])

    def _line(self, line: str) -> str:
        series, _, value = line.rpartition(" ")
        if line.startswith("#") or not series.partition("{")[0].endswith("_total"):
            return line
        self._most[series] = max(self._most.get(series, 0), int(value))
        return f"{series} {self._most[series]}"
