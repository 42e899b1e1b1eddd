"""Frames of Python in leak reports, profiles, traces and snapshots."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run
from test_profiles import pprof

Frame = tuple[str, int]  # function, line


@pytest.fixture
def tracking() -> Iterator[None]:
    tl.configure("TL_TRACK", "1")
    yield
    tl.configure("TL_TRACK", "0")


class Model:
    """Functions that call each other; each ends two lines below its `def`."""

    def layer(self) -> tl.Tensor:
        make: Callable[[], tl.Tensor] = lambda: tl.empty((30, 30))  # noqa: E731
        return make()

    @staticmethod
    def forward(model: Model) -> tl.Tensor:
        return model.layer()


def train() -> tl.Tensor:
    return Model.forward(Model())


def first_line(function: Any) -> int:
    return int(function.__code__.co_firstlineno)


def qualified(name: str) -> str:
    """A name as code objects have it: of its own before 3.11."""
    return name if sys.version_info >= (3, 11) else name.rpartition(".")[2]


EXPECTED = [
    (qualified("Model.layer.<locals>.<lambda>"), first_line(Model.layer) + 1),
    (qualified("Model.layer"), first_line(Model.layer) + 2),
    (qualified("Model.forward"), first_line(Model.forward) + 2),
    (qualified("train"), first_line(train) + 1),
]


def of_report(kept: tl.Tensor, mark: int) -> list[tuple[str | None, str | None, int]]:
    """The frames of the only allocation since a mark."""
    (leak,) = tl.leak_report(since=mark, handles=True)
    assert (leak.objects, leak.type) == (1, "tensor")
    return [(frame.function, frame.file, frame.line) for frame in leak.frames]


def here(frames: list[tuple[str | None, str | None, int]]) -> list[Frame]:
    """The frames of this file down to the test's caller."""
    return [(str(name), line) for name, file, line in takewhile(lambda frame: frame[1] == __file__, frames)]


def test_a_leak_report(tracking: None) -> None:
    mark = tl.track_count()
    kept = train()
    frames = of_report(kept, mark)
    assert here(frames)[:-1] == EXPECTED
    assert here(frames)[-1] == ("test_a_leak_report", first_line(test_a_leak_report) + 2)
    assert frames[-1][1] not in (None, __file__), "the frames of the caller follow"
    names = [str(name) for name, _, _ in frames]
    assert not [name for name in names if name.startswith(("_Py", "Py", "ffi", "cfunction", "method_", "fast_", "tl_"))]
    info = tl.allocation_info(kept.address)
    assert (info.file, info.line) == (__file__, EXPECTED[0][1])


def test_samples_have_frames() -> None:
    tl.configure("TL_TRACK_SAMPLE", "1KiB")
    try:
        mark = tl.track_count()
        kept = [train() for _ in range(20)]
        leaks = list(tl.leak_report(since=mark, handles=True))
    finally:
        tl.configure("TL_TRACK_SAMPLE", "0")
    assert sum(leak.objects for leak in leaks) > 10
    for leak in leaks:
        assert [(frame.function, frame.line) for frame in leak.frames][: len(EXPECTED)] == EXPECTED
    del kept


def test_a_profile(tracking: None, tmp_path: Path) -> None:
    with tl.tag("frames"):
        kept = train()
    tl.profile_write(tmp_path / "heap.pb.gz")
    text = pprof(tmp_path / "heap.pb.gz", "-traces", "-lines", "-sample_index=inuse_space", "-tagfocus=tag=frames")
    rows = [line.split() for line in text.splitlines() if f"{Path(__file__).name}:" in line]
    found = [(row[-2], int(row[-1].rpartition(":")[2])) for row in rows]
    assert found[: len(EXPECTED)] == EXPECTED
    assert "<module>" in text, "pprof takes no name for one of C++"
    listed = pprof(tmp_path / "heap.pb.gz", "-list=Model.layer$" if sys.version_info >= (3, 11) else "-list=^layer$")
    assert "return make()" in listed
    del kept


def test_a_trace_and_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with tl.trace(path):
        kept = train()
        tl.dump_memory_snapshot(tmp_path / "snapshot.pickle")
        address = kept.address
    trace = json.loads(path.read_text())
    events = [event for event in trace["traceEvents"] if event.get("args", {}).get("address") == hex(address)]
    number: str | None = str([event["sf"] for event in events if "sf" in event][-1])
    found = []
    while number is not None:
        frame = trace["stackFrames"][number]
        found.append((frame["name"], frame.get("line"), frame.get("file")))
        number = frame.get("parent")
    assert found[: len(EXPECTED)] == [(*frame, __file__) for frame in EXPECTED]

    snapshot = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"] if block["address"] == address]
    frames = [(frame["name"], frame["line"], frame["filename"]) for frame in blocks[0]["frames"]]
    assert frames[: len(EXPECTED)] == [(*frame, __file__) for frame in EXPECTED]


def test_c_code_that_calls_back(tracking: None) -> None:
    """Python, the C library, Python: frames of Python stand together, in the order of the calls."""
    kept: list[tl.Tensor] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def compare(a: int, b: int) -> int:
        kept.append(tl.empty(9))
        return 0

    def sort() -> None:
        ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)

    mark = tl.track_count()
    sort()
    frames = of_report(kept[0], mark)
    name = qualified("test_c_code_that_calls_back.<locals>.{}").format
    assert [f[0] for f in frames[:3]] == [name("compare"), name("sort"), "test_c_code_that_calls_back"]


def test_functions_that_the_interpreter_calls(tracking: None) -> None:
    """sorted() is C code of the interpreter's, which is left out, and calls Python."""
    kept: list[tl.Tensor] = []

    def key(n: int) -> int:
        kept.append(tl.zeros(5))
        return n

    mark = tl.track_count()
    at = sys._getframe().f_lineno + 1
    sorted([1], key=key)
    found = here(of_report(kept[0], mark))
    name = qualified("test_functions_that_the_interpreter_calls.<locals>.key")
    assert found == [(name, first_line(key) + 1), ("test_functions_that_the_interpreter_calls", at)]


def test_generators(tracking: None) -> None:
    def inner() -> Iterator[tl.Tensor]:
        yield tl.empty(7)

    def outer() -> Iterator[tl.Tensor]:
        yield from inner()

    mark = tl.track_count()
    kept = next(outer())
    found = [name.rpartition(".")[2] for name, _ in here(of_report(kept, mark))]
    assert found == ["inner", "outer", "test_generators"]


def test_coroutines(tracking: None) -> None:
    async def inner() -> tl.Tensor:
        await asyncio.sleep(0)
        return tl.empty(7)

    async def outer() -> tl.Tensor:
        return await inner()

    mark = tl.track_count()
    kept = asyncio.run(outer())
    frames = of_report(kept, mark)
    assert [name.rpartition(".")[2] for name, _ in here(frames)] == ["inner", "outer"]
    assert frames[2][0] in ("Handle._run", "_run"), "the event loop called"
    assert "test_coroutines" in [name for name, _, _ in frames]


def test_deep_recursion(tracking: None) -> None:
    def down(n: int) -> tl.Tensor:
        return down(n - 1) if n else train()

    mark = tl.track_count()
    kept = down(300)
    frames = of_report(kept, mark)
    assert len(frames) == 50
    assert [(name, line) for name, _, line in frames[: len(EXPECTED)]] == EXPECTED
    assert {(str(name).rpartition(".")[2], line) for name, _, line in frames[4:]} == {("down", first_line(down) + 1)}


def test_threads(tracking: None) -> None:
    kept: list[tl.Tensor] = []
    mark = tl.track_count()
    thread = threading.Thread(target=lambda: kept.append(train()))
    thread.start()
    thread.join()
    frames = of_report(kept[0], mark)
    assert here(frames)[: len(EXPECTED)] == EXPECTED
    assert str(frames[-1][0]).endswith("_bootstrap")


def test_a_call_without_the_interpreters_lock(tracking: None) -> None:
    """ctypes gives the lock back during a call: such a thread's frames are not read."""
    address = tl.lib.tl_mem_alloc(48)
    info = tl.allocation_info(address)
    assert info.stack and max(info.stack) < 2**56 and info.file is None
    ask = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(("tl_python_site", tl.lib))
    assert tl.lib.tl_python_site(address) is False  # without the lock
    assert tl.allocation_info(address) == info
    at = sys._getframe().f_lineno + 1
    assert ask(address) is True
    assert (tl.allocation_info(address).file, tl.allocation_info(address).line) == (__file__, at)
    assert ask(address) is True  # it has frames: nothing changes
    assert tl.allocation_info(address).line == at
    tl.lib.tl_mem_free(address)
    assert ask(address) is True and ask(None) is True  # nothing is recorded of it


def test_a_thread_that_python_does_not_know(tracking: None) -> None:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "pthread_create"):
        pytest.skip("pthread_create is in another library")
    thread, made = ctypes.c_ulong(), ctypes.c_void_p()
    start = ctypes.cast(tl.lib.tl_mem_alloc, ctypes.c_void_p)
    assert libc.pthread_create(ctypes.byref(thread), None, start, ctypes.c_void_p(48)) == 0
    assert libc.pthread_join(thread, ctypes.byref(made)) == 0
    assert made.value is not None
    info = tl.allocation_info(made.value)
    assert info.stack and max(info.stack) < 2**56 and info.file is None and info.thread != threading.get_native_id()
    tl.lib.tl_mem_free(made.value)


def test_code_objects_may_end(tracking: None) -> None:
    """Others take their place in memory; each has its own line."""
    for above in range(300):
        names: dict[str, Any] = {"tl": tl}
        exec(compile("\n" * above + "def made():\n    return tl.empty(3)", "<written>", "exec"), names)
        tensor = names["made"]()
        info = tl.allocation_info(tensor.address)
        assert (info.file, info.line) == ("<written>", above + 2)


def test_the_collector_does_not_run_meanwhile(tracking: None) -> None:
    """Frame objects are made while a call is recorded, and an object's end may call the library."""

    def down(n: int) -> tl.Tensor:
        return down(n - 1) if n else tl.empty(3)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for n in range(200):
            cycle: list[Any] = [tl.empty(40)]
            cycle.append(cycle)
            down(n % 60)
            del cycle
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)


def test_an_exception_stays(tracking: None) -> None:
    try:
        raise KeyError("kept")
    except KeyError as error:
        tensor = tl.empty(3)
        assert sys.exc_info()[1] is error
    del tensor


def test_another_interpreter(python: Run) -> None:
    """Once there was one, PyGILState_Check says yes to every thread."""
    python("""
        try:
            import _interpreters as interpreters
        except ImportError:
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                raise SystemExit
        import sys
        import threading
        sys.setswitchinterval(1e-5)
        tl.configure("TL_TRACK", "1")
        other = interpreters.create()
        stop = threading.Event()
        def spin():
            while not stop.is_set():
                sum(range(1000))
        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        for _ in range(500):
            address = tl.lib.tl_mem_alloc(32)
            assert tl.allocation_info(address).file is None
            tl.lib.tl_mem_free(address)
            tensor = tl.empty(3)
            assert tl.allocation_info(tensor.address).file.endswith("program.py")
        stop.set()
        thread.join()
    """)


def test_packages_that_are_passed_over(python: Run) -> None:
    """Eight folders can be named; their frames are left out where they are innermost, and stay where they call."""
    python("""
        import importlib.util, os, pathlib, sys
        folder = pathlib.Path(__file__).parent / "package"
        folder.mkdir()
        (folder / "makes.py").write_text("import tl_runtime as tl\\ndef make(): return tl.empty(3)\\n"
                                         "def call(f): return f()\\n")
        sys.path.insert(0, str(folder))
        import makes
        tl.configure("TL_TRACK", "1")
        before = makes.make()
        assert tl.allocation_info(before.address).file == makes.__file__
        assert tl.lib.tl_python_lines(os.fsencode(makes.__file__)) == 0
        after = makes.make()
        assert tl.allocation_info(after.address).file == __file__
        mark = tl.track_count()
        called = makes.call(lambda: makes.make())
        (leak,) = tl.leak_report(since=mark, handles=True)
        assert [frame.function.rpartition(".")[2] for frame in leak.frames] == ["<lambda>", "call", "<module>"]
        for number in range(6):  # the package itself is the first
            for again in range(2):
                assert tl.lib.tl_python_lines(b"/folder %d" % number) == 0
        # covers: tl_python_lines TL_E_LIMIT
        assert tl.lib.tl_python_lines(b"/one too many") == tl.Status.LIMIT
        assert "tl_python_lines" in tl.lib.tl_last_error().decode()
        assert tl.lib.tl_python_lines(b"/folder 1") == 0
    """)


@pytest.mark.parametrize("depth", [3, 5, 8])
def test_callbacks_inside_of_callbacks(tracking: None, depth: int) -> None:
    """Each call from Python to C and back has a dozen frames of the interpreter, which are left out."""
    kept: list[tl.Tensor] = []

    def sort(n: int) -> None:
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: inner(n))
        ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)

    def inner(n: int) -> int:
        if n:
            sort(n - 1)
        else:
            kept.append(tl.empty(9))
        return 0

    mark = tl.track_count()
    sort(depth - 1)
    frames = of_report(kept[0], mark)
    assert [name.rpartition(".")[2] for name, _ in here(frames)[:-1]] == ["inner", "<lambda>", "sort"] * depth


@pytest.mark.parametrize(
    "file, function, shown",
    [
        ("", "made", ("made", "<unknown>")),
        ("f" * 5000, "made", ("made", "f" * 4092 + "...")),
        ("/ä" + "ö" * 3000, "made", ("made", "/ä" + "ö" * 2044 + "...")),
        ("/f.py", "", ("<unknown>", "/f.py")),
        ("/f.py", "g" * 9999, ("g" * 4092 + "...", "/f.py")),
    ],
)
def test_frames_of_strange_names(tracking: None, file: str, function: str, shown: tuple[str, str]) -> None:
    names: dict[str, Any] = {"tl": tl}
    exec(compile("def made():\n    return tl.empty(3)", file, "exec"), names)
    changed = {"co_name": function, **({"co_qualname": function} if sys.version_info >= (3, 11) else {})}
    names["made"].__code__ = names["made"].__code__.replace(**changed)
    mark = tl.track_count()
    kept = names["made"]()
    assert of_report(kept, mark)[0] == (*shown, 2)
