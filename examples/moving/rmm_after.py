"""The same with TL Runtime: python rmm_after.py cuda:0, or cpu on a machine without a GPU."""

import sys

import numpy
import tl_runtime as tl

pool = tl.MemoryPool(sys.argv[1], initial_bytes=32 << 20, limit=64 << 20)

numbers = numpy.arange(1 << 20, dtype="float32")
first = pool.empty(numbers.shape, "float32").copy_from(tl.from_numpy(numbers, copy=False))
second = pool.empty(numbers.shape, "float32").copy_from(first)
print(f"{pool.statistics.current_usage >> 20} MiB in use")
print(f"the last number is {second.cpu().numpy()[-1]:.0f}")
try:
    pool.allocate(128 << 20)
except tl.LimitError:
    print("128 MiB are more than the limit")
