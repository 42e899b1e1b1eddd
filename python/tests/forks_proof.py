"""Children of multiprocessing under its three start methods, from a parent that is busy.

Part of the proof suite (tools/prove): prints what it tried, and ends with 1 when something failed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from typing import Any

import tl_runtime as tl

PATIENCE = 60  # seconds that a child may take
CHILDREN = {"fork": 2000, "spawn": 100, "forkserver": 400}


def use() -> None:
    with tl.scope():
        for size in (16, 64, 4096):
            tl.Object.new(size)
        tensor = tl.zeros((3, 5), "float32")
        assert tensor.clone().refcount == 1
    try:
        tl.Object(0x1001).release()
    except tl.Error:
        return
    raise AssertionError("a bad pointer was accepted")


def forked(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except tl.ForkedError as error:
        assert error.status == tl.Status.FORKED
        return
    raise AssertionError(f"{call} works in a child of fork()")


def in_fork(kept: tl.Object) -> None:
    """What docs/threads-and-fork.md lists."""
    signal.alarm(PATIENCE)
    forked(tl.stats)
    forked(tl.purge)
    forked(tl.Object.alloc, 1 << 22)
    if os.environ.get("TL_FASTPATH") != "0":
        assert kept.refcount == 1
        with tl.scope():
            pass


def in_new_process(_: object) -> None:
    signal.alarm(PATIENCE)
    for _ in range(20):
        use()
    tl.purge()
    assert tl.stats()["live_bytes"] == 0


def run(method: str, count: int, kept: tl.Object) -> int:
    """Returns how many children failed."""
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload([])  # the server itself does not load the library
    failed = 0
    for i in range(count):
        if method == "fork":
            child: Any = context.Process(target=in_fork, args=(kept,))
        else:
            child = context.Process(target=in_new_process, args=(i,))
        child.start()
        child.join(PATIENCE + 10)
        if child.exitcode != 0:
            print(f"failed: {method}, child {i}: exit code {child.exitcode}", flush=True)
            child.kill()
            failed += 1
    return failed


def repeatedly(stop: threading.Event) -> None:
    while not stop.is_set():
        use()


def main() -> int:
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
    scale = float(os.environ.get("PROVE_SCALE", "0.01"))
    stop = threading.Event()
    thread = threading.Thread(target=repeatedly, args=(stop,))
    thread.start()
    kept = tl.Object.alloc(64)
    failed = 0
    for method, whole in CHILDREN.items():
        count = max(int(whole * scale), 2)
        bad = run(method, count, kept)
        print(f"proof: {count} children by {method} in Python tried, {bad} failed", flush=True)
        failed += bad
    stop.set()
    thread.join()
    kept.release()
    tl.purge()
    live = tl.stats()["live_bytes"]
    print(f"{live} bytes live at the end")
    return int(failed != 0 or live != 0)


if __name__ == "__main__":
    sys.exit(main())
