"""Leak checks for tests of programs that use the runtime; a failure shows where the leak was allocated.

    from tl_runtime.testing import tl_no_leaks      # in conftest.py

    def test_model(tl_no_leaks): ...

or, without pytest, `with tl_runtime.testing.no_leaks(): ...`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from ._memory.scope import scope_depth
from ._observe.leaks import leak_report
from ._observe.tracking import recording, track_count

__all__ = ["LeakError", "no_leaks"]


class LeakError(AssertionError):
    """What was allocated in the block has leaked; the message is the report."""


@contextmanager
def no_leaks() -> Iterator[None]:
    """Raises LeakError when an allocation of the block is live after it and nothing will release it.

    A Tensor that Python still has counts, because the block was to leave nothing. What a scope still holds is not a
    leak, but a scope that was opened and not closed is one. Everything is recorded meanwhile (TL_TRACK=1), on other
    threads from their next slow call on. Blocks may nest, and overlap on threads.
    """
    gc.collect()
    with recording("TL_TRACK", "1"):
        mark, depth = track_count(), scope_depth()
        yield
        gc.collect()
        _verify(mark, depth)


def _verify(mark: int, depth: int) -> None:
    if scope_depth() != depth:
        raise LeakError(f"{scope_depth()} scopes are open, {depth} were before")
    report = leak_report(since=mark, handles=True)
    if report:
        raise LeakError(str(report))


try:
    import pytest
except ImportError:  # the context manager needs none
    pass
else:
    __all__ += ["tl_no_leaks"]

    @pytest.fixture
    def tl_no_leaks() -> Iterator[None]:
        """Fails the test when it leaves an allocation that nothing will release."""
        with no_leaks():
            yield
