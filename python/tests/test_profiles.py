"""Profiles, traces and snapshots, read by what they are made for."""

from __future__ import annotations

import gzip
import inspect
import shutil
import subprocess
from pathlib import Path

import pytest

import tl_runtime as tl


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def pprof(path: Path, *options: str) -> str:
    """What pprof prints of a profile."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go, and so no go tool pprof")
    result = subprocess.run([go, "tool", "pprof", *options, str(path)], capture_output=True, text=True)
    if "no such tool" in result.stderr:
        pytest.skip("this go has no tool pprof")
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_heap_profile_shows_lines_of_python(tmp_path: Path) -> None:
    tl.configure("TL_TRACK", "1")
    try:
        with tl.tag("load"):
            tensors, at = [tl.zeros((100, 100)) for _ in range(3)], line()
        path = tmp_path / "heap.pb.gz"
        tl.profile_write(path)
    finally:
        tl.configure("TL_TRACK", "0")
    assert gzip.decompress(path.read_bytes())
    occupied = sum(tl.allocation_info(t.address).nbytes for t in tensors)
    top = pprof(path, "-top", "-unit=B", "-sample_index=inuse_space", "-tagfocus=tag=load")
    row = next(row for row in top.splitlines() if f"test_profiles.py:{at}" in row)
    assert 3 * 40_000 < int(row.split()[0].removesuffix("B")) <= occupied
    counts = pprof(path, "-top", "-sample_index=inuse_objects", "-tagfocus=tag=load", "-tagfocus=type=tensor")
    assert next(row for row in counts.splitlines() if f"test_profiles.py:{at}" in row).split()[0] == "3"


def test_a_profile_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(tl.InvalidArgumentError, match="no/such"):
        tl.profile_write(tmp_path / "no" / "such")
