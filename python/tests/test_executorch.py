"""tl_runtime.executorch on specs as ExecuTorch 1.5 hands them out; python/tests/ecosystem has it with the package."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tl_runtime as tl


@dataclass(eq=False)
class Spec:
    """What the planning reads of a TensorSpec."""

    nbytes: int
    lifetime: list[int]
    mem_id: int | None = None
    storage_base: Spec | None = None
    storage_base_offset: int = 0
    alignment: int = field(default=16, init=False)

    def realign(self, alignment: int) -> int:
        self.alignment = alignment
        return self.allocated_memory

    @property
    def allocated_memory(self) -> int:
        return (self.nbytes + self.alignment - 1) // self.alignment * self.alignment


@dataclass
class Place:
    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass
class Result:
    spec_dict: dict[Spec, Place]
    bufsizes: list[int]


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The function, over the two classes of ExecuTorch that it uses."""
    names = ("executorch", "executorch.exir", "executorch.exir.memory_planning")
    modules = [ModuleType(name) for name in names]
    modules[-1].__dict__.update(SpecAllocResult=Place, MemoryAlgoResult=Result)
    for name, module in zip(names, modules):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "tl_runtime.executorch", raising=False)
    yield importlib.import_module("tl_runtime.executorch").memory_planning
    sys.modules.pop("tl_runtime.executorch", None)


def planned(planning: Any, specs: list[Spec], taken: list[int] | None = None, **options: Any) -> Result:
    """The result, in which no two tensors that live at one step share bytes, unless one lies in the other."""
    result = planning(16, specs, SimpleNamespace(input_mem_buffer_sizes=taken), None, **options)
    assert set(result.spec_dict) == set(specs)

    def inside(one: Spec, other: Spec) -> bool:
        base = one.storage_base
        while base is not None and base is not other:
            base = base.storage_base
        return base is other

    for i, one in enumerate(specs):
        at = result.spec_dict[one]
        assert at.mem_offset % 16 == 0
        assert at.mem_offset + one.allocated_memory <= result.bufsizes[at.mem_id]
        for other in specs[i + 1 :]:
            there = result.spec_dict[other]
            apart = (
                at.mem_id != there.mem_id
                or at.mem_offset + one.allocated_memory <= there.mem_offset
                or there.mem_offset + other.allocated_memory <= at.mem_offset
            )
            assert apart or at.mem_obj_id == there.mem_obj_id
            together = one.lifetime[0] <= other.lifetime[1] and other.lifetime[0] <= one.lifetime[1]
            assert apart or not together or inside(one, other) or inside(other, one)
    return result


def test_lifetimes_include_their_last_step(planning: Any) -> None:
    chain = [Spec(100, [step, step + 1]) for step in range(10)]
    assert planned(planning, chain).bufsizes == [0, 224]  # two of 112 bytes at once
    assert planned(planning, [Spec(100, [step, step]) for step in range(10)]).bufsizes == [0, 112]


def test_memories_are_apart(planning: Any) -> None:
    specs = [Spec(64, [0, 2]), Spec(64, [1, 3], mem_id=3), Spec(64, [2, 4], mem_id=3), Spec(0, [0, 4])]
    result = planned(planning, specs, extra_padding=64)
    assert result.bufsizes == [0, 128, 0, 192]
    assert [result.spec_dict[spec].mem_id for spec in specs] == [1, 3, 3, 1]


def test_what_submodules_have_taken_stays_in_front(planning: Any) -> None:
    specs = [Spec(64, [0, 1]), Spec(64, [1, 2])]
    result = planned(planning, specs, taken=[0, 1000])
    assert result.bufsizes == [0, 1008 + 128]
    assert min(place.mem_offset for place in result.spec_dict.values()) == 1008


def test_specs_inside_of_others(planning: Any) -> None:
    base = Spec(256, [0, 2], mem_id=2)
    inner = Spec(64, [1, 6], storage_base=base, storage_base_offset=128)
    innermost = Spec(32, [5, 7], storage_base=inner, storage_base_offset=16)
    others = [Spec(256, [3, 4], mem_id=2), Spec(256, [8, 9], mem_id=2)]
    result = planned(planning, [innermost, inner, base, *others])
    places = result.spec_dict
    assert places[inner].mem_offset == places[base].mem_offset + 128
    assert places[innermost].mem_offset == places[inner].mem_offset + 16
    assert places[inner].mem_id == 2
    assert result.bufsizes == [0, 0, 512]  # the base has to last while the innermost does
    with pytest.raises(ValueError, match="is not among the specs"):
        planned(planning, [inner])


def test_no_specs(planning: Any) -> None:
    assert planned(planning, []).bufsizes == [0, 0]


def test_the_budget_is_an_option(planning: Any) -> None:
    specs = [Spec(16 * (1 + i * 7 % 5), [i % 11, i % 11 + i % 4]) for i in range(60)]
    fixed = planned(planning, specs).bufsizes
    assert planned(planning, specs).bufsizes == fixed
    assert planned(functools.partial(planning, budget=0.01), specs).bufsizes[1] <= fixed[1]
    with pytest.raises(tl.Error):
        planned(planning, specs, budget=-1)
