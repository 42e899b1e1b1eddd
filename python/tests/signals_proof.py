"""Python's signal handlers, its faulthandler and its profilers while calls are made.

Part of the proof suite (tools/prove): prints what it tried, and ends with 1 when something failed.
"""

import faulthandler
import os
import signal
import sys
import threading
import time

import tl_runtime as tl

delivered = {"alarm": 0, "profiler": 0}


def count(name: str) -> None:
    delivered[name] += 1


def calls() -> None:
    with tl.scope():
        for _ in range(20):
            tl.zeros((3, 5), "float32")
            try:
                tl.Object(0x1001).release()
            except tl.Error:
                continue
            raise AssertionError("a bad pointer was accepted")


def repeatedly(stop: threading.Event) -> None:
    while not stop.is_set():
        calls()


def main() -> int:
    scale = float(os.environ.get("PROVE_SCALE", "0.01"))
    wanted = max(int(50_000 * scale), 100)
    faulthandler.enable()
    faulthandler.dump_traceback_later(3600)
    signal.signal(signal.SIGALRM, lambda *_: count("alarm"))
    signal.signal(signal.SIGPROF, lambda *_: count("profiler"))
    stop = threading.Event()
    thread = threading.Thread(target=repeatedly, args=(stop,))
    thread.start()
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    signal.setitimer(signal.ITIMER_PROF, 1e-4, 1e-4)
    end = time.monotonic() + 600
    while delivered["alarm"] < wanted and time.monotonic() < end:
        calls()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    stop.set()
    thread.join()
    faulthandler.cancel_dump_traceback_later()
    faulthandler.disable()
    calls()
    live = tl.stats()["live_bytes"]
    failed = int(delivered["alarm"] < wanted) + int(live != 0)
    detail = f"{delivered['profiler']} of them by a profiler's timer, faulthandler on, {live} bytes live at the end"
    print(f"proof: {sum(delivered.values())} deliveries in Python tried, {failed} failed: {detail}")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
