"""Where memory of Python's came from, tags, and tests that end without leaks."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tl_runtime as tl
from conftest import Run
from test_exit import ENDINGS
from tl_runtime.testing import LeakError, no_leaks, tl_no_leaks  # noqa: F401 - a fixture


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.fixture
def tracking() -> Iterator[None]:
    tl.configure("TL_TRACK", "1")
    yield
    tl.configure("TL_TRACK", "0")


def test_the_line_of_python_is_told(tracking: None) -> None:
    tensor, at = tl.zeros((2, 3)), line()
    info = tl.allocation_info(tensor.address)
    assert (info.file, info.line, info.type) == (__file__, at, "tensor")
    assert abs(info.time - time.time()) < 60
    assert info.thread == threading.get_native_id()
    assert info.stack and info.number == tl.track_count()
    made, at = tl.Object.alloc(40), line()
    assert tl.allocation_info(made.address)[1:6] == (40, 1, None, __file__, at)
    made.free()
    view, at = tensor[1:], line()
    assert tl.allocation_info(view.address).line == at
    array, at = tl.registry.empty(10), line()
    assert tl.allocation_info(array.__array_interface__["data"][0]).line == at


@pytest.mark.parametrize("size", [10, 1000, 100_000])
def test_the_line_of_an_array_of_numpys_is_told(tracking: None, tmp_path: Path, size: int) -> None:
    numpy = pytest.importorskip("numpy", minversion="1.22")
    mark = tl.track_count()
    with tl.numpy_allocator():
        arrays, lines = [numpy.empty(size)], [line()]
        arrays.append(numpy.zeros(size)), lines.append(line())
        arrays.append(numpy.ones(size)), lines.append(line())  # by way of Python code of NumPy's
        arrays.append(arrays[2] + 1), lines.append(line())
        arrays[0].resize(2 * size, refcheck=False), lines.append(line())
    assert tl.leak_report(tmp_path / "report", since=mark, handles=True).objects == 4
    text = (tmp_path / "report").read_text()
    assert [text.count(f" {__file__}:{at}\n") for at in lines] == [0, 1, 1, 1, 1]
    del arrays
    assert not tl.leak_report(tmp_path / "report", since=mark, handles=True)


def test_lines_of_numpys_arrays_among_samples(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy", minversion="1.22")
    tl.configure("TL_TRACK_SAMPLE", "64KiB")
    try:
        mark = tl.track_count()
        with tl.numpy_allocator():
            arrays = [numpy.empty(n % 2 * 20_000 + 500) for n in range(200)]
        samples = tl.track_count() - mark
        assert samples > 60  # about 97
        assert tl.leak_report(tmp_path / "report", since=mark, handles=True).objects >= samples
        assert f" {__file__}:" in (tmp_path / "report").read_text()
        del arrays
    finally:
        tl.configure("TL_TRACK_SAMPLE", "0")


def test_nothing_is_told_where_nothing_is_recorded() -> None:
    tensor = tl.zeros(3)
    info = tl.allocation_info(tensor.address)
    assert (info.file, info.stack, info.tag, info.number) == (None, (), None, 0)
    with pytest.raises(tl.UnknownPointerError):
        tl.allocation_info(4096)


def test_samples(tracking: None) -> None:
    tl.configure("TL_TRACK", "0")
    tl.configure("TL_TRACK_SAMPLE", "64KiB")
    before = tl.track_count()
    known = [tl.allocation_info(t.address) for t in (tl.empty(1000) for _ in range(1000))]
    tl.configure("TL_TRACK_SAMPLE", "0")
    samples = [info for info in known if info.number]
    assert 20 < len(samples) <= tl.track_count() - before < 150  # about 62
    assert {info.file for info in samples} == {__file__}


def test_tags(tracking: None) -> None:
    with tl.tag("epoch"), tl.tag("load"):
        tensor = tl.zeros(3)
    assert tl.allocation_info(tensor.address).tag == "epoch/load"
    assert tl.allocation_info(tl.zeros(3).address).tag is None
    with pytest.raises(tl.InvalidArgumentError):
        tl.tag("").__enter__()


def test_what_python_holds_is_reported_until_it_lets_go() -> None:
    with pytest.raises(LeakError, match=f"{__file__}:"), no_leaks():
        kept = tl.zeros(10)
    with no_leaks():
        del kept
        tl.zeros(10)
    with pytest.raises(LeakError, match="1 scopes are open, 0 were before"), no_leaks():
        tl.lib.tl_mem_enter_scope()
    tl.lib.tl_mem_exit_scope()


def recordings() -> int:
    before = tl.track_count()
    tl.zeros(3)
    return tl.track_count() - before


def test_recording_goes_on_where_it_was_on(tracking: None) -> None:
    with no_leaks():
        with no_leaks():
            pass
        assert recordings() == 1
    assert recordings() == 1
    tl.configure("TL_TRACK", "0")
    with pytest.raises(LeakError), no_leaks():
        with no_leaks():
            pass
        kept = tl.zeros(10)  # after the inner block
    assert recordings() == 0
    assert kept.shape == (10,)


def test_the_fixture(tl_no_leaks: None) -> None:  # noqa: F811
    with tl.scope():
        tl.Object.new(64)
        tl.zeros(5)


def test_the_fixture_fails_a_test(tmp_path: Path, python: Run) -> None:
    test = tmp_path / "test_leaky.py"
    test.write_text(
        "import tl_runtime as tl\nfrom tl_runtime.testing import tl_no_leaks\n"
        "def test_leaky(tl_no_leaks):\n    tl.Object.alloc(64)\n"
    )
    result = python(f"import pytest, sys\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(test)!r}]))", ok=False)
    assert result.returncode == 1
    assert f"{test}:4" in result.stdout
    assert "1 error" in result.stdout


# One acquires and does not release, the other's thread is ended by the interpreter in the middle of a scope.
LEAKING = {"borrowed array", "thread at work"}


@pytest.mark.parametrize("track", ["0", "1"])
@pytest.mark.parametrize("ending", sorted(set(ENDINGS) - LEAKING))
def test_no_false_report_at_exit(python: Run, ending: str, track: str) -> None:
    code = ENDINGS[ending]
    if "numpy" in code:
        pytest.importorskip("numpy")
    are_open = ending == "open scopes"  # which is told, and may be right
    result = python(code, ok=not are_open, TL_LEAK_CHECK="fail", TL_TRACK=track)
    assert result.returncode == 0
    if are_open:
        assert result.stderr.count("\n") == 1, result.stderr
        assert "2 scopes or frames are open at the end of the process" in result.stderr


def test_a_long_report_after_the_interpreter_has_shut_down(python: Run) -> None:
    """The end of faulthandler takes the signal stack away that Go's preemption needs."""
    result = python(
        "import faulthandler\nfaulthandler.enable()\nfor _ in range(300000): tl.lib.tl_mem_alloc(32)",
        ok=False,
        TL_LEAK_CHECK="fail",
    )
    assert result.returncode == 23, result.stderr[-2000:]
    assert "SUMMARY: LeakSanitizer: 9600000 byte(s) leaked in 300000 allocation(s)." in result.stderr


def test_a_leak_at_exit(python: Run) -> None:
    result = python("tl.Object.alloc(64)", ok=False, TL_LEAK_CHECK="fail", TL_TRACK="1")
    assert result.returncode == 23
    assert "program.py:2" in result.stderr
    assert "SUMMARY: LeakSanitizer: 64 byte(s) leaked in 1 allocation(s)." in result.stderr
    result = python("tl.Object.alloc(64)", ok=False, TL_LEAK_CHECK="report")
    assert result.returncode == 0
    assert "Run with TL_TRACK=1" in result.stderr


def test_damage_is_told(python: Run) -> None:
    """One byte behind the last element, and one that nobody has released when the interpreter ends."""
    result = python(
        """
        import ctypes
        tensor = tl.zeros(10, "float32")
        address = tensor.numpy().ctypes.data
        ctypes.memset(address + 40, 1, 1)
        del tensor
        kept = tl.lib.tl_mem_alloc(100)
        ctypes.memset(kept + 100, 1, 1)
        """,
        ok=False,
        TL_DEBUG="1",
    )
    assert result.returncode == 0
    assert result.stderr.count("TL_E_CORRUPTED") == 2, result.stderr
    assert "tl_tensor_release: TL_E_CORRUPTED" in result.stderr
    assert "byte 0 behind its 100 bytes was written to\n  allocated at\n    #0 0x" in result.stderr
    assert "program.py:4" in result.stderr


def test_damage_is_found_on_demand(python: Run) -> None:
    code = """
        import ctypes
        damaged, sound = tl.Object.alloc(40), tl.Object.alloc(40)
        assert tl.check_all() == 0
        ctypes.memset(damaged.address + 40, 0xAA, 1)
        assert (tl.check_all(), tl.check_all()) == (1, 0)  # each is told once
        """
    result = python(code, ok=False, TL_DEBUG="1")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("TL_E_CORRUPTED") == 1


def test_damage_is_looked_for_under_debug_only() -> None:
    with pytest.raises(tl.UnsupportedError, match="TL_DEBUG"):
        tl.check_all()
