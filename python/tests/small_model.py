"""A model of one layer, and rows for it."""

import json

import numpy as np

WEIGHTS = [[1.0, 0.5, -1.0], [0.0, 2.0, 0.25]]
GRAPH = {
    "tl_graph": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 2]}],
    "outputs": ["y"],
    "constants": [{"name": "w", "dtype": "f32", "shape": [2, 3], "data": WEIGHTS}],
    "nodes": [
        {"op": "MatMul", "inputs": ["x", "w"], "outputs": ["h"]},
        {"op": "Relu", "inputs": ["h"], "outputs": ["y"]},
    ],
}


def written(folder, graph=None, name="perceptron"):
    """The file of the model, or of another graph, written to a folder."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(graph or GRAPH))
    return path


def rows(n):
    """Random rows, the same for each n."""
    return np.random.default_rng(n).standard_normal((n, 2)).astype(np.float32)


def expected(x):
    """What the model makes of rows."""
    return np.maximum(x @ np.array(WEIGHTS, np.float32), 0)
