"""Counters of the runtime, its options, and its upkeep.

    tl.memory_stats("cpu")["allocated_bytes.all.current"]  # the names that PyTorch has
    print(tl.memory_summary())
    tl.statistics()["types"]                                # everything, by kind, type and size class
    tl.openmetrics()                                        # for Prometheus and its like

docs/statistics.md tells what the figures mean and which of them add up.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable
from typing import Any

from .. import _abi
from .._binding import deferred
from .._binding.library import c_string, check, last_error, lib
from .._memory.limits import memory_usage
from .._tensor.devices import device_number


def stats() -> dict[str, int]:
    """Returns the counters of tl_stats by name; exact while no other thread allocates."""
    deferred.drain()
    counters = _abi.tl_stats()
    counters.struct_size = ctypes.sizeof(counters)
    check(lib.tl_stats_get(ctypes.byref(counters)))
    return {name: getattr(counters, name) for name, *_ in counters._fields_ if name != "struct_size"}


def _text(write: Callable[[Any, int], int]) -> str:
    """Returns a text of the library; it may have grown since its length was read."""
    room = 0
    buffer = None
    while True:
        needed = write(buffer, room)
        if needed == 0:
            raise last_error()
        if needed < room and buffer is not None:
            return buffer.value.decode("utf-8", "replace")
        room = needed + needed // 8 + 64
        buffer = ctypes.create_string_buffer(room)


def statistics() -> dict[str, Any]:
    """Returns everything that is counted, in the form of tl_stats_json."""
    deferred.drain()
    import json

    read: dict[str, Any] = json.loads(_text(lib.tl_stats_json))
    return read


def _device(which: str | int | None) -> dict[str, Any]:
    wanted: str | int = "total" if which is None else which
    if wanted not in ("total", "own") and not (isinstance(wanted, int) and wanted < 0):
        wanted = device_number(wanted)
    devices = statistics()["devices"]
    for device in devices:
        if wanted in (device["device"], device["number"]):
            found: dict[str, Any] = device
            return found
    memory_usage(wanted)  # raises when there is no such device
    return dict.fromkeys(devices[0], 0)  # the runtime never held memory of it


def memory_stats(device: str | int | None = None) -> dict[str, int]:
    """Returns the memory of a device, by default of all, under PyTorch's names.

    It has these of the figures of torch.cuda.memory_stats: the bytes of live objects and blocks
    (allocated_bytes.all), their number (allocation.all), the bytes that are held (reserved_bytes.all),
    num_alloc_retries and num_ooms. A `.current` is `.allocated` less `.freed`; allocation.all has no peak.
    """
    d = _device(device)
    return {
        "allocated_bytes.all.current": d["in_use"],
        "allocated_bytes.all.peak": d["peak_in_use"],
        "allocated_bytes.all.allocated": d["allocated"],
        "allocated_bytes.all.freed": d["freed"],
        "allocation.all.current": d["live"],
        "allocation.all.allocated": d["allocations"],
        "allocation.all.freed": d["frees"],
        "reserved_bytes.all.current": d["reserved"],
        "reserved_bytes.all.peak": d["peak"],
        "reserved_bytes.all.allocated": d["obtained"],
        "reserved_bytes.all.freed": d["returned"],
        "num_alloc_retries": d["relieved"],
        "num_ooms": d["failed"],
    }


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def _bytes(n: int) -> str:
    size, unit = float(n), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 10 else f"{size:.1f} {_UNITS[unit]}"


def memory_summary(device: str | int | None = None) -> str:
    """Returns the memory of a device, by default of all, as a table for people."""
    m = memory_stats(device)
    columns = ("current", "peak", "allocated", "freed")
    lines = [f"{'memory of ' + str('all devices' if device is None else device):28}" + "".join(f"{c:>14}" for c in columns)]
    for key, title, form in (
        ("allocated_bytes.all", "in use", _bytes),
        ("reserved_bytes.all", "reserved", _bytes),
        ("allocation.all", "objects and blocks", "{:,}".format),
    ):
        cells = (form(m[f"{key}.{c}"]) if f"{key}.{c}" in m else "" for c in columns)
        lines.append(f"{title:28}" + "".join(f"{cell:>14}" for cell in cells))
    lines.append(f"{'caches emptied':28}{m['num_alloc_retries']:>14,}")
    lines.append(f"{'requests that failed':28}{m['num_ooms']:>14,}")
    return "\n".join(lines) + "\n"


def reset_peak_memory_stats() -> None:
    """Sets every peak to what is held and in use now, for all devices."""
    check(lib.tl_stats_reset_peak())


def print_stats(path: str | os.PathLike[str] | None = None) -> None:
    """Writes all statistics as a table into a file, or to standard error."""
    deferred.drain()
    check(lib.tl_stats_print(None if path is None else c_string(path)))


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


_counters = Rising()


def openmetrics() -> str:
    """Returns all statistics as OpenMetrics text. No counter is less than in an earlier text."""
    deferred.drain()
    return _counters.hold(_text(lib.tl_stats_openmetrics))


_SETTING = re.compile(r"(\w+)=(.*) \((\w+)\)")


def config() -> dict[str, tuple[str, str]]:
    """Returns every option's value and where it came from: default, environment or tl_configure."""
    rows = (_SETTING.fullmatch(line) for line in _text(lib.tl_config_dump).split("\n"))
    return {row[1]: (row[2], row[3]) for row in rows if row is not None}


def live_count() -> int:
    """Returns how many objects, tensors and registered foreign pointers are live."""
    deferred.drain()
    return int(lib.tl_get_refcount_count())


def purge() -> None:
    """Gives idle memory back to the system: free objects, the tensor pool, unused stacks."""
    deferred.drain()
    check(lib.tl_mem_purge())


def configure(key: str, value: str) -> None:
    """Sets an option by the name of its environment variable, for example ("TL_ON_ERROR", "log")."""
    check(lib.tl_configure(c_string(key), c_string(value)))


def shutdown() -> None:
    """Closes the calling thread's scopes and gives idle memory back; tensors stay valid, later calls work."""
    deferred.drain()
    check(lib.tl_shutdown())
