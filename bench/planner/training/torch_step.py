"""Training steps written with PyTorch, as graphs of `tl`: traced by functorch.make_fx, forward, backward by autograd, and
SGD with momentum.

    torch_step.py FOLDER

writes torch_mlp.json, torch_cnn.json and torch_transformer.json. Those in bench/planner/training/recorded were made by it
with Debian's PyTorch 1.13; PyTorch is not needed to measure them.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable

import numpy as np
import torch
import written
from functorch import make_fx
from torch._decomp import get_decompositions

aten = torch.ops.aten
SAME = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "exp": "Exp", "tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu",
        "sqrt": "Sqrt", "reciprocal": "Reciprocal", "le": "LessOrEqual", "where": "Where", "mm": "MatMul", "bmm": "MatMul"}  # fmt: skip
SHOWN = ("detach", "clone")
SIMPLER = [aten.tanh_backward, aten.threshold_backward, aten.sigmoid_backward, aten.silu, aten.silu_backward, aten._softmax, aten._softmax_backward_data,
           aten.native_layer_norm, aten.native_layer_norm_backward, aten.mse_loss, aten.mse_loss_backward, aten.addmm, aten.rsqrt, aten.rsub]  # fmt: skip


class Writer(written.Graph):
    """A graph of torch.fx over aten as nodes of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[object, object] = {}

    def name(self, argument: object) -> str:
        if isinstance(argument, torch.fx.Node):
            return self.names[argument]
        return self.constant(np.float32(argument))

    def run(self, traced: torch.fx.GraphModule, inputs: list[str]) -> list[str]:
        given = iter(inputs)
        for node in traced.graph.nodes:
            if node.op == "placeholder":
                self.names[node] = next(given)
            elif node.op == "get_attr":
                self.names[node] = self.constant(getattr(traced, node.target).numpy())
            elif node.op == "output":
                return [self.names[result] for result in node.args[0]]
            elif node.target is operator.getitem:
                self.names[node] = self.names[node.args[0]][node.args[1]]
            else:
                self.names[node] = self.one(node)
        raise ValueError("the trace has no output")

    def one(self, node: torch.fx.Node) -> object:
        op = node.target.overloadpacket.__name__.rstrip("_")
        if op in SHOWN:
            return self.name(node.args[0])
        if op in SAME:
            scale = node.kwargs.get("alpha", 1)
            names = [self.name(argument) for argument in node.args]
            if scale != 1:
                names[1] = self.node("Mul", [names[1], self.constant(np.float32(scale))])
            return self.node(SAME[op], names)
        return getattr(self, f"do_{op}")(node, *node.args)

    def do_view(self, node: torch.fx.Node, x: torch.fx.Node, *_: object) -> str:
        return self.node("Reshape", [self.name(x)], shape=list(shape(node)))

    do__unsafe_view = do__reshape_alias = do_view

    def do_pow(self, _: torch.fx.Node, x: torch.fx.Node, exponent: float) -> str:
        if exponent not in (1, 2):
            return self.node("Pow", [self.name(x), self.name(exponent)])
        return self.name(x) if exponent == 1 else self.node("Mul", [self.name(x)] * 2)

    def do_rsqrt(self, _: torch.fx.Node, x: torch.fx.Node) -> str:
        return self.node("Reciprocal", [self.node("Sqrt", [self.name(x)])])

    def do_convert_element_type(self, node: torch.fx.Node, x: torch.fx.Node, _: torch.dtype) -> str:
        if node.meta["tensor_meta"].dtype != x.meta["tensor_meta"].dtype:
            raise ValueError("a conversion")
        return self.name(x)

    def do_scalar_tensor(self, _: torch.fx.Node, value: float) -> str:
        return self.name(value)

    def do_ones_like(self, node: torch.fx.Node, _: torch.fx.Node) -> str:
        return self.constant(np.ones(shape(node), np.float32))

    def do_expand(self, node: torch.fx.Node, x: torch.fx.Node, *_: object) -> str:
        if shape(node) == shape(x):
            return self.name(x)
        return self.node("Expand", [self.name(x), self.constant(np.array(shape(node), np.int64))])

    def do_permute(self, _: torch.fx.Node, x: torch.fx.Node, order: list[int]) -> str:
        return self.arranged(self.name(x), [axis % len(order) for axis in order])

    def do_transpose(self, _: torch.fx.Node, x: torch.fx.Node, a: int, b: int) -> str:
        order = list(range(len(shape(x))))
        order[a], order[b] = order[b], order[a]
        return self.arranged(self.name(x), order)

    def do_t(self, node: torch.fx.Node, x: torch.fx.Node) -> str:
        return self.do_transpose(node, x, 0, 1)

    def reduced(self, op: str, x: torch.fx.Node, axes: list[int] | None, keep: bool) -> str:
        rank = len(shape(x))
        return self.node(op, [self.name(x)], axes=[axis % rank for axis in axes or range(rank)], keepdims=int(keep))

    def do_sum(self, _: torch.fx.Node, x: torch.fx.Node, axes: list[int] | None = None, keep: bool = False) -> str:
        return self.reduced("ReduceSum", x, axes, keep)

    def do_amax(self, _: torch.fx.Node, x: torch.fx.Node, axes: list[int], keep: bool = False) -> str:
        return self.reduced("ReduceMax", x, axes, keep)

    def do_var_mean(self, node: torch.fx.Node, x: torch.fx.Node, axes: list[int], **_: object) -> list[str]:
        if node.kwargs.get("correction", 1) != 0:
            raise ValueError("var_mean with a correction")
        mean = self.reduced("ReduceMean", x, axes, keep=True)
        centred = self.node("Sub", [self.name(x), mean])
        square = self.node("Mul", [centred, centred])
        return [self.node("ReduceMean", [square], axes=[axis % len(shape(x)) for axis in axes], keepdims=1), mean]

    def do_convolution(self, _: torch.fx.Node, x: torch.fx.Node, w: torch.fx.Node, bias: object, *how: object) -> str:
        check_convolution(bias, how)
        pads = list(how[1]) * 2
        return self.node("Conv", [self.name(x), self.name(w)], kernel_shape=list(shape(w)[2:]), pads=pads)

    def do_convolution_backward(self, _: torch.fx.Node, up: torch.fx.Node, x: torch.fx.Node, w: torch.fx.Node, bias: object,
                                *how: object) -> list[str | None]:  # fmt: skip
        check_convolution(bias if bias and any(bias) else None, how[:-1])
        taps, pads, needed = list(shape(w)[2:]), list(how[1]) * 2, how[-1]
        swap = [1, 0, *range(2, len(shape(x)))]
        down = None
        if needed[0]:
            down = self.node("ConvTranspose", [self.name(up), self.name(w)], kernel_shape=taps, pads=pads)
        turned = [self.arranged(self.name(x), swap), self.arranged(self.name(up), swap)]
        gradient = self.node("Conv", turned, kernel_shape=list(shape(up)[2:]), pads=pads)
        return [down, self.arranged(gradient, swap), None]


def shape(node: torch.fx.Node) -> tuple[int, ...]:
    return tuple(node.meta["tensor_meta"].shape)


def check_convolution(bias: object, how: tuple) -> None:
    strides, _, dilations, transposed, _, groups = how
    if bias is not None or set(strides) != {1} or set(dilations) != {1} or transposed or groups != 1:
        raise ValueError("a convolution with a bias, strides, dilations or groups")


def mlp(weights: list, x: torch.Tensor) -> torch.Tensor:
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        x = torch.tanh(x @ w + b)
    return x


def cnn(weights: list, x: torch.Tensor) -> torch.Tensor:
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        x = torch.relu(torch.nn.functional.conv2d(x, w, padding=1) + b)
    return x


def transformer(weights: list, x: torch.Tensor) -> torch.Tensor:
    length, width = x.shape
    heads = 4
    for k in range(0, len(weights), 8):
        gain, query, key, value, out, norm, up, down = weights[k : k + 8]
        n = torch.nn.functional.layer_norm(x, (width,)) * gain
        q, k_, v = ((n @ w).reshape(length, heads, width // heads).permute(1, 0, 2) for w in (query, key, value))
        mixed = torch.softmax(q @ k_.transpose(1, 2) * 0.25, -1) @ v
        x = x + mixed.permute(1, 0, 2).reshape(length, width) @ out
        x = x + torch.nn.functional.silu((torch.nn.functional.layer_norm(x, (width,)) * norm) @ up) @ down
    return x


STEPS: dict[str, tuple[Callable, list[tuple[int, ...]], tuple[int, ...]]] = {
    "torch_mlp": (mlp, [(128, 128), (128,)] * 10, (512, 128)),
    "torch_cnn": (cnn, [size for i in range(8) for size in ((16, 16 if i else 3, 3, 3), (16, 1, 1))], (8, 3, 32, 32)),
    "torch_transformer": (transformer, [(64,), *[(64, 64)] * 4, (64,), (64, 256), (256, 64)] * 3, (256, 64)),
}


def step(model: Callable) -> Callable:
    def run(weights: list, momenta: list, x: torch.Tensor, target: torch.Tensor) -> list:
        weights = [w.detach().requires_grad_() for w in weights]
        loss = 0.5 * ((model(weights, x) - target) ** 2).sum()
        gradients = torch.autograd.grad(loss, weights)
        momenta = [0.9 * m + g for m, g in zip(momenta, gradients, strict=True)]
        return [*(w - 0.01 * m for w, m in zip(weights, momenta, strict=True)), *momenta]

    return run


def main(folder: str) -> None:
    torch.manual_seed(0)
    for name, (model, sizes, data) in STEPS.items():
        weights = [torch.randn(size) / 16 for size in sizes]
        momenta = [torch.zeros(size) for size in sizes]
        x = torch.randn(data)
        target = model(weights, x)
        traced = make_fx(step(model), decomposition_table=get_decompositions(SIMPLER))(weights, momenta, x, target)
        traced.graph.eliminate_dead_code()
        torch.fx.passes.shape_prop.ShapeProp(traced).propagate(*weights, *momenta, x, target)
        given = [*weights, *momenta, x, target]
        inputs = [{"name": f"x{i}", "dtype": "f32", "shape": list(value.shape)} for i, value in enumerate(given)]
        inputs[-1]["name"] = "target"
        writer = Writer()
        writer.write(folder, name, inputs, writer.run(traced, [value["name"] for value in inputs]))


if __name__ == "__main__":
    main(sys.argv[1])
