"""Tensors and sparse matrices between processes, by every start method of multiprocessing."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from conftest import Run

# On the slow path a child of fork() can make nothing.
METHODS = [
    method
    for method in multiprocessing.get_all_start_methods()
    if method != "fork" or os.environ.get("TL_FASTPATH") != "0"
]
AFRESH = [method for method in METHODS if method != "fork"]  # whose children have memory of their own to give out

PROLOGUE = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads

def filled(shape):
    tensor = tl.zeros(shape, "int32")
    memoryview(tensor.__buffer__(0)).cast("B").cast("i")[:] = memoryview(
        bytes(number % 7 for number in range(tensor.nbytes))).cast("i")
    return tensor

def content(tensor):
    return bytes(tensor.clone().__buffer__(0))

def double(tensor):
    flat = tensor.__buffer__(0).cast("B").cast("i")  # what was received is the receiver's
    for at in range(len(flat)):
        flat[at] *= 2
    return tensor

def main(work, ends_with_nothing=True):
    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else METHOD)
        if METHOD == "forkserver":
            context.set_forkserver_preload([])
        work(context)
        assert not ends_with_nothing or tl.stats()["tensors_live"] == 0, tl.stats()["tensors_live"]
"""


def run(python: Run, method: str, code: str) -> None:
    python(f"METHOD = {method!r}\n{PROLOGUE}\n{code}")


@pytest.mark.parametrize("method", METHODS)
def test_pool(python: Run, method: str) -> None:
    """Arguments go to the workers, results come back, of sizes that a child of fork() could not allocate."""
    run(
        python,
        method,
        """
def work(context):
    with context.Pool(2) as pool:
        for shape in ((3,), (64, 64), (500, 500)):
            given = [filled(shape) for _ in range(4)]
            for tensor, doubled in zip(given, pool.map(double, given)):
                assert doubled.shape == shape
                once, twice = (memoryview(content(t)).cast("i").tolist() for t in (tensor, doubled))
                assert twice == [2 * n for n in once]
        pool.close()
        pool.join()
    del given, tensor, doubled
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_queues_and_pipes(python: Run, method: str) -> None:
    run(
        python,
        method,
        """
def echo(queue, answers, pipe):
    for received in iter(queue.get, None):
        base, view = received
        assert view.base.address == base.address
        answers.put((view, base))
    pipe.send(pipe.recv())
    pipe.send_bytes(bytes(pipe.recv().__buffer__(0)))

def work(context):
    queue, answers = context.Queue(), context.SimpleQueue()
    here, there = context.Pipe()
    child = context.Process(target=echo, args=(queue, answers, there))
    child.start()
    base = filled((20, 30))
    for _ in range(30):
        queue.put((base, base.T[2:5]))
        view, again = answers.get()
        assert view.base.address == again.address and view.strides == base.T[2:5].strides
        assert content(again) == content(base) and content(view) == content(base.T[2:5])
    queue.put(None)
    here.send({"one": base})
    assert content(here.recv()["one"]) == content(base)
    here.send(base)
    assert here.recv_bytes() == content(base)
    child.join(60)
    assert child.exitcode == 0, child.exitcode
    queue.close()
    queue.join_thread()
    del base, view, again
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_arguments_of_a_process(python: Run, method: str) -> None:
    """fork inherits the memory itself; spawn and forkserver send it."""
    run(
        python,
        method,
        """
def child(given, wanted, answers):
    base, view = given
    assert bytes(base.__buffer__(0)) == wanted
    answers.send(view)

def work(context):
    tensor = filled((100, 100))
    here, there = context.Pipe()
    process = context.Process(target=child, args=((tensor, tensor[1:]), content(tensor), there))
    process.start()
    assert content(here.recv()) == content(tensor[1:])
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    del tensor, process
    import gc
    gc.collect()
main(work)
""",
    )


@pytest.mark.parametrize("method", AFRESH)
def test_sparse_matrices(python: Run, method: str) -> None:
    pytest.importorskip("scipy")
    run(
        python,
        method,
        """
def transposed(matrix):
    return matrix.T

def work(context):
    import scipy.sparse
    given = scipy.sparse.random_array((50, 70), density=0.1, format="csr", rng=3)
    matrix = tl.SparseMatrix.from_scipy(given)
    with context.Pool(1) as pool:
        again = pool.apply(transposed, (matrix,))
        assert again.shape == (70, 50) and again.format == "csc"
        assert (again.to_scipy() != given.T).nnz == 0
        pool.close()
        pool.join()
    del again, matrix, given
    tl.zeros(1)
main(work)
""",
    )


needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="no fork, or one without the fast path")


@needs_fork
def test_fork_sends_what_it_has_inherited(python: Run) -> None:
    """Children of fork() return tensors of any size, by pools, pipes and queues without a thread."""
    run(
        python,
        "fork",
        """
inherited = filled((300, 400))
turned = inherited.T  # a child can make views as long as its magazine lasts
parts = {start: (inherited[start : start + 100], turned[start]) for start in (0, 100, 200)}

def part_of(start):
    return parts[start]

def send(queue, pipe):
    queue.put(turned)
    pipe.send(inherited)

def work(context):
    with context.Pool(2) as pool:
        for start, (part, column) in zip((0, 100, 200), pool.map(part_of, (0, 100, 200))):
            assert content(part) == content(inherited[start : start + 100])
            assert content(column) == content(inherited.T[start])
            assert part.base.address == column.base.address
        pool.close()
        pool.join()
    # A Queue pickles in a thread of its own, which a child of fork() cannot attach.
    queue, (here, there) = context.SimpleQueue(), context.Pipe()
    child = context.Process(target=send, args=(queue, there))
    child.start()
    columns, whole = queue.get(), here.recv()
    assert content(columns) == content(inherited.T) and content(whole) == content(inherited)
    child.join(60)
    assert child.exitcode == 0, child.exitcode
main(work, ends_with_nothing=False)
""",
    )


@needs_fork
def test_fork_receives_again_and_again(python: Run) -> None:
    """What a child has received ends there, so that memory and headers last."""
    run(
        python,
        "fork",
        """
import resource
def size(given):
    return given[0].nbytes + given[1].nbytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def work(context):
    tensor = filled((250, 1000))
    with context.Pool(1) as pool:
        _, before = pool.apply(size, ((tensor, tensor[1:]),))
        for _ in range(300):
            size_there, after = pool.apply(size, ((tensor, tensor[1:]),))
        assert size_there == tensor.nbytes + tensor[1:].nbytes
        assert after < before + 50_000, (before, after)  # KiB, of 300 MB that were sent
        pool.close()
        pool.join()
main(work, ends_with_nothing=False)
""",
    )


@needs_fork
def test_fork_says_what_it_cannot_receive(python: Run) -> None:
    """What a child of fork() cannot make raises where it is used, so that no pool waits for ever."""
    run(
        python,
        "fork",
        """
def last(tensors):
    return tensors[-1].nbytes

def nonzeros(matrix):
    return matrix.nnz

def work(context):
    many, matrix = [filled(3) for _ in range(1000)], tl.SparseMatrix.empty((2, 2), [1, 1])
    with context.Pool(1) as pool:
        for use, given in ((last, many), (nonzeros, matrix)):
            assert "did not arrive" in pool.apply(repr, (given,))
            try:
                pool.apply(use, (given,))
            except tl.ForkedError as error:
                assert "spawn or forkserver" in str(error) and error.status == tl.Status.FORKED
            else:
                raise AssertionError("no ForkedError")
        assert pool.apply(last, (many[:3],)) == 12  # the worker lives
        pool.close()
        pool.join()
main(work, ends_with_nothing=False)
""",
    )
