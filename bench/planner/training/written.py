"""Graphs of `tl` in JSON, as tracers write them."""

from __future__ import annotations

import base64
import json
import pathlib

import numpy as np

DTYPES = {"float32": "f32", "int32": "i32", "int64": "i64", "bool": "bool"}


class Graph:
    """Nodes and constants, in order; a value is known by its name."""

    def __init__(self) -> None:
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
