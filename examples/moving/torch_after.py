"""The same; PyTorch computes in the memory of TL Runtime."""

import tl_runtime as tl
import torch


def empty(*shape: int) -> torch.Tensor:
    """Returns a tensor of PyTorch over memory of the runtime, which it keeps alive."""
    return torch.from_dlpack(tl.empty(shape, "float32"))


weights = empty(256, 256).fill_(1)
for _ in range(3):
    batch = empty(64, 256).fill_(0.5)
    activations = empty(64, 256)
    torch.mm(batch, weights, out=activations)
    loss = activations.mean().item()
print(f"the loss is {loss:.1f}")
print(f"{tl.stats()['tensors_live']} tensors are live")
