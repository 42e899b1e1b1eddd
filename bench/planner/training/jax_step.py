"""Training steps written with JAX, as graphs of `tl`: traced by jax.make_jaxpr, forward, backward by jax.grad, and SGD with
momentum.

    jax_step.py FOLDER

writes jax_mlp.json and jax_cnn.json. Those in bench/planner/training/recorded were made by it; JAX is not
needed to measure them.
"""

from __future__ import annotations

import base64
import json
import pathlib
import string
import sys

import jax
import jax.numpy as jnp
import numpy as np

DTYPES = {"float32": "f32", "int32": "i32", "int64": "i64", "bool": "bool"}
SAME = {"add": "Add", "add_any": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "neg": "Neg",
        "exp": "Exp", "log": "Log", "tanh": "Tanh", "logistic": "Sigmoid", "sqrt": "Sqrt", "erf": "Erf", "abs": "Abs",
        "gt": "Greater", "lt": "Less", "ge": "GreaterOrEqual", "le": "LessOrEqual", "eq": "Equal", "pow": "Pow",
        "copy": "Identity", "stop_gradient": "Identity", "and": "And", "or": "Or", "not": "Not"}  # fmt: skip
INNER = {"pjit": "jaxpr", "jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "closed_call": "call_jaxpr"}


class Writer:
    """A jaxpr as nodes and constants of a graph of `tl` in JSON, in order; a value is known by its name."""

    def __init__(self) -> None:
        self.names: dict[object, str] = {}
        self.nodes: list[dict] = []
        self.constants: list[dict] = []
        self.known: dict[bytes, str] = {}

    def constant(self, value: object) -> str:
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        key = repr((array.dtype, array.shape)).encode() + array.tobytes()
        if key not in self.known:
            self.known[key] = f"c{len(self.known)}"
            data = array.tolist() if np.isfinite(array).all() else base64.b64encode(array.tobytes()).decode()
            self.constants.append({"name": self.known[key], "dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data": data})
        return self.known[key]

    def node(self, op: str, inputs: list[str], **attrs: object) -> str:
        out = f"v{len(self.nodes)}"
        self.nodes.append({"name": out, "op": op, "inputs": inputs, "outputs": [out], **({"attrs": attrs} if attrs else {})})
        return out

    def arranged(self, name: str, perm: list[int]) -> str:
        return name if perm == sorted(perm) else self.node("Transpose", [name], perm=perm)

    def write(self, folder: str, name: str, inputs: list[dict], outputs: list[str]) -> None:
        graph = {"tl_graph": 1, "name": name, "inputs": inputs, "outputs": outputs, "constants": self.constants, "nodes": self.nodes}
        text = json.dumps(graph).replace('{"name"', '\n{"name"')
        (pathlib.Path(folder) / f"{name}.json").write_text(text + "\n")

    def name(self, atom: object) -> str:
        if hasattr(atom, "val"):
            return self.constant(np.asarray(atom.val, atom.aval.dtype))
        return self.names[atom]

    def run(self, jaxpr: object, inputs: list[str]) -> list[str]:
        inner = getattr(jaxpr, "jaxpr", jaxpr)
        for variable, value in zip(inner.constvars, getattr(jaxpr, "consts", []), strict=False):
            self.names[variable] = self.constant(value)
        for variable, name in zip(inner.invars, inputs, strict=True):
            self.names[variable] = name
        for equation in inner.eqns:
            operands = [self.name(atom) for atom in equation.invars]
            primitive = equation.primitive.name
            if primitive in INNER:
                results = self.run(equation.params[INNER[primitive]], operands)
            else:
                results = [self.one(primitive, equation, operands)]
            for variable, name in zip(equation.outvars, results, strict=True):
                self.names[variable] = name
        return [self.name(atom) for atom in inner.outvars]

    def one(self, primitive: str, equation: object, operands: list[str]) -> str:
        if primitive in SAME:
            return self.node(SAME[primitive], operands)
        return getattr(self, primitive)(equation, operands, equation.params)

    def reshape(self, equation: object, operands: list[str], _: dict) -> str:
        return self.node("Reshape", operands, shape=list(equation.outvars[0].aval.shape))

    squeeze = expand_dims = reshape

    def convert_element_type(self, equation: object, operands: list[str], params: dict) -> str:
        if equation.invars[0].aval.dtype == params["new_dtype"]:
            return operands[0]
        return self.node("Cast", operands, to=DTYPES[np.dtype(params["new_dtype"]).name])

    def integer_pow(self, _: object, operands: list[str], params: dict) -> str:
        if params["y"] == 2:
            return self.node("Mul", operands * 2)
        if params["y"] == -1:
            return self.node("Reciprocal", operands)
        return self.node("Pow", [*operands, self.constant(np.float32(params["y"]))])

    def square(self, _: object, operands: list[str], __: dict) -> str:
        return self.node("Mul", operands * 2)

    def transpose(self, _: object, operands: list[str], params: dict) -> str:
        return self.node("Transpose", operands, perm=list(params["permutation"]))

    def broadcast_in_dim(self, equation: object, operands: list[str], params: dict) -> str:
        shape = list(params["shape"])
        given = [1] * len(shape)
        for axis, extent in zip(params["broadcast_dimensions"], equation.invars[0].aval.shape, strict=True):
            given[axis] = extent
        name = operands[0]
        if given != list(equation.invars[0].aval.shape):
            name = self.node("Reshape", [name], shape=given)
        return name if given == shape else self.node("Expand", [name, self.constant(np.array(shape, np.int64))])

    def reduce_sum(self, _: object, operands: list[str], params: dict) -> str:
        return self.node("ReduceSum", operands, axes=list(params["axes"]), keepdims=0)

    def select_n(self, _: object, operands: list[str], __: dict) -> str:
        return self.node("Where", [operands[0], operands[2], operands[1]])

    def rev(self, equation: object, operands: list[str], params: dict) -> str:
        shape, axes = equation.invars[0].aval.shape, list(params["dimensions"])
        return self.node("Slice", operands, axes=axes) if not axes else self.node(
            "Slice", [*operands, *(self.constant(np.array(list_, np.int64)) for list_ in (
                [shape[a] - 1 for a in axes], [-shape[a] - 1 for a in axes], axes, [-1] * len(axes)))])  # fmt: skip

    def dot_general(self, equation: object, operands: list[str], params: dict) -> str:
        (contract_a, contract_b), (batch_a, batch_b) = params["dimension_numbers"]
        letters = iter(string.ascii_lowercase)
        a = [next(letters) for _ in equation.invars[0].aval.shape]
        b = [next(letters) for _ in equation.invars[1].aval.shape]
        for i, k in [*zip(contract_a, contract_b, strict=True), *zip(batch_a, batch_b, strict=True)]:
            b[k] = a[i]
        out = [a[i] for i in batch_a] + [x for i, x in enumerate(a) if i not in (*contract_a, *batch_a)]
        out += [x for i, x in enumerate(b) if i not in (*contract_b, *batch_b)]
        return self.node("Einsum", operands, equation=f"{''.join(a)},{''.join(b)}->{''.join(out)}")

    def conv_general_dilated(self, equation: object, operands: list[str], params: dict) -> str:
        numbers = params["dimension_numbers"]
        assert params["batch_group_count"] == params["feature_group_count"] == 1 and set(params["lhs_dilation"]) == {1}
        x = self.arranged(operands[0], list(numbers.lhs_spec))
        w = self.arranged(operands[1], list(numbers.rhs_spec))
        pads = [low for low, _ in params["padding"]] + [high for _, high in params["padding"]]
        taps = [equation.invars[1].aval.shape[i] for i in numbers.rhs_spec[2:]]
        y = self.node("Conv", [x, w], kernel_shape=taps, pads=pads, strides=list(params["window_strides"]), dilations=list(params["rhs_dilation"]))
        return self.arranged(y, [list(numbers.out_spec).index(i) for i in range(len(numbers.out_spec))])


def mlp(weights: list, x: jax.Array) -> jax.Array:
    for w, b in weights:
        x = jnp.tanh(x @ w + b)
    return x


def cnn(weights: list, x: jax.Array) -> jax.Array:
    for w, b in weights:
        x = jax.nn.relu(jax.lax.conv(x, w, (1, 1), "SAME") + b)
    return x


def shapes(*list_: tuple) -> list:
    return [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in list_]


STEPS = {
    "jax_mlp": (mlp, [tuple(shapes((128, 128), (128,)))] * 10, (512, 128)),
    "jax_cnn": (cnn, [tuple(shapes((16, 3 if i == 0 else 16, 3, 3), (16, 1, 1))) for i in range(8)], (8, 3, 32, 32)),
}


def step(model: object) -> object:
    def loss(weights: list, x: jax.Array, target: jax.Array) -> jax.Array:
        return 0.5 * ((model(weights, x) - target) ** 2).sum()

    def run(weights: list, momenta: list, x: jax.Array, target: jax.Array) -> tuple:
        gradients = jax.grad(loss)(weights, x, target)
        momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, gradients)
        return jax.tree.map(lambda w, m: w - 0.01 * m, weights, momenta), momenta

    return run


def main(folder: str) -> None:
    for name, (model, weights, data) in STEPS.items():
        x = jax.ShapeDtypeStruct(data, jnp.float32)
        target = jax.eval_shape(model, weights, x)
        jaxpr = jax.make_jaxpr(step(model))(weights, weights, x, target)
        writer = Writer()
        inputs = [{"name": f"x{i}", "dtype": "f32", "shape": list(v.aval.shape)} for i, v in enumerate(jaxpr.jaxpr.invars)]
        inputs[-1]["name"] = "target"
        outputs = writer.run(jaxpr, [value["name"] for value in inputs])
        writer.write(folder, name, inputs, outputs)


if __name__ == "__main__":
    main(sys.argv[1])
