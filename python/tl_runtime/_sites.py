"""Tells tracking which line of Python has allocated.

The library counts the allocations that it records. A call that allocates compares that number with the one that
its thread saw last. That costs one load; only if the numbers differ the call looks for its line.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Sites(threading.local):
    """The number of recordings that a thread saw last."""

    seen = 0


class Recorder:
    """Tells tracking the line of allocations, with the functions of one library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.count: ctypes.c_uint64 = library.tl_track_count().contents
        self._site = library.tl_track_site
        self._sites = Sites()

    def made(self, address: int) -> int:
        """Returns the address of something that was just allocated."""
        count = self.count.value
        if count != self._sites.seen:
            self._sites.seen = count
            self.tell(address)
        return address

    def tell(self, address: int) -> None:
        """Tells the innermost line that is not this package's."""
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        self._site(address, os.fsencode(frame.f_code.co_filename), frame.f_lineno)
