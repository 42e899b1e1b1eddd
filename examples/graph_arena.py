"""TL_RUNTIME_LIBRARY=.../libtl_runtime_full.so python graph_arena.py"""

import numpy as np

import tl_runtime as tl

WEIGHTS = np.zeros((8, 1), np.float32)


def train():
    """A step of gradient descent for x w = target. w is a state: w before a call and new after it are one tensor."""
    graph = tl.Graph("train")
    x, target = graph.input("x", "float32", (32, 8)), graph.input("target", "float32", (32, 1))
    w = graph.constant("w", WEIGHTS)  # what the state begins with
    error = graph.add("Sub", graph.add("MatMul", x, w), target)
    gradient = graph.add("MatMul", graph.add("Transpose", x, perm=[1, 0]), error)
    step = graph.add("Mul", gradient, graph.constant("rate", np.float32(0.02)))
    graph.output(graph.add("Sub", w, step, outputs="new"))
    graph.output(graph.add("ReduceMean", graph.add("Mul", error, error), keepdims=0, outputs="loss"))
    graph.state("weights", "w", "new")
    return graph


def predict():
    graph = tl.Graph("predict")
    graph.output(graph.add("MatMul", graph.input("x", "float32", (1, 8)), graph.input("w", "float32", (8, 1))))
    graph.state("weights", "w")
    return graph


arena = tl.plan_together([train(), predict()])
print(f"an arena of {arena.nbytes} bytes, {arena.separate_bytes} with plans of their own")
for state in arena.states:
    print(f"{state.name}: {state.dtype}{list(state.shape)} at {state.offset}")
for name, plan in arena.entries.items():
    print(f"{name} takes {plan.frame_bytes} bytes of it")

model = arena.compile()
x = np.random.default_rng(1).standard_normal((32, 8)).astype(np.float32)
target = x @ np.arange(8, dtype=np.float32).reshape(8, 1)
losses = [float(model["train"](x, target)) for _ in range(100)]
print(f"the loss falls from {losses[0]:.1f} to {losses[-1]:.4f}")
print("the weights are", np.round(model.states["weights"].ravel(), 1))
print("predicted:", np.round(model["predict"](np.ones((1, 8), np.float32)), 1).item())
