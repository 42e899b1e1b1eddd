"""python hello.py"""

import tl_runtime as tl

with tl.scope():  # what compiled code registers here is released at the end of the block
    weights = tl.zeros((64, 64), "float32")
    array = weights.numpy()  # the same memory, without a copy
    array[0, 0] = 42

print(f"{array.size} elements, the answer is {array[0, 0]:.0f}")
print(f"{tl.stats()['tensors_live']} tensor is live")
del weights, array  # the last array takes the tensor with it
print(f"{tl.stats()['tensors_live']} are live")

try:
    tl.Object(0x1000).release()
except tl.Error as error:
    print(f"a bad pointer is an exception, not a crash:\n  {error}")
