"""Tensors of the device "shared" between processes: by descriptor, through multiprocessing and through sockets."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import socket
import subprocess
import sys

import pytest

import tl_runtime as tl
from conftest import Run
from test_multiprocessing import METHODS, run
from tl_runtime import _abi

SETUP = """
import os, time

def shared(shape, dtype="int32", first=0):
    tensor = tl.zeros(shape, dtype, device="shared")
    flat = tensor.__buffer__(0).cast("B").cast("i")
    for at in range(len(flat)):
        flat[at] = first + at
    return tensor

def values(tensor):  # also in a child of fork(), which clones nothing
    rows = tensor.tolist()
    return [element for row in rows for element in row] if tensor.ndim == 2 else rows

def descriptors():
    return len(os.listdir("/proc/self/fd"))

def are_back(before):  # multiprocessing's threads close theirs a little later
    end = time.monotonic() + 10
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert descriptors() <= before, (descriptors(), before)
    return True

def mappings():
    with open("/proc/self/maps") as maps:
        return sum("/memfd:tl_runtime" in line for line in maps)
"""


def run_shared(python: Run, method: str, code: str) -> None:
    run(python, method, SETUP + code)


@pytest.mark.parametrize("method", METHODS)
def test_queues_and_pipes(python: Run, method: str) -> None:
    """Both sides write to the same memory, base and view arrive together, and nothing is left."""
    run_shared(
        python,
        method,
        """
def child(queue, answers, pipe):
    before = None
    for base, view in iter(queue.get, None):
        assert base.device == view.device == 1 and view.base.address == base.address
        flat = base.__buffer__(0).cast("B").cast("i")
        flat[0] = -1
        answers.put((view, base))
        del base, view, flat
        if before is None:
            before = descriptors()
    pipe.send((are_back(before), mappings()))
    pipe.send(pipe.recv())
    pipe.recv()  # a sender lives until the receiver has asked for the descriptor

def work(context):
    queue, answers = context.SimpleQueue(), context.SimpleQueue()
    here, there = context.Pipe()
    process = context.Process(target=child, args=(queue, answers, there))
    process.start()
    before = None
    for number in range(20):
        base = shared((20, 30), first=number)
        queue.put((base, base.T[2:5]))
        view, again = answers.get()
        assert values(base)[:2] == [-1, number + 1]
        assert view.base.address == again.address != base.address and view.strides == base.T[2:5].strides
        again.__buffer__(0).cast("B").cast("i")[5] = 555  # the same memory
        assert values(base) == values(again) and values(base.T[2:5]) == values(view)
        del base, view, again
        if before is None:
            before = descriptors()
    queue.put(None)
    assert here.recv() == (True, 0)
    tensor = shared((3, 4))
    here.send({"one": tensor})
    assert values(here.recv()["one"]) == list(range(12))
    here.send(None)
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    del tensor
    assert are_back(before) and mappings() == 0
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_pools(python: Run, method: str) -> None:
    """Workers write into what they are given, and give it back."""
    run_shared(
        python,
        method,
        """
def double(tensor):
    flat = tensor.__buffer__(0).cast("B").cast("i")
    for at in range(len(flat)):
        flat[at] *= 2
    return tensor

def work(context):
    with context.Pool(2) as pool:
        given = [shared((500, 500), first=number) for number in range(4)]
        for number, (tensor, doubled) in enumerate(zip(given, pool.map(double, given))):
            assert tensor.device == doubled.device == 1
            assert values(tensor)[:3] == values(doubled)[:3] == [2 * number, 2 * number + 2, 2 * number + 4]
        pool.close()
        pool.join()
    del given, tensor, doubled
    assert mappings() == 0
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_arguments_of_a_process(python: Run, method: str) -> None:
    run_shared(
        python,
        method,
        """
def child(base, view, answers):
    base.__buffer__(0).cast("B").cast("i")[7] = 700
    answers.send(values(view))

def work(context):
    tensor = shared((10, 10))
    here, there = context.Pipe()
    process = context.Process(target=child, args=(tensor, tensor[::2, 1:], there))
    process.start()
    assert here.recv() == values(tensor[::2, 1:])
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    assert values(tensor)[7] == 700
    del process, tensor
    import gc
    gc.collect()
    assert mappings() == 0
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_read_only(python: Run, method: str) -> None:
    """The mapping enforces it in every process, and sending on keeps it so."""
    run_shared(
        python,
        method,
        """
def child(queue, answers):
    tensor = queue.get()
    assert tensor.is_read_only and tensor.__buffer__(0).readonly
    answers.put((values(tensor), tensor))
    queue.get()
    import ctypes, resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.memset(tensor.data, 0, 1)  # ends this process

def work(context):
    queue, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=child, args=(queue, answers))
    process.start()
    tensor = shared((3,))
    queue.put(tensor.share(read_only=True))
    seen, back = answers.get()
    queue.put(None)
    assert seen == [0, 1, 2] and back.is_read_only and not tensor.is_read_only
    process.join(60)
    assert process.exitcode == -11, process.exitcode
    assert values(tensor) == [0, 1, 2]
    tensor[0] = 9
    assert back[0].item() == 9
    try:
        back[0] = 1
    except (TypeError, ValueError, tl.UnsupportedError):
        pass
    else:
        raise AssertionError("written")
    del tensor, back
main(work)
""",
    )


@pytest.mark.parametrize("method", METHODS)
def test_children_are_killed(python: Run, method: str) -> None:
    """Receivers that are killed at any moment leave nothing in the sender."""
    run_shared(
        python,
        method,
        """
import random
from multiprocessing import resource_sharer

def quietly(kind, *more):  # multiprocessing's thread shows that who has asked for a descriptor is dead
    assert issubclass(kind, (OSError, EOFError)), kind

def child(queue, answers):
    while True:
        answers.put(queue.get())

def work(context):
    random.seed(1)
    hook, sys.excepthook = sys.excepthook, quietly
    before = None
    for number in range(12):
        queue, answers = context.SimpleQueue(), context.SimpleQueue()
        process = context.Process(target=child, args=(queue, answers), daemon=True)
        process.start()
        end = time.monotonic() + 0.02 + random.random() / 20
        tensor = shared((100, 100), first=number)
        while time.monotonic() < end:
            queue.put(tensor)
            if answers._reader.poll(0.01):
                assert values(answers.get())[0] == number
        queue.put(tensor)
        process.kill()
        process.join(60)
        for pipe in (queue, answers):
            pipe.close()
        del tensor, process
        resource_sharer.stop()  # gives up what nobody has asked for
        if before is None:
            before = descriptors()
    sys.excepthook = hook
    import gc
    gc.collect()
    assert are_back(before) and mappings() == 0
main(work)
""",
    )


def test_a_sender_that_has_ended(python: Run) -> None:
    """Its descriptor is gone with it, which the receiver is told."""
    run_shared(
        python,
        "spawn",
        """
def child(pipe):
    pipe.send(shared((2, 2)))

def work(context):
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there,))
    process.start()
    process.join(60)
    try:
        here.recv()
    except ConnectionError as error:
        assert "has ended" in str(error)
    else:
        raise AssertionError("received")
    tl.zeros(1)
main(work)
""",
    )


def shared_range(*shape: int) -> tl.Tensor:
    tensor = tl.empty(shape, "int32", device="shared")
    numbers = (ctypes.c_int32 * tensor.size).from_address(tensor.data)
    numbers[:] = range(tensor.size)
    return tensor


def test_other_pickles_copy() -> None:
    """What pickles to files and networks do is what they did: the tensor comes back to its device."""
    tensor = shared_range(4, 5)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        base, view, turned = pickle.loads(pickle.dumps((tensor, tensor[1:3], tensor.T), protocol))
        assert base.device == 1 and base.data != tensor.data and base.tolist() == tensor.tolist()
        assert view.base.address == base.address and turned.tolist() == tensor.T.tolist()
    for copied in (copy.copy(tensor), copy.deepcopy(tensor)):
        assert copied.device == 1 and copied.data != tensor.data and copied.tolist() == tensor.tolist()
    with tensor.T.share() as shared:
        opened = shared.open()  # a base whose elements lie in another order
    for protocol in (2, 5):
        assert pickle.loads(pickle.dumps(opened, protocol)).tolist() == tensor.T.tolist()
    empty = pickle.loads(pickle.dumps(tl.zeros((3, 0), device="shared")))
    assert empty.shape == (3, 0) and empty.device == 1


def test_a_descriptor() -> None:
    tensor = shared_range(3, 4)
    with tensor[1:].share() as shared:
        assert shared.shape == (2, 4) and shared.dtype is tl.DType.INT32 and not shared.is_read_only
        assert shared.fileno() == shared.fd > 2 and "fd=" in repr(shared)
        with pytest.raises(TypeError, match="only multiprocessing can pickle"):
            pickle.dumps(shared)
        opened = shared.open()
        with tl.SharedTensor(os.dup(shared.fd), shared.description) as again:
            assert again.open().tolist() == opened.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert shared.fd == -1 and "closed" in repr(shared)
    shared.close()
    with pytest.raises(ValueError, match="closed"):
        shared.open()
    opened[0, 0] = 44
    assert tensor[1, 0].item() == 44
    assert opened.numpy().flags.writeable if sys.modules.get("numpy") else True


def test_what_is_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="tl_tensor_to"):
        tl.zeros(3).share()
    with pytest.raises(ValueError, match="160 bytes"):
        tl.SharedTensor(0, b"short")
    with shared_range(3).share() as shared:
        description = shared.description
    for field, value in (("rank", 9), ("rank", -1), ("dtype", 99)):
        struct = _abi.tl_tensor_shared.from_buffer_copy(description)
        setattr(struct, field, value)
        with pytest.raises(ValueError, match=f"tl.SharedTensor: .*{value}.*which no tensor has"):
            tl.SharedTensor(0, bytes(struct))
    for fd in (-1, 12345):
        other = tl.SharedTensor(fd, description)
        with pytest.raises((tl.InvalidArgumentError, ValueError)):
            other.open()
        other._struct.fd = -1  # nobody's
    read, write = os.pipe()
    os.close(write)
    with tl.SharedTensor(read, description) as other, pytest.raises(tl.InvalidArgumentError, match="no memory file"):
        other.open()


def test_another_program(tmp_path: os.PathLike[str]) -> None:
    """A Unix socket carries the descriptor to a program that multiprocessing knows nothing of."""
    code = """
import socket, tl_runtime as tl
connection = socket.socket(socket.AF_UNIX)
connection.connect(__import__("sys").argv[1])
description, fds, _, _ = socket.recv_fds(connection, 4096, 1)
with tl.SharedTensor(fds[0], description) as shared:
    tensor = shared.open()
tensor[2] = tensor[1].item() * 100
connection.send(b"done")
"""
    path = str(tmp_path) + "/socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        process = subprocess.Popen([sys.executable, "-c", code, path])
        connection, _ = server.accept()
        with connection:
            tensor = shared_range(3)
            with tensor.share() as shared:
                socket.send_fds(connection, [shared.description], [shared.fd])
            assert connection.recv(4) == b"done"
    assert process.wait(60) == 0
    assert tensor.tolist() == [0, 1, 100]


def test_a_leak_report_names_the_device(python: Run) -> None:
    python(
        """
tensor = tl.zeros(100_000, device="shared")
address = tensor.address
tl.lib.tl_tensor_acquire(address)
del tensor
report = tl.leak_report()
assert "tensor on shared; a reference was acquired" in str(report), report
tl.lib.tl_tensor_release(address)
assert not tl.leak_report()
"""
    )


@pytest.mark.parametrize("fd", [-2, 2**31, 2**32, -(2**31) - 1])
def test_a_number_that_is_no_descriptor_is_refused(fd):
    with tl.zeros(3, device="shared").share() as shared, pytest.raises(ValueError, match=f"{fd} is no file descriptor"):
        tl.SharedTensor(fd, shared.description)
