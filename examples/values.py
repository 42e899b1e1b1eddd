"""python values.py: a tensor's elements, and NumPy's arithmetic over the runtime's memory."""

import numpy
import tl_runtime as tl

weights = tl.full((2, 3), 0.5)
weights[0] = [1, 2, 3]  # every index and value that NumPy takes
print(repr(weights))

doubled = weights + weights  # NumPy computes: the result is NumPy's array
print(type(doubled).__name__, doubled.tolist())

result = tl.empty((2, 3))
assert numpy.add(weights, 1, out=result) is result  # into the runtime's memory
result *= 10  # and in place
print(type(result).__name__, result.tolist())

print(weights == weights[0], weights.item(0), float(weights.numpy().max()))

with tl.MemoryPool("cpu", initial_bytes=1 << 20) as pool:
    scratch = pool.empty((64, 64), "float32")  # a tensor in a block of the pool
    print(pool.statistics.current_usage, "bytes of the pool are in use")
    del scratch  # the block goes back with the last holder of the memory

matrix = tl.SparseMatrix.from_coo((2, 3), [1.0, 2.0], [0, 1], [2, 0])
print(matrix.toarray().tolist(), matrix @ numpy.ones(3))
