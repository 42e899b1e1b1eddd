"""Memory planning for ExecuTorch, in the form that its MemoryPlanningPass takes.

    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
    from executorch.exir.passes import MemoryPlanningPass
    from tl_runtime.executorch import memory_planning

    planning = MemoryPlanningPass(MemoryPlanningAlgorithmSuite([greedy, memory_planning]))
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))

The suite takes the smaller of the plans. What it saves, and what it cannot: docs/planner-elsewhere.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ._graph.plan import Plan
from ._tensor.arrays import needed

needed("executorch", "ExecuTorch")

from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

__all__ = ["memory_planning"]


def memory_planning(
    alignment: int,
    specs: Iterable[Any],
    graph_module: Any,
    graph_signature: Any,
    extra_padding: int = 0,
    *,
    budget: float = 0,
) -> MemoryAlgoResult:
    """Places the tensors of a graph, each in the memory that its mem_id names, and returns where they are.

    A spec that is storage-backed lies inside its storage_base. Memory that submodules have taken
    (input_mem_buffer_sizes) stays in front. budget is the seconds that the search may take for each memory, for
    functools.partial; 0 does a fixed amount of work, so that the same graph gives the same program.
    """
    memories: defaultdict[int, list[Any]] = defaultdict(list)
    for spec in specs:
        spec.realign(alignment)
        memories[_memory(spec)].append(spec)
    taken = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])
    sizes = [0] * max([2, *(memory + 1 for memory in memories)]) if memories else [0, 0]
    places: dict[Any, SpecAllocResult] = {}
    for memory, tensors in memories.items():
        start = taken[memory] if memory < len(taken) else 0
        start += -start % alignment
        plan = _solved(tensors, alignment, budget)
        sizes[memory] = start + plan.frame_bytes + extra_padding
        for spec, offset in zip(tensors, plan.offsets()):
            # ExecuTorch's check wants one object for tensors that share bytes; which share any is not transitive.
            places[spec] = SpecAllocResult(mem_id=memory, mem_obj_id=0, mem_offset=start + offset)
    return MemoryAlgoResult(places, sizes)


def _around(spec: Any) -> Iterator[Any]:
    """The tensors that a tensor lies in, outwards from itself."""
    while spec is not None:
        yield spec
        spec = spec.storage_base


def _memory(spec: Any) -> int:
    """The memory of a tensor: that of the tensor it is in."""
    *_, base = _around(spec)
    return 1 if base.mem_id is None else int(base.mem_id)


def _solved(specs: list[Any], alignment: int, budget: float) -> Plan:
    plan, index = Plan(), {}
    lives = {spec: [int(step) for step in spec.lifetime] for spec in specs}
    for spec in specs:
        for base in _around(spec):  # which has to be there as long as what lies in it
            if base not in lives:
                raise ValueError(f"storage_base of {spec}: {base} is not among the specs to plan")
            first, last = lives[spec]
            lives[base] = [min(lives[base][0], first), max(lives[base][1], last)]
    for spec, (first, last) in lives.items():
        index[spec] = plan.add_buffer(spec.allocated_memory, first=first, end=last + 1, alignment=alignment)
    for spec in specs:
        if spec.storage_base is not None:
            plan.alias(index[spec], index[spec.storage_base], spec.storage_base_offset)
    plan.solve(budget)
    return plan
