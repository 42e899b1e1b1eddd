"""os.fork: the child goes on with what needs no second thread, and is told about the rest."""

from __future__ import annotations

import os
import sys

import pytest

from conftest import Run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

# In the child a failure becomes an exit status, and a hang an alarm.
PROLOGUE = """
import gc, os, signal, sys, traceback
def child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status
def forked(call, *arguments):
    try:
        call(*arguments)
    except tl.ForkedError as error:
        assert error.status == tl.Status.FORKED and str(error)
    else:
        raise AssertionError("no ForkedError")
"""


def run(python: Run, code: str, *options: str) -> None:
    python(PROLOGUE + code, *options)


def test_slow_calls_raise(python: Run) -> None:
    run(
        python,
        """
tl.zeros((3, 4))
def work():
    forked(tl.stats)
    forked(tl.purge)
    forked(tl.configure, "TL_ON_ERROR", "ignore")
    forked(tl.zeros, (100, 100))
    forked(tl.Object.alloc, 1 << 22)
for _ in range(5):
    child(work)
tl.stats()
""",
    )


def test_fork_before_the_first_use(python: Run) -> None:
    """An import starts nothing, and neither does a fork: children can do everything, and so can their parent."""
    run(
        python,
        """
def use():
    tl.stats()
    assert tl.zeros((3, 4)).T.clone().shape == (4, 3)
    tl.Object.alloc(1 << 22)
    child(lambda: forked(tl.stats))
def work():
    assert not tl.lib.tl_is_started()
    child(use)
    assert not tl.lib.tl_is_started()
    use()
for _ in range(5):
    child(work)
work()
""",
    )


@pytest.mark.parametrize("start, works", [("load", False), ("first-use", True), ("auto", True)])
def test_the_start_can_be_chosen(python: Run, monkeypatch: pytest.MonkeyPatch, start: str, works: bool) -> None:
    monkeypatch.setenv("TL_START", start)
    run(
        python,
        f"""
assert tl.lib.tl_is_started() is not {works}
child(tl.stats if {works} else lambda: forked(tl.stats))
assert ("TL_START", "{start}") in [(name, value) for name, (value, source) in tl.config().items()]
""",
    )


@pytest.mark.parametrize("attempt", range(5))
def test_fork_while_a_thread_begins(python: Run, attempt: int) -> None:
    """The very first call of the process is under way in another thread: a child has all of the library or is told."""
    run(
        python,
        """
import threading
def work():
    try:
        tl.stats()
    except tl.ForkedError:
        forked(tl.purge)
thread = threading.Thread(target=tl.zeros, args=(3,))
thread.start()
for _ in range(20):
    child(work)
thread.join()
""",
    )


def test_inherited_memory_stays_usable(python: Run) -> None:
    pytest.importorskip("numpy")
    run(
        python,
        """
array = tl.zeros(1000).numpy()
array[:] = 2
keep = [array, tl.zeros(5)]
def work():
    assert array.sum() == 2000
    array[:] = 3
    assert array.sum() == 3000
    keep.clear()
    gc.collect()
child(work)
assert array.sum() == 2000
""",
    )


def test_exit_of_a_child_through_the_interpreter(python: Run) -> None:
    """A child that ends as programs do, with destructors and exit handlers."""
    run(
        python,
        """
tensor = tl.zeros(10)
tl.lib.tl_mem_enter_scope()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
tl.lib.tl_mem_exit_scope()
""",
    )


@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")], ids=["plain", "faulthandler"])
def test_fork_while_threads_work(python: Run, options: tuple[str, ...]) -> None:
    run(
        python,
        """
import threading
def busy():
    while True:
        with tl.scope():
            for size in (16, 64, 4096): tl.Object.new(size)
            tl.zeros(100)
tl.zeros(3)
for _ in range(3): threading.Thread(target=busy, daemon=True).start()
def work():
    forked(tl.stats)
    tl.Object(4096).status
for _ in range(30): child(work)
""",
        *options,
    )


def test_multiprocessing_by_spawn(python: Run) -> None:
    run(
        python,
        """
import subprocess
tl.zeros(3)
code = "import tl_runtime as tl; assert tl.zeros(3).refcount == 1"
subprocess.run([sys.executable, "-c", code], check=True)
""",
    )
    assert sys.executable


@pytest.mark.parametrize("preload", ["", "tl_runtime"])
def test_multiprocessing_by_forkserver(python: Run, preload: str) -> None:
    """Children are made by a server, which does not use what it imports."""
    run(
        python,
        f"""
def work(): tl.stats()
if __name__ == "__main__":
    import multiprocessing
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload({preload.split()})
    tl.zeros(3)
    child = context.Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0, child.exitcode
""",
    )


def test_multiprocessing_by_fork(python: Run) -> None:
    """Workers of a pool that was made before the first use."""
    run(
        python,
        """
import multiprocessing
def work(n): return tl.zeros(n).T.clone().shape[0] * 2.0
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert pool.map(work, [1, 2, 3]) == [2.0, 4.0, 6.0]
""",
    )


def test_a_variable_of_go_that_go_refuses(python: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMEMLIMIT", "4G")
    python(
        """
try:
    tl.zeros(3)
except tl.InvalidArgumentError as error:
    assert "GOMEMLIMIT of the environment" in str(error), error
else:
    raise AssertionError("no error")
"""
    )
