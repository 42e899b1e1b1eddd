"""ExecuTorch plans the memory of programs with tl_runtime.executorch: same outputs, no more memory."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.runtime import Runtime

    from tl_runtime.executorch import memory_planning

pytestmark = pytest.mark.filterwarnings("ignore")


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


IMAGE = (1, 3, 224, 224)
MODELS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "residual": (Residual, (1, 3, 32, 32)),
    "branching": (Branching, (4, 100)),
    "attention": (lambda: torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (1, 30, 64)),
}
with contextlib.suppress(ImportError):
    from torchvision import models

    for name in ("mobilenet_v2", "mobilenet_v3_small", "resnet18", "squeezenet1_1", "shufflenet_v2_x0_5"):
        MODELS[name] = getattr(models, name), IMAGE


def program(model: Any, inputs: tuple[Any, ...], *algorithms: Any) -> tuple[bytes, list[int]]:
    """A program, and the bytes of each of its memories."""
    with torch.no_grad():
        edge = to_edge(torch.export.export(model, inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    planning = MemoryPlanningPass(MemoryPlanningAlgorithmSuite(list(algorithms)))
    made = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return made.buffer, list(made.executorch_program.execution_plan[0].non_const_buffer_sizes)


@pytest.mark.parametrize("name", MODELS)
def test_a_planned_program(name: str) -> None:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    model, inputs = make().eval(), (torch.randn(shape),)
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
