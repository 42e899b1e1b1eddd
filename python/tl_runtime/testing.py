"""For tests of programs that use the runtime: they end without leaks, or show where the leak was allocated.

    from tl_runtime.testing import tl_no_leaks      # in conftest.py

    def test_model(tl_no_leaks): ...

or, without pytest, `with tl_runtime.testing.no_leaks(): ...`.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._scope import scope_depth
from ._stats import config, configure
from ._tracking import leak_report, track_count


class LeakError(AssertionError):
    """What was allocated in the block has leaked; the message is the report."""


class _Recording:
    """TL_TRACK=1 from the first of several blocks that want it to the last; then what it was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = "0"

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = config()["TL_TRACK"][0]
            configure("TL_TRACK", "1")  # other threads' blocks may have done so; this one follows at once
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                configure("TL_TRACK", self._before)


_recording = _Recording()


@contextmanager
def no_leaks() -> Iterator[None]:
    """Raises LeakError when something that was allocated in the block is live after it and nothing will release it.

    Everything is recorded meanwhile (TL_TRACK=1), on other threads from their next slow call on. What a scope still
    holds is no leak, but a scope that was opened and not closed is one. Blocks may nest, and overlap on threads.
    """
    gc.collect()
    with _recording:
        mark, depth = track_count(), scope_depth()
        yield
        gc.collect()
        _verify(mark, depth)


def _verify(mark: int, depth: int) -> None:
    if scope_depth() != depth:
        raise LeakError(f"{scope_depth()} scopes are open, {depth} were before")
    handle, name = tempfile.mkstemp(prefix="tl_leaks_")
    os.close(handle)
    try:
        if leak_report(name, since=mark):
            raise LeakError(Path(name).read_text(encoding="utf-8", errors="replace"))
    finally:
        os.unlink(name)


try:
    import pytest
except ImportError:  # the context manager needs none
    pass
else:

    @pytest.fixture
    def tl_no_leaks() -> Iterator[None]:
        """The test leaves nothing behind that nobody will release."""
        with no_leaks():
            yield
