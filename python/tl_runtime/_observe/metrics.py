"""Counters of OpenMetrics text that never fall."""

from __future__ import annotations

import threading


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
