"""The same with tensors of TL Runtime: python rmm_after.py cuda:0, or cpu on a machine without a GPU."""

import sys

import numpy
import tl_runtime as tl

where = sys.argv[1]
tl.set_memory_limit(where, hard=64 << 20)

numbers = numpy.arange(1 << 20, dtype="float32")
first = tl.empty(numbers.shape, "float32", where).copy_from(tl.from_numpy(numbers, copy=False))
second = tl.empty(numbers.shape, "float32", where).copy_from(first)
print(f"{tl.memory_usage(where).in_use >> 20} MiB in use")
print(f"the last number is {second.cpu().numpy()[-1]:.0f}")
try:
    tl.empty(128 << 20, "uint8", where)
except tl.LimitError:
    print("128 MiB are more than the limit")
