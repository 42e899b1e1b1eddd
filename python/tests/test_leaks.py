"""The leak report as an object, and what Python's own handles hold."""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tl_runtime as tl
from conftest import in_threads
from tl_runtime._observe import holders, leaks


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


class Keeper:
    """Has its array in a slot."""

    __slots__ = ("array",)


def kept_in(numpy: Any) -> list[Callable[[Any], object]]:
    """Where programs keep arrays."""

    def keeper(array: Any) -> Keeper:
        made = Keeper()
        made.array = array
        return made

    def generator(array: Any) -> Any:
        made = pausing(array)
        next(made)
        return made

    def pausing(array: Any) -> Iterator[int]:
        yield array.size
        yield array.size

    return [
        lambda array: array,
        lambda array: [array],
        lambda array: {"x": array},  # which the collector of garbage leaves alone
        lambda array: ((array,), 1),
        lambda array: {"a": ({"b": (array,)},)},
        lambda array: array[1:][1:],
        lambda array: array.reshape(-1, 1).T,
        lambda array: memoryview(array),
        lambda array: (lambda: array),
        lambda array: array.sum if array.size else None,
        lambda array: functools.partial(print, array),
        lambda array: array.view(type("Sub", (numpy.ndarray,), {})),
        lambda array: numpy.array([array, None], object)[:1].tolist(),
        keeper,
        generator,
    ]


def test_nor_are_arrays_of_numpys_that_something_keeps(mark: int) -> None:
    numpy = pytest.importorskip("numpy")

    def small() -> Any:
        with tl.numpy_allocator():
            return numpy.ones(10)

    def large() -> Any:
        with tl.numpy_allocator():
            return numpy.ones((300, 300))

    def shrunk() -> Any:
        array = large().copy()
        with tl.numpy_allocator():
            array = numpy.ones(12_000)
        array.resize(8_000)
        return array

    def registered() -> Any:
        return tl.registry.zeros(50)

    def of_workspace() -> Any:
        return tl.registry.Workspace(2, 640).array(1)

    def exported() -> Any:
        return numpy.from_dlpack(tl.zeros((5, 5)))

    def exported_before() -> Any:
        class Old:
            def __dlpack__(self, **_: Any) -> Any:
                return tl.zeros(5).__dlpack__()

            def __dlpack_device__(self) -> Any:
                return 1, 0

        return numpy.from_dlpack(Old())

    makers = (small, large, shrunk, registered, of_workspace, exported, exported_before)
    for at, keep in enumerate(kept_in(numpy)):
        kept = [keep(make()) for make in makers]
        report = tl.leak_report(since=mark)
        assert not report, (at, str(report))
        assert tl.leak_report(since=mark, handles=True).objects >= len(makers), at
        del kept
        assert not tl.leak_report(since=mark, handles=True), at
    for make in makers:  # in a variable, and nowhere else
        array = make()
        assert array is not None and not tl.leak_report(since=mark), make
        del array


def test_nor_are_capsules_that_nobody_has_opened(mark: int) -> None:
    for version in (None, (1, 0)):
        capsule = tl.zeros(3).__dlpack__(max_version=version)
        assert not tl.leak_report(since=mark)
        del capsule
        assert not tl.leak_report(since=mark, handles=True)


def test_nor_are_variables_of_other_threads(mark: int) -> None:
    numpy = pytest.importorskip("numpy")
    started, stop = threading.Event(), threading.Event()

    def work() -> None:
        with tl.numpy_allocator():
            array = numpy.ones(10)
        started.set()
        assert stop.wait(60) and array.sum() == 10

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(60)
    assert not tl.leak_report(since=mark)
    assert tl.leak_report(since=mark, handles=True).objects == 1
    stop.set()
    thread.join()
    assert not tl.leak_report(since=mark, handles=True)


def test_an_array_that_only_c_has_counts(mark: int) -> None:
    numpy = pytest.importorskip("numpy")
    with tl.numpy_allocator():
        array = numpy.ones(10)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
    address = id(array)
    del array
    assert tl.leak_report(since=mark).objects == 1
    ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))
    assert not tl.leak_report(since=mark, handles=True)


def test_variables_are_left_as_they_are() -> None:
    def work(first: int) -> Any:
        second = [first]
        names = locals()
        tl.leak_report()
        third = 3
        return first, second, third, dict(names), locals()["third"]

    assert work(1) == (1, [1], 3, {"first": 1, "second": [1]}, 3) or sys.version_info < (3, 13)
    assert work(1)[:3] == (1, [1], 3)
    # A function for tracing: before Python 3.13 variables are set from the dictionary after each of its calls.
    calls = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal calls
        if frame.f_code is work.__code__:
            calls += 1
            tl.leak_report()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = work(2)
    finally:
        sys.settrace(before)
    assert result[:3] == (2, [2], 3) and calls > 4


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


def test_a_report_leaves_variables_alone():
    """exec() and locals() keep names in the dictionary that a report asks frames for."""
    exec("made = 5")
    locals()["other"] = 6
    if sys.version_info >= (3, 13):
        pytest.skip("exec() writes to a copy")
    tl.leak_report()
    assert (eval("made"), locals()["other"]) == (5, 6)


def test_a_report_leaves_variables_of_a_traced_thread_alone():
    wrong = []

    def trace(frame, event, arg):
        time.sleep(0.001)
        return trace

    def work():
        sys.settrace(trace)
        try:
            for _ in range(40):
                a = 1
                b = [a, 2]
                assert a + b[0] == 2
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        tl.leak_report()
    thread.join()
    assert wrong == []


def test_reports_on_several_threads_do_not_look_at_each_other():
    sizes = []

    def report():
        for _ in range(4):
            sizes.append(len(holders.held(sys._getframe())[0]))

    in_threads(report, [()] * 4)
    assert max(sizes) < 4 * min(sizes) + 1000


def test_tensors_that_other_threads_make_meanwhile_are_no_leak(mark: int) -> None:
    """Nor are arrays, but for one that a thread has in an unfinished expression whenever the report looks."""
    stop, errors = threading.Event(), list[str]()
    kept: list[list[Any]] = [[], [], []]

    def tensors(mine: list[Any]) -> None:
        while not stop.is_set():
            mine.append(tl.empty(3))
            mine.append(mine[-1][1:])
            mine.append(tl.Tensor.from_address(mine[0].address))
            del mine[: max(0, len(mine) - 60)]

    threads = [threading.Thread(target=tensors, args=(mine,)) for mine in kept]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        for _ in range(25):
            report = tl.leak_report(since=mark)
            if report:
                errors.append(str(report))
        made = tl.Object.alloc(48)  # what leaks is found all the same
        report = tl.leak_report(since=mark)
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, f"{len(errors)} reports: {errors[0]}"
    assert [(leak.type, leak.nbytes) for leak in report] == [("plain bytes", 48)], str(report)
    made.free()


def test_an_error_of_the_search_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(caller: Any) -> Any:
        raise KeyboardInterrupt("meanwhile")

    monkeypatch.setattr(holders, "held", search)
    with pytest.raises(KeyboardInterrupt, match="meanwhile"):
        tl.leak_report()


def test_nor_are_arrays_inside_of_numpys_objects(mark: int) -> None:
    numpy = pytest.importorskip("numpy")

    def objects(array: Any) -> Any:
        made = numpy.empty((2, 2), object)
        made[1, 1] = {"x": (array,)}
        return made[1:]

    def nested(array: Any) -> Any:
        inner = numpy.empty(1, object)
        inner[0] = array
        outer = numpy.empty(2, object)
        outer[1], outer[0] = inner, outer  # in a cycle
        return [outer]

    def fields(array: Any) -> Any:
        made = numpy.zeros(3, [("n", "i4"), ("inner", [("a", "O", (2,))])])
        made["inner"]["a"][2, 1] = array
        return made

    def cleared(kept: Any) -> None:
        if isinstance(kept, list):
            kept[0][0] = None

    ways = [objects, nested, fields, lambda array: array.flat, lambda array: iter(array[2:].flat),
            lambda array: numpy.nditer(array), lambda array: numpy.nditer([array, array[::-1]]),
            lambda array: numpy.broadcast(array, 1), lambda array: array.view([("a", "f8")])[0],
            lambda array: numpy.ndenumerate(array), lambda array: numpy.ma.masked_array(array, array > 1)]  # fmt: skip
    for at, way in enumerate(ways):
        with tl.numpy_allocator():
            array = numpy.ones(10)
        kept = [way(array)]
        del array
        report = tl.leak_report(since=mark)
        assert not report, (at, str(report))
        assert tl.leak_report(since=mark, handles=True).objects >= 1, at
        cleared(kept[0])
        del kept
        assert not tl.leak_report(since=mark, handles=True), at
    closed = numpy.nditer(numpy.ones(3))
    closed.close()
    tl.leak_report()


@pytest.mark.parametrize("name", ["a\nb", "x; sampled, for about 3 such allocations", 'say "no"', "; tag x", "ünïcode", "a\x1b[2Jb"])
def test_names_that_look_like_parts_of_the_report(mark: int, name: str) -> None:
    folder = f"/home/a b {name}"
    names: dict[str, Any] = {"tl": tl}
    exec(compile("def made():\n    return tl.Object.alloc(24)", folder, "exec"), names)
    with tl.tag(name):
        made = names["made"]()
    (leak,) = report = tl.leak_report(since=mark)
    assert leak.tag == name
    assert (leak.frames[0].function, leak.file, leak.line) == ("made", folder, 2)
    assert "\x1b" not in str(report)
    made.free()


def test_frames_of_any_name() -> None:
    """Functions of C++ and files with blanks."""
    text = (
        "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n"
        "    #0 0x1f in operator new(unsigned long) /src/new.cc:12\n"
        '    #1 0x2 in void f<int, char>(std::map<int, char> const&) "/my files/f.cc":3\n'
        "    #2 0x3 in (anonymous namespace)::g() const (/lib/libx.so+0x1f)\n"
        '    #3 0x4 in h() ("/my files/libx.so"+0x1f)\n'
        "    #4 0x5 (/lib/libx.so+0x20)\n"
        "    #5 0x6 (<unknown module>)\n"
        "    #6 0x7 in i(int) (<unknown module>)\n"
        "    plain bytes; a cycle: only what it refers to refers to it; tl_mem_collect_cycles frees it\n\n"
    )
    (leak,) = leaks.LeakReport(text, 1)
    assert [frame[1:] for frame in leak.frames] == [
        ("operator new(unsigned long)", "/src/new.cc", 12),
        ("void f<int, char>(std::map<int, char> const&)", "/my files/f.cc", 3),
        ("(anonymous namespace)::g() const", None, 0),
        ("h()", None, 0),
        (None, None, 0),
        (None, None, 0),
        ("i(int)", None, 0),
    ]
    assert leak.reason.endswith("tl_mem_collect_cycles frees it") and leak.tag is None
