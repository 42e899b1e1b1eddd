"""Profiles, traces and snapshots, read by what they are made for."""

from __future__ import annotations

import gzip
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run
from tl_runtime.testing import no_leaks


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
    top = pprof(path, "-top", "-lines", "-unit=B", "-sample_index=inuse_space", "-tagfocus=tag=load")
    row = next(row for row in top.splitlines() if f"test_profiles.py:{at}" in row)
    assert int(row.split()[0].removesuffix("B")) == sum(t.numpy().nbytes for t in tensors) == 3 * 40_000
    counts = pprof(path, "-top", "-lines", "-sample_index=inuse_objects", "-tagfocus=tag=load", "-tagfocus=type=tensor")
    assert next(row for row in counts.splitlines() if f"test_profiles.py:{at}" in row).split()[0] == "3"


def test_a_profile_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(tl.InvalidArgumentError, match="no/such"):
        tl.profile_write(tmp_path / "no" / "such")


def test_a_block_is_profiled(tmp_path: Path) -> None:
    path, sampled = tmp_path / "heap.pb.gz", tmp_path / "sampled.pb.gz"
    with tl.profile(path):
        kept, at = [tl.zeros((50, 50)) for _ in range(4)], line()
    assert tl.config()["TL_TRACK"][0] == "0"
    after, later = tl.zeros((50, 50)), line()
    top = pprof(path, "-top", "-lines", "-unit=B", "-sample_index=inuse_space")
    row = next(row for row in top.splitlines() if f"test_profiles.py:{at}" in row)
    assert int(row.split()[0].removesuffix("B")) == 4 * 10_000
    assert f"test_profiles.py:{later}" not in top
    with pytest.raises(ValueError, match="in the block"), tl.profile(sampled, sample=1):
        raise ValueError("in the block")
    assert sampled.exists() and tl.config()["TL_TRACK_SAMPLE"][0] == "0"
    with pytest.raises(tl.InvalidArgumentError, match="no/such"), tl.profile(tmp_path / "no" / "such"):
        pass
    assert tl.config()["TL_TRACK"][0] == "0"
    del kept, after


def test_profiles_that_overlap_put_back_what_was(tmp_path: Path) -> None:
    path = tmp_path / "heap.pb.gz"

    @tl.profile(path)
    def down(n: int) -> None:
        assert tl.config()["TL_TRACK"][0] == "1"
        if n:
            down(n - 1)

    down(3)
    assert tl.config()["TL_TRACK"][0] == "0"
    with no_leaks():
        with tl.profile(path):
            pass
        assert tl.config()["TL_TRACK"][0] == "1"
    assert tl.config()["TL_TRACK"][0] == "0"


PHASES = {"B", "E", "b", "e", "i", "C", "M"}


def check_format(trace: dict[str, Any]) -> None:
    """Holds a trace to the trace event format, as Chrome and Perfetto read it."""
    assert isinstance(trace["traceEvents"], list) and trace["displayTimeUnit"] in ("ms", "ns")
    frames = trace["stackFrames"]
    for frame in frames.values():
        assert frame["name"] and (frame.get("parent") in frames or "parent" not in frame)
    last: float = 0
    open_scopes: dict[int, list[str]] = {}
    open_tags: set[int] = set()
    for event in trace["traceEvents"]:
        phase = event["ph"]
        assert phase in PHASES and event["name"] and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if phase == "M":
            if event["name"] == "stack":
                assert str(event["args"]["site"]) in frames
                assert all(f.get("name") or f["module"] and int(f["offset"], 16) for f in event["args"]["frames"])
                continue
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            continue
        assert event["ts"] >= last, "times go forward"
        last = event["ts"]
        if phase == "C":
            assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
        elif phase == "i":
            assert event["s"] in ("t", "p", "g")
            assert "sf" not in event or str(event["sf"]) in frames
        elif phase == "B":
            open_scopes.setdefault(event["tid"], []).append(event["name"])
        elif phase == "E":
            assert open_scopes[event["tid"]].pop() == event["name"]
        elif phase == "b":
            assert event["cat"] and event["id"] not in open_tags
            open_tags.add(event["id"])
        else:
            open_tags.remove(event["id"])
    assert not any(open_scopes.values()) and not open_tags


def work() -> None:
    for _ in range(20):
        with tl.scope():
            tl.zeros((16, 16))
            tl.Object.alloc(100).free()


def test_a_trace_is_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    kept, told = [], {}
    with tl.trace(path), tl.scope(), tl.tag("epoch"):
        for step in range(5):
            kept.append(tl.zeros(1000 * (step + 1)))
            tl.trace_mark(f"step {step}")
            told[f"step {step}"] = tl.stats()
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        kept.clear()
    trace = json.loads(path.read_text())
    check_format(trace)
    events = trace["traceEvents"]
    assert trace["otherData"]["dropped"] == 0 and trace["otherData"]["complete"] is True
    for mark, stats in told.items():
        at = next(i for i, event in enumerate(events) if event["name"] == mark)
        counters = {e["name"]: e["args"]["value"] for e in events[at + 1 : at + 7] if e["ph"] == "C"}
        assert counters["live bytes"] == stats["live_bytes"]
        assert counters["live objects"] == stats["live_objects"]
        assert counters["registered blocks"] == stats["foreign_live"]
        assert counters["kept tensors bytes"] == stats["pooled_bytes"]
        assert counters["heap committed bytes"] == stats["committed_bytes"]
    assert len({e["tid"] for e in events if e["ph"] == "B"}) == 2
    assert any(e.get("args", {}).get("tag") == "epoch" for e in events if e["ph"] == "i")
    assert [e["name"] for e in events if e["ph"] == "b"] == ["epoch"]


def test_every_release_of_a_trace_has_its_allocation(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    before = tl.zeros(10)
    with tl.trace(path):
        work()
        tensor, at = tl.empty(4321), line()
        del before
    live: dict[str, Any] = {}
    sites = {}
    trace = json.loads(path.read_text())
    for event in trace["traceEvents"]:
        key = event.get("args", {}).get("address")
        if event["name"] == "alloc":
            assert key not in live
            live[key] = event
            sites[key] = event.get("sf", 0)  # none of what was there before
        elif event["name"] == "site":
            sites[key] = event["sf"]  # of a call by ctypes
        elif event["name"] == "free":
            assert live.pop(key)["args"]["bytes"] == event["args"]["bytes"]
    address = hex(tensor.address)
    assert live[address]["args"]["type"] == "tensor"
    frame = trace["stackFrames"][str(sites[address])]
    name = "test_every_release_of_a_trace_has_its_allocation"
    assert (frame["name"], frame["line"], frame["file"]) == (name, at, __file__)
    assert sum(e["args"].get("before", 0) for e in trace["traceEvents"] if e["name"] == "alloc") >= 1


def test_one_trace_at_a_time(tmp_path: Path) -> None:
    with tl.trace(tmp_path / "a.json"):
        with pytest.raises(tl.BusyError), tl.trace(tmp_path / "b.json"):
            pass
    with pytest.raises(tl.InvalidArgumentError):
        tl.trace(tmp_path / "no" / "such").__enter__()
    with pytest.raises(tl.InvalidArgumentError):
        tl.trace_mark("")


def test_a_process_that_ends_completes_its_trace(tmp_path: Path, python: Run) -> None:
    path = tmp_path / "trace.json"
    python(f"""
        tl.trace({str(path)!r}).__enter__()
        scope = tl.scope()
        scope.__enter__()
        tensors = [tl.zeros(n) for n in range(100)]
    """)
    trace = json.loads(path.read_text())
    check_format(trace)
    assert trace["otherData"]["complete"] is True


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_a_pool_share_a_name(tmp_path: Path, python: Run, method: str) -> None:
    """TL_TRACE is inherited: the first process keeps the file, and those that start anew have one each beside it."""
    path = tmp_path / "trace.json"
    python(
        f"""
        import multiprocessing

        def work(n):
            import tl_runtime as tl
            if {method!r} == "fork":  # a forked child traces nothing
                return None
            for _ in range(500):
                tl.zeros(n)
            import os
            return os.getpid()

        if __name__ == "__main__":
            for _ in range(1000):
                tl.zeros(10)
            with multiprocessing.get_context({method!r}).Pool(2, work, (1,)) as pool:
                for _ in range(10):
                    pool.map(work, range(1, 5))
                    for _ in range(300):
                        tl.zeros(10)
                pool.close()
                pool.join()
        """,
        TL_TRACE=str(path),
    )
    files = sorted(tmp_path.glob("*.json"))
    traces = {file: json.loads(file.read_text()) for file in files}
    parent = traces.pop(path)
    check_format(parent)
    assert parent["otherData"]["complete"] is True
    made = sum(event["name"] == "alloc" for event in parent["traceEvents"])
    assert made >= 4000 if method == "fork" else made == 4000  # a fork leaves headers of tensors to the child
    writers = {parent["traceEvents"][0]["pid"]}
    for file, trace in traces.items():
        (writer,) = {event["pid"] for event in trace["traceEvents"]}
        assert file.name == f"trace-{writer}.json"
        writers.add(writer)
    assert len(writers) == len(files) == (1 if method == "fork" else 3)


def annotate(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Joins the two events of a release, as the page does."""
    joined: list[dict[str, Any]] = []
    for event in events:
        if event["action"] == "free_completed" and joined[-1]["action"] == "free_requested":
            assert joined[-1]["addr"] == event["addr"]
            joined[-1]["action"] = "free"
        else:
            joined.append(dict(event))
    return joined


def replay_backwards(snapshot: dict[str, Any], device: int) -> int:
    """Undoes the events one by one, as the page does; every live block has to lie in a segment. Returns the steps."""
    segments = {s["address"]: s["total_size"] for s in snapshot["segments"] if s["device"] == device}
    blocks = {
        b["address"]: b["size"]
        for s in snapshot["segments"]
        if s["device"] == device
        for b in s["blocks"]
        if b["state"] != "inactive"
    }

    def inside(address: int) -> bool:
        return any(start <= address < start + size for start, size in segments.items())

    assert all(inside(address) for address in blocks)
    events = annotate(snapshot["device_traces"][device])
    for event in reversed(events):
        match event["action"]:
            case "alloc":
                del blocks[event["addr"]]
            case "free":
                assert event["addr"] not in blocks and inside(event["addr"])
                blocks[event["addr"]] = event["size"]
            case "segment_alloc":
                del segments[event["addr"]]
            case "segment_free":
                assert event["addr"] not in segments
                segments[event["addr"]] = event["size"]
            case other:
                pytest.fail(f"an action that the page does not know: {other}")
    assert all(inside(address) for address in blocks)
    return len(events)


def check_segments(snapshot: dict[str, Any]) -> None:
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
    last = (-1, 0)
    for segment in snapshot["segments"]:
        assert (segment["device"], segment["address"]) >= last
        last = (segment["device"], segment["address"] + segment["total_size"])
        at, allocated, requested = segment["address"], 0, 0
        for block in segment["blocks"]:
            assert block["address"] == at and block["state"] in ("active_allocated", "active_pending_free", "inactive")
            assert 0 <= block["requested_size"] <= block["size"]
            assert all(set(frame) == {"name", "filename", "line"} for frame in block["frames"])
            at += block["size"]
            if block["state"] != "inactive":
                allocated += block["size"]
                requested += block["requested_size"]
        assert at == segment["address"] + segment["total_size"]
        assert (allocated, requested) == (segment["allocated_size"], segment["requested_size"])
        assert segment["stream"] == 0 and segment["device"] < len(snapshot["device_traces"])


def test_a_snapshot_of_pytorch(tmp_path: Path) -> None:
    with tl.trace(tmp_path / "trace.json"):
        work()
        tensor, at = tl.zeros((50, 50)), line()
        array = tl.registry.empty(1000)
        large = tl.Object.alloc(1 << 20)
        for _ in range(2000):
            tl.Object.alloc(64).free()
        snapshot = tl.memory_snapshot()
    check_segments(snapshot)
    assert replay_backwards(snapshot, 0) > 4000
    blocks = {b["address"]: b for s in snapshot["segments"] for b in s["blocks"]}
    block = blocks[tensor.address]
    assert block["state"] == "active_allocated"
    assert block["frames"][0] == {"name": "test_a_snapshot_of_pytorch", "filename": __file__, "line": at}
    assert block["requested_size"] == 10_000
    assert blocks[array.__array_interface__["data"][0]]["requested_size"] == 8000
    assert blocks[large.address]["size"] >= 1 << 20
    large.free()


def test_a_snapshot_without_a_trace() -> None:
    tensor = tl.zeros(1000)
    snapshot = tl.memory_snapshot()
    check_segments(snapshot)
    assert any(b["address"] == tensor.address for s in snapshot["segments"] for b in s["blocks"])


def memory_viz() -> Any:
    """PyTorch's reader of snapshots: the file that $TL_MEMORY_VIZ names, or that of the PyTorch that is installed."""
    if path := os.environ.get("TL_MEMORY_VIZ"):
        spec = importlib.util.spec_from_file_location("memory_viz", path)
        assert spec is not None and spec.loader is not None
        viz = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(viz)
        return viz
    return pytest.importorskip("torch.cuda._memory_viz")


def test_pytorchs_own_reader(tmp_path: Path) -> None:
    viz = memory_viz()
    if not hasattr(viz, "segsum"):
        pytest.skip("this PyTorch is older than snapshots are: 2.1 is needed")
    with tl.trace(tmp_path / "trace.json"):
        work()
        snapshot = tl.memory_snapshot()
    assert "segments: " in viz.segsum(snapshot)
    events = sum(len(device) for device in snapshot["device_traces"])
    told = viz.trace(snapshot)
    assert f"{events} entries" in told and "free completed for" in told
    for plot_segments in (False, True):
        assert "MemoryViz.js" in viz.trace_plot(snapshot, plot_segments=plot_segments)
