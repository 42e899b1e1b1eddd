"""Tells tracking which lines of Python have allocated.

The library reads the frames of Python itself where a call of it holds the interpreter's lock, as those of the extension
module do. ctypes gives the lock back during a call. So the library counts the allocations that it records, and a call
by ctypes compares that number with the one that its thread saw last. That costs one load; only if the numbers differ
the library is asked to read the frames afterwards.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Sites(threading.local):
    """The number of recordings that a thread saw last."""

    seen = 0


class Recorder:
    """Tells tracking the line of allocations, with the functions of one library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.count: ctypes.c_uint64 = library.tl_track_count().contents
        self._site = library.tl_track_site
        self._sites = Sites()
        # Of a prototype that keeps the interpreter's lock.
        self._frames: Any = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(("tl_python_site", library))
        self.reads_frames: bool = library.tl_python_lines(os.fsencode(_PACKAGE)) == 0
        library.tl_clear_error()

    def made(self, address: int) -> int:
        """Returns the address of something that was just allocated."""
        count = self.count.value
        if count != self._sites.seen:
            self._sites.seen = count
            self.tell(address)
        return address

    def tell(self, address: int) -> None:
        """Has the frames of Python read, or tells the innermost line that is not this package's where that cannot be."""
        if self.reads_frames and self._frames(address):
            return
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        self._site(address, os.fsencode(frame.f_code.co_filename), frame.f_lineno)
