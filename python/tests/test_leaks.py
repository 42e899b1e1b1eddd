"""The leak report as an object, and what Python's own handles hold."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import tl_runtime as tl


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.fixture
def mark() -> Iterator[int]:
    tl.configure("TL_TRACK", "1")
    yield tl.track_count()
    tl.configure("TL_TRACK", "0")


def test_leak_report(mark: int, tmp_path: Path) -> None:
    path = tmp_path / "report"
    with tl.tag("forgotten"):
        made, at = tl.Object.alloc(48), line()
    report = tl.leak_report(path, since=mark)
    assert report and (report.objects, report.nbytes, len(report)) == (1, 48, 1)
    text = path.read_text()
    assert text == str(report)
    assert "Direct leak of 48 byte(s) in 1 object(s) allocated from:\n    #0 " in text
    assert f" {__file__}:{at}\n" in text
    assert "tag forgotten" in text
    made.free()
    report = tl.leak_report(path, since=mark)
    assert not report and (report.objects, report.nbytes, list(report), str(report)) == (0, 0, [], "")
    assert path.read_text() == ""
    with pytest.raises(tl.InvalidArgumentError):
        tl.leak_report(tmp_path / "no" / "folder")
    with pytest.raises(ValueError, match="null"):
        tl.leak_report("a\0b")


def test_its_entries(mark: int) -> None:
    with tl.tag("outer"), tl.tag("inner"):
        made, at = [tl.Object.alloc(32) for _ in range(3)], line()
    lost = tl.zeros((100, 100))
    tl.Object(lost.address).acquire()  # a reference that nobody knows of
    address = lost.address
    del lost
    report = tl.leak_report(since=mark)
    assert report.objects == 4 and report.nbytes >= 40_000 + 96
    large, small = report
    assert (large.type, large.objects, large.is_direct, large.is_leak) == ("tensor", 1, True, True)
    assert large.reason == "a reference was acquired and never released" and large.tag is None
    assert (small.type, small.objects, small.nbytes, small.tag) == ("plain bytes", 3, 96, "outer/inner")
    assert (small.file, small.line) == (__file__, at)
    assert small.reason.startswith("nobody took its floating reference")
    assert len(small.frames) > 3 and small.frames[0].function and small.frames[0].line == at
    assert report.by_kind == {"tensor": (1, large.nbytes), "plain bytes": (3, 96)}
    assert repr(report) == f"<tl.LeakReport: 4 allocations leaked, {report.nbytes} bytes>"
    tl.Object(address).release()
    for one in made:
        one.free()
    assert not tl.leak_report(since=mark)


def test_what_python_holds_is_no_leak(mark: int) -> None:
    tensor = tl.zeros((10, 10))
    view, again = tensor[1:], tl.Tensor.from_address(tensor.address)
    assert not tl.leak_report(since=mark)
    held = tl.leak_report(since=mark, handles=True)
    assert held and all(leak.type == "tensor" for leak in held)
    del tensor
    assert not tl.leak_report(since=mark)  # the view keeps its base
    del view
    tl.Object(again.address).acquire()
    report = tl.leak_report(since=mark)
    assert [leak.objects for leak in report] == [1]  # one reference more than the handle has
    tl.Object(again.address).release()
    assert not tl.leak_report(since=mark)
    del again
    assert not tl.leak_report(since=mark, handles=True)


def test_nor_is_what_arrays_and_matrices_hold(mark: int) -> None:
    numpy = pytest.importorskip("numpy")
    array = tl.zeros(10).numpy()
    matrix = tl.SparseMatrix.empty((1000, 10), [5] * 1000)
    part, indices = matrix[10:20], matrix.line(3).indices
    lent = tl.from_numpy(numpy.zeros(4), copy=False)
    assert not tl.leak_report(since=mark)
    assert tl.leak_report(since=mark, handles=True).objects >= 4
    del matrix
    assert not tl.leak_report(since=mark)
    del array, part, indices, lent
    assert not tl.leak_report(since=mark, handles=True)


def test_without_a_mark_nothing_need_be_recorded() -> None:
    before = tl.leak_report()
    kept = tl.zeros(10)
    assert tl.leak_report().objects == before.objects
    assert tl.leak_report(handles=True).objects > before.objects
    made = tl.Object.alloc(4000)
    after = tl.leak_report()
    assert (after.objects, after.nbytes >= before.nbytes + 4000) == (before.objects + 1, True)
    assert "TL_TRACK=1" in str(after)
    made.free()
    assert kept.size == 10
    with pytest.raises(tl.InvalidArgumentError, match="TL_TRACK"):
        tl.leak_report(since=0)


def test_a_device_gets_the_text_and_is_not_read(mark: int) -> None:
    made = tl.Object.alloc(48)
    report = tl.leak_report("/dev/null", since=mark)
    assert report.objects == 1 and [leak.nbytes for leak in report] == [48]
    made.free()


def test_handles_that_come_and_go_on_threads_meanwhile(mark: int) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            tensors = [tl.empty(n) for n in range(20)]
            del tensors[::2]

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    kept = [tl.zeros(n) for n in range(50)]
    for _ in range(10):
        tl.leak_report(since=mark)
    stop.set()
    for thread in threads:
        thread.join()
    assert not tl.leak_report(since=mark)
    assert len(kept) == 50
