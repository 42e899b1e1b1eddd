"""memray: it runs a program over the library, and sees its own memory."""

from __future__ import annotations

from pathlib import Path

import pytest

memray = pytest.importorskip("memray")

from conftest import Run


def test_a_tracked_program(python: Run, tmp_path: Path) -> None:
    file = tmp_path / "program.bin"
    python(
        f"""
import memray
with memray.Tracker({str(file)!r}, native_traces=False):
    kept = tl.zeros((1 << 22,), "float32")
    import pickle
    assert pickle.loads(pickle.dumps(kept)).shape == kept.shape
    del kept
"""
    )
    reader = memray.FileReader(file)
    assert reader.metadata.total_allocations > 0
    peak = sum(record.size for record in reader.get_high_watermark_allocation_records())
    assert peak > 16 << 20  # the pickle's bytes at least


def test_what_it_sees_of_tensors(python: Run, tmp_path: Path) -> None:
    """None: they lie in memory that the library has mapped in one piece, at its first use. What Go's heap maps in the
    meantime, in steps of 4 MiB, counts as theirs."""
    file = tmp_path / "tensors.bin"
    python(
        f"""
import memray
def hold(number):
    return tl.empty((256, 1024))
def lump(number):
    return bytes(1 << 20)
first = hold(0)
with memray.Tracker({str(file)!r}):
    kept = [*map(hold, range(64)), *map(lump, range(8))]
"""
    )
    seen = {"hold": 0, "lump": 0, "<module>": 0}
    for record in memray.FileReader(file).get_leaked_allocation_records():
        own = [name for name, source, _ in record.stack_trace() if source.endswith("program.py")]
        if own:
            seen[own[0]] += record.size
    assert seen["hold"] < 32 << 20, "of 64 MiB of tensors"
    assert seen["lump"] >= 8 << 20
