"""Objects of Python that own something of the library's."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tl_runtime as tl
from tl_runtime._tensor.tensor import CtypesTensor

MAKE: dict[str, Callable[[], Any]] = {
    "Plan": tl.Plan,
    "Workspace": lambda: tl.registry.Workspace(2, 100),
    "MemoryPool": lambda: tl.MemoryPool(initial_bytes=1 << 16),
    "DeviceAllocator": lambda: tl.DeviceAllocator(lambda _: None, lambda *_: None),
}


COPIED = {"Tensor", "SparseMatrix"}  # by their elements


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("how", [copy.copy, pickle.dumps])
def test_a_handle_has_one_owner(name: str, how: Callable[[Any], Any]) -> None:
    if name == "Workspace":
        pytest.importorskip("numpy")
    owner = MAKE[name]()
    if how is copy.copy and name in COPIED:
        assert how(owner).address != owner.address
        return
    with pytest.raises(TypeError, match=f"a {name} is"):
        how(owner)


@pytest.mark.parametrize("kind", [tl.Tensor, CtypesTensor, tl.SparseMatrix, tl.Plan, tl.MemoryPool])
def test_the_end_of_what_was_never_made(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", shown.append)
    try:
        object.__new__(kind)
    except TypeError as error:  # a class in C is never made by halves
        assert kind is not CtypesTensor
        assert "not safe" in str(error)
    gc.collect()
    assert shown == []
