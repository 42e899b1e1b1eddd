"""TL_RUNTIME_LIBRARY=.../libtl_runtime_full.so python graph.py"""

import numpy as np

import tl_runtime as tl

weights = np.linspace(-1, 1, 8 * 16, dtype=np.float32).reshape(8, 16)

graph = tl.Graph("network")
x = graph.input("x", "float32", ("batch", 8))
h = graph.add("MatMul", x, graph.constant("w", weights))
y = graph.add("MatMul", graph.add("Tanh", h), graph.constant("v", weights.T))
graph.output(graph.add("Softmax", y, axis=1))
graph.bind(batch=4)

execution = graph.plan()
print(f"a frame of {execution.frame_bytes} bytes, {execution.naive_bytes} without a plan")
for instruction in execution.instructions:
    result = execution.buffers[instruction.outputs[0].buffer]
    print(instruction.op, "->", result.kind, "of", result.nbytes, "bytes, offset", result.offset)

network = execution.compile()  # by llvmlite or clang
scores = network(np.ones((4, 8), np.float32))
print(f"{network}\nthe scores of a row add up to {scores[0].sum():.3f}")

try:
    graph.output("lost")
    graph.plan()
except tl.Error as error:
    print(f"what is wrong is an exception:\n  {error}")
