"""The metrics over HTTP, as prometheus_client serves them."""

from __future__ import annotations

import ctypes
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

client = pytest.importorskip("prometheus_client", reason="skip: no prometheus_client")

import tl_runtime as tl
from tl_runtime import _abi
from tl_runtime.prometheus import Collector

ACCEPT = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def registry() -> Any:
    made = client.CollectorRegistry(auto_describe=True)
    Collector(made)
    return made


@pytest.fixture
def served(registry: Any) -> Iterator[str]:
    """The address of a server of the registry, on a port that the system has chosen."""
    server, thread = client.start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(url: str, accept: str = ACCEPT) -> tuple[str, str]:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = parser.text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_a_scrape_is_of_the_moment(served: str) -> None:
    of_tensors = ("tl_objects_live", (("kind", "tensors"),))
    made = ("tl_objects_allocated_total", (("kind", "tensors"),))
    kind, text = fetch(served)
    assert kind.startswith("application/openmetrics-text") and text.endswith("# EOF\n")
    before = values(text)
    kept = [tl.zeros(1000) for _ in range(7)]
    after = values(fetch(served)[1])
    assert after[of_tensors] - before[of_tensors] == 7
    assert after[made] - before[made] == 7
    del kept
    assert values(fetch(served)[1])[of_tensors] == before[of_tensors]


def test_nothing_of_the_text_is_lost(served: str) -> None:
    ours, theirs = values(tl.openmetrics()), values(fetch(served)[1])
    assert set(ours) == set(theirs) and len(ours) > 50


def test_the_older_format_has_the_same_names(served: str) -> None:
    kind, text = fetch(served, "text/plain")
    assert kind.startswith("text/plain")
    assert '\ntl_objects_live{kind="tensors"} ' in text
    assert '\ntl_objects_allocated_total{kind="tensors"} ' in text


def test_it_registers_once_and_by_itself(registry: Any) -> None:
    with pytest.raises(ValueError, match="[Dd]uplicated"):
        Collector(registry)
    alone = Collector(None)
    assert "tl_objects_live" in {family.name for family in alone.collect()}
    mine = Collector()
    try:
        assert b"tl_objects_live" in client.generate_latest()
    finally:
        client.REGISTRY.unregister(mine)
    assert b"tl_objects_live" not in client.generate_latest()


def test_scrapes_while_threads_work(served: str) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            tl.zeros(10)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    scrapes = [values(fetch(served)[1]) for _ in range(5)]
    stop.set()
    for thread in threads:
        thread.join()
    for earlier, later in zip(scrapes, scrapes[1:]):
        assert all(later[key] >= value for key, value in earlier.items() if key[0].endswith("_total"))


def test_a_type_with_any_name_is_served() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    named = {
        b"Bad\xff\xc3(\n\"\\": 'Bad\\xff\\xc3(\n"\\',
        b"\xed\xa0\x80": "\\xed\\xa0\\x80",
        "Gr\u00f6\u00dfe".encode(): "Gr\u00f6\u00dfe",
    }
    numbers = []
    for name in named:
        number = ctypes.c_uint32()
        about = _abi.tl_type_desc(name, 24, (ctypes.c_size_t * 0)(), 0)
        assert tl.lib.tl_type_define(ctypes.byref(about), ctypes.byref(number)) == tl.Status.OK
        numbers.append(number.value)
    with tl.scope():
        for of in numbers:
            assert tl.lib.tl_object_new(of)
        families = list(parser.text_string_to_metric_families(tl.openmetrics()))
    seen = {s.labels["name"] for family in families for s in family.samples if "name" in s.labels}
    assert set(named.values()) <= seen
