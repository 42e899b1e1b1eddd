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
