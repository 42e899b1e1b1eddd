"""ExecuTorch plans the memory of programs with tl_runtime.executorch: same outputs, no more memory."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

from tl_runtime.executorch import memory_planning


class Residual(torch.nn.Module):
    """Blocks of convolutions around which their input goes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = torch.nn.ModuleList(torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(6))

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            x = x + torch.relu(block(x))
        return x.mean(dim=(2, 3))


class Branching(torch.nn.Module):
    """A branch, whose bodies are planned in front of the graph."""

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x.sin() + x.cos(), lambda x: (x * 2).exp() - 1, (x,))


def large() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Models of torchvision, where it is installed."""
    try:
        from torchvision import models
    except ImportError:
        return {}
    return {
        name: (getattr(models, name)(weights=None), (1, 3, 224, 224))
        for name in ("mobilenet_v2", "mobilenet_v3_small", "resnet18", "squeezenet1_1", "densenet121", "googlenet")
    }


MODELS = {
    "residual": (Residual(), (1, 3, 32, 32)),
    "branching": (Branching(), (4, 100)),
    "attention": (torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (1, 30, 64)),
    **large(),
}


def program(model: Any, inputs: tuple[Any, ...], *algorithms: Any) -> tuple[bytes, list[int]]:
    """A program, and the bytes of each of its memories."""
    with torch.no_grad():
        edge = to_edge(torch.export.export(model, inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    planning = MemoryPlanningPass(MemoryPlanningAlgorithmSuite(list(algorithms)))
    made = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return made.buffer, list(made.executorch_program.execution_plan[0].non_const_buffer_sizes)


@pytest.mark.parametrize("name", MODELS)
def test_a_planned_program(name: str, record_property: Any) -> None:
    model, shape = MODELS[name]
    torch.manual_seed(0)
    inputs = (torch.randn(shape),)
    model = model.eval()
    theirs, before = program(model, inputs, greedy)
    ours, after = program(model, inputs, memory_planning)
    assert len(before) == len(after) and sum(after) <= sum(before)
    print(f"{name}: {sum(before):,} -> {sum(after):,}")
    assert program(model, inputs, greedy, memory_planning)[1] == after
    for again in range(2):  # a plan that overlaps may be right the first time
        inputs = (torch.randn(shape),)
        found = [
            Runtime.get().load_program(made).load_method("forward").execute(list(inputs))[0].clone()
            for made in (theirs, ours)
        ]
        assert torch.equal(*found), again
        assert torch.allclose(found[0], model(*inputs), atol=1e-3, rtol=1e-3)
