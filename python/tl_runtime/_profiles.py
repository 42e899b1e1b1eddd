"""Where memory goes, in the formats of pprof, of trace viewers and of PyTorch's page."""

from __future__ import annotations

import os

from . import _deferred
from ._library import check, lib


def profile_write(path: str | os.PathLike[str]) -> None:
    """Writes what is live, by where it was allocated, as a heap profile for `go tool pprof`.

    Sites are known while TL_TRACK or TL_TRACK_SAMPLE is on; a line of Python is the innermost frame.
    """
    _deferred.drain()
    check(lib.tl_profile_write(os.fsencode(path)))
