"""Statistics from Python: names of PyTorch's, OpenMetrics, and the options with their origin."""

from __future__ import annotations

import re
import tempfile
import threading
from pathlib import Path

import pytest

import tl_runtime as tl
from conftest import Run

MIB = 1 << 20
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "runtime" / "observe" / "openmetrics" / "testdata"


def test_sums_hold_at_rest() -> None:
    tensor = tl.zeros((100, 100), "float32")
    s = tl.statistics()
    for key in ("allocations", "frees", "live", "bytes"):
        assert sum(kind[key] for kind in s["kinds"]) == s["total"][key]
        assert sum(t[key] for t in s["types"]) == s["kinds"][1][key]
    for key in ("live", "bytes"):
        assert sum(c[key] for c in s["classes"]) == s["total"][key]
    assert sum(c["allocations"] for c in s["classes"]) + s["tensor_pool"]["hits"] == s["total"]["allocations"]
    total, *devices = s["devices"]
    for key in ("reserved", "in_use", "cached", "allocated", "freed", "live"):
        assert sum(d[key] for d in devices) == total[key]
    assert s["version"] == 1 and s["total"]["live"] == tl.stats()["live_objects"]
    assert tensor.shape == (100, 100)


def test_memory_stats_have_the_names_of_pytorch() -> None:
    before = tl.memory_stats("cpu")  # the sum of all has what pools over allocators of the tests' own gave out, too
    tensor = tl.empty((4 * MIB,), "uint8")
    during = tl.memory_stats("cpu")
    assert during["allocated_bytes.all.current"] - before["allocated_bytes.all.current"] >= 4 * MIB
    assert during["allocated_bytes.all.allocated"] - before["allocated_bytes.all.allocated"] >= 4 * MIB
    del tensor
    for m in (before, during, tl.memory_stats(), tl.memory_stats(0), tl.memory_stats("own")):
        for name in ("allocated_bytes.all", "allocation.all", "reserved_bytes.all"):
            assert m[f"{name}.allocated"] - m[f"{name}.freed"] == m[f"{name}.current"] >= 0
        for name in ("allocated_bytes.all", "reserved_bytes.all"):
            assert m[f"{name}.peak"] >= m[f"{name}.current"]
        assert m["num_ooms"] <= m["num_alloc_retries"]
    assert tl.memory_stats("own")["reserved_bytes.all.current"] == 0
    with pytest.raises(tl.DeviceError):
        tl.memory_stats(77)


def test_peaks_are_reset() -> None:
    tensor = tl.empty((16 * MIB,), "uint8")
    del tensor
    tl.purge()
    assert tl.memory_stats()["allocated_bytes.all.peak"] >= 16 * MIB
    tl.reset_peak_memory_stats()
    assert tl.memory_stats()["allocated_bytes.all.peak"] < 16 * MIB
    assert tl.memory_stats()["reserved_bytes.all.peak"] == tl.memory_stats()["reserved_bytes.all.current"]


def test_the_summary_is_a_table() -> None:
    lines = tl.memory_summary("cpu").splitlines()
    assert lines[0].split() == ["memory", "of", "cpu", "current", "peak", "allocated", "freed"]
    assert {len(line) for line in lines[:3]} == {len(lines[0])}
    assert lines[-1].startswith("requests that failed")


def test_openmetrics_has_the_known_families() -> None:
    if not GOLDEN.is_dir():
        pytest.skip("skip: no checkout")

    def families(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("#")]

    assert families(tl.openmetrics()) == families((GOLDEN / "metrics.txt").read_text())


def test_openmetrics_is_read_by_others() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="skip: no prometheus_client")
    texts = [tl.openmetrics()]
    if GOLDEN.is_dir():
        texts.append((GOLDEN / "metrics.txt").read_text())
    for text in texts:
        families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        assert families["tl_objects_live_bytes"].unit == "bytes"
        assert families["tl_objects_allocated"].type == "counter"
        kinds = {sample.labels["kind"] for sample in families["tl_objects_live"].samples}
        assert kinds >= {"objects", "typed", "vecs", "tensors", "sparse", "foreign", "pool_blocks"}
        live = sum(s.value for s in families["tl_class_live"].samples)
        assert live == sum(
            s.value for s in families["tl_objects_live"].samples if s.labels["kind"] not in ("foreign", "pool_blocks")
        )


def test_counters_never_fall() -> None:
    from tl_runtime._observe.stats import Rising

    counters = Rising()
    first = 'a_total{name="b c"} 5\na{name="b c"} 5\n# EOF\n'
    assert counters.hold(first) == first
    assert counters.hold(first.replace("5", "3")) == 'a_total{name="b c"} 5\na{name="b c"} 3\n# EOF\n'
    assert counters.hold(first.replace("5", "7")) == first.replace("5", "7")

    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            tensors = [tl.zeros((n, 16), "float32") for n in range(1, 30)]
            del tensors
            tl.purge()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        told: dict[str, int] = {}
        for _ in range(100):
            for line in tl.openmetrics().splitlines():
                series, _, value = line.rpartition(" ")
                if not line.startswith("#") and "_total" in series:
                    assert int(value) >= told.get(series, 0), line
                    told[series] = int(value)
    finally:
        stop.set()
        thread.join()


def test_live_is_never_negative_while_threads_work() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            tensors = [tl.zeros((n, 16), "float32") for n in range(1, 30)]
            del tensors

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            s = tl.statistics()
            assert s["total"]["allocations"] - s["total"]["frees"] == s["total"]["live"] < 1 << 30
            assert sum(kind["live"] for kind in s["kinds"]) == s["total"]["live"]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_the_table_goes_into_a_file(tmp_path: Path) -> None:
    tl.print_stats(str(tmp_path / "stats.txt"))
    assert (tmp_path / "stats.txt").read_text().startswith("tl_runtime: statistics\n")
    with pytest.raises(tl.InvalidArgumentError, match="no such file"):
        tl.print_stats(str(tmp_path / "no" / "stats.txt"))


def test_the_end_of_the_process_is_told(python: Run) -> None:
    told = python("kept = tl.zeros((8,))", ok=False, TL_SHOW_STATS="1").stderr
    assert told.count("tl_runtime: statistics\n") == 1
    told = python("tl.configure('TL_SHOW_STATS', '1'); tl.stats()", ok=False).stderr
    assert told.count("tl_runtime: statistics\n") == 1


# ---- options ----------------------------------------------------------------------------

# A value of each option that is not its default.
FOLDER = tempfile.TemporaryDirectory()

VALUES = {
    "TL_FASTPATH": "0",
    "TL_HEAP_RESERVE": "8GiB",
    "TL_ARENA_BYTES": "64MiB",
    "TL_REGISTRY_SHARDS": "128",
    "TL_ON_ERROR": "log",
    "TL_MEM_LOG": "1",
    "TL_DEVICE": "own:0",
    "TL_HUGE_PAGES": "1",
    "TL_CUDA_LIBRARY": "/no/libcuda.so",
    "TL_OPENCL_LIBRARY": "/no/libOpenCL.so",
    "TL_MEM_LIMIT": "8GiB,cpu=4GiB",
    "TL_MEM_SOFT_LIMIT": "1GiB",
    "TL_TENSOR_POOL": "4,1MiB",
    "TL_FAIL_MEMORY": "1000000",
    "TL_SHOW_STATS": "off",
    "TL_POOL_DEBUG": "no",
    "TL_TRACK": "1",
    "TL_TRACK_SAMPLE": "512K",
    "TL_TRACE": f"{FOLDER.name}/trace-%p.json",
    "TL_TRACE_BYTES": "2GiB",
    "TL_LEAK_CHECK": "report",
    "TL_DEBUG": "true",
    "TL_QUARANTINE": "1MiB",
}


def documented() -> set[str]:
    page = ROOT / "docs" / "options.md"
    if not page.is_file():
        pytest.skip("skip: no checkout with docs/options.md")
    return set(re.findall(r"^\| `(TL_\w+)` \|", page.read_text(), re.MULTILINE))


def test_every_option_is_documented() -> None:
    assert set(tl.config()) == documented()
    assert set(VALUES) | {"TL_START"} == set(tl.config())  # that one is read when the library is loaded


@pytest.mark.parametrize("name", sorted(VALUES))
def test_an_option_is_read_from_the_environment_and_from_a_call(name: str, python: Run) -> None:
    """Set in os.environ of a process that runs already, and by tl_configure before the first use."""
    value = VALUES[name]
    told = f"assert tl.config()[{name!r}] == ({value!r}, {{source!r}}), tl.config()[{name!r}]"
    code = f"import os; os.environ[{name!r}] = {value!r}\n{told.format(source='environment')}"
    python(code, TL_TEST_NOT_AN_OPTION="1")
    code = f"""
        try:
            tl.configure({name!r}, "\\x01 no value")
        except tl.InvalidArgumentError:
            pass
        else:
            assert {name.endswith("_LIBRARY") or name == "TL_TRACE"}  # any text will do
        tl.configure({name!r}, {value!r})
        {told.format(source="tl_configure")}
        """
    python(code)


def test_strings_are_passed_whole_or_not_at_all(tmp_path: Path) -> None:
    for call in (
        lambda: tl.configure("TL_TRACK", "0\0 and more"),
        lambda: tl.configure("TL_TRACK\0", "0"),
        lambda: tl.tag("a\0b").__enter__(),
        lambda: tl.print_stats("\0"),
        lambda: tl.leak_report("\0"),
        lambda: tl.profile_write("\0"),
        lambda: tl.trace("\0").__enter__(),
        lambda: tl.trace_mark("\0"),
        lambda: tl.dump_memory_snapshot("\0"),
    ):
        with pytest.raises(ValueError, match="null"):
            call()
    tl.print_stats(tmp_path / "stats.txt")
    assert (tmp_path / "stats.txt").is_file()


def test_settings_that_are_not_understood_are_told_once(python: Run) -> None:
    code = """
        from tl_runtime._binding.library import lib
        tl.zeros((3,))
        assert lib.tl_init() == tl.Status.INVALID_ARGUMENT
        print(lib.tl_last_error().decode())
        """
    result = python(code, ok=False, TL_FASTPATHS="0", TL_HUGE_PAGES="perhaps", TL_SOMETHING_ELSE="1")
    assert result.returncode == 0
    assert sorted(result.stderr.splitlines()) == [
        "tl_runtime: TL_FASTPATHS is no option; did you mean TL_FASTPATH?",
        'tl_runtime: TL_HUGE_PAGES="perhaps": not one of 0, 1, auto; it stays "auto"',
    ]
    assert "did you mean TL_FASTPATH?" in result.stdout and "not one of 0, 1, auto" in result.stdout
