"""Lifetimes of the buffers of a training step written with PyTorch, for the planner.

    lifetimes.py MODULE:FUNCTION SET.csv.gz [--times 4]

imports MODULE from the current folder and calls FUNCTION, which builds a model and its optimiser and returns a function
that trains one step. That runs once, so that the optimiser has its state, and then so many times while every operator
of the forward pass, of autograd and of the optimiser is recorded. Tensors are fake: they have shapes and no memory, so
that a model of any size can be recorded anywhere, and nothing may depend on a value.

Every storage that an operator makes is a buffer: it begins at that operator and ends behind the last one that reads or
writes it, by a view or not. Weights, the state of the optimiser and the data were there before: they are no buffers.
The set is CSV: for each buffer, in the order in which they begin, the operators since the one before began, the
operators that it lives for, and its bytes. `go run ./bench/planner -sets FOLDER` places the sets of a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import os
import sys
from collections.abc import Callable, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

HEADER = "begin,life,bytes"
Buffer = tuple[int, int, int]  # first operator, end, bytes


def storage(tensor: torch.Tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


class Recorder(TorchDispatchMode):
    """Operators as they run: what storages each of them reads, writes and makes."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = 0
        self.lives: dict[int, list[int]] = {}  # first and end by the storage's identity
        self.sizes: dict[int, int] = {}
        self.held: list = []  # storages that are seen stay, so that none gets the identity of another one
        self.before: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if str(func).startswith(("prim.", "profiler.")):  # asks for a property, or marks a part of the program
            return func(*args, **kwargs)
        results = WITHOUT.get(func, func)(*args, **kwargs)
        given, made = tensors((args, kwargs)), tensors(results)
        if not made and not given:
            return results
        for tensor in given:
            self.used(tensor, new=False)
        for tensor in made:
            self.used(tensor, new=True)
        self.operators += 1
        return results

    def used(self, tensor: torch.Tensor, new: bool) -> None:
        held = storage(tensor)
        key = held._cdata
        if key in self.lives:
            self.lives[key][1] = self.operators + 1
        elif key not in self.before:
            self.held.append(held)
            if new:
                self.lives[key] = [self.operators, self.operators + 1]
                self.sizes[key] = held.nbytes()
            else:
                self.before.add(key)

    def buffers(self) -> list[Buffer]:
        """In the order in which they begin; what has no bytes is left out."""
        return [(first, end, self.sizes[key]) for key, (first, end) in self.lives.items() if self.sizes[key]]


def tensors(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def convolution_backward(up, x, weight, biases, *how):
    """What the operator of that name makes, which has no fake version in PyTorch 1.13."""
    shapes = x.shape, weight.shape, biases or (up.shape[1],)
    return tuple(up.new_empty(shape) if wanted else None for shape, wanted in zip(shapes, how[-1]))


OLD = int(torch.__version__.split(".")[0]) < 2
WITHOUT = {torch.ops.aten.convolution_backward.default: convolution_backward} if OLD else {}


@contextlib.contextmanager
def unprofiled() -> Iterator[None]:
    """PyTorch 1.13 marks the optimiser's steps for its profiler by an operator that has no fake version."""
    marks = torch.autograd.profiler.record_function
    if OLD:
        torch.autograd.profiler.record_function = lambda *_: contextlib.nullcontext()
    try:
        yield
    finally:
        torch.autograd.profiler.record_function = marks


def record(build: Callable[[], Callable[[], object]], times: int) -> list[Buffer]:
    """The buffers of so many calls of the function that build returns."""
    recorder = Recorder()
    with unprofiled(), FakeTensorMode(allow_fallback_kernels=False):
        step = build()
        with Recorder():
            step()
        with recorder:
            for _ in range(times):
                step()
    return recorder.buffers()


def write(path: str, buffers: list[Buffer]) -> None:
    """Without a time stamp, so that the same lifetimes make the same file."""
    rows, last = [HEADER], 0
    for first, end, size in buffers:
        rows.append(f"{first - last},{end - first},{size}")
        last = first
    text = ("\n".join(rows) + "\n").encode()
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="records the lifetimes of the buffers of a training step")
    parser.add_argument("function", metavar="MODULE:FUNCTION")
    parser.add_argument("set", metavar="SET.csv.gz")
    parser.add_argument("--times", type=int, default=1, help="so many steps, one after the other")
    given = parser.parse_args()
    module, colon, function = given.function.partition(":")
    if not colon or given.times < 1:
        parser.error("MODULE:FUNCTION and at least one step are wanted")
    sys.path.insert(0, os.getcwd())
    buffers = record(getattr(importlib.import_module(module), function), given.times)
    write(given.set, buffers)
    print(f"{given.set}: {len(buffers)} buffers")


if __name__ == "__main__":
    main()
