"""Two buffers of a GPU from RMM's pool, which may grow to 64 MiB."""

import numpy
import rmm
import rmm.mr
import rmm.statistics

pool = rmm.mr.PoolMemoryResource(
    rmm.mr.CudaMemoryResource(), initial_pool_size=32 << 20, maximum_pool_size=64 << 20
)
rmm.mr.set_current_device_resource(pool)
rmm.statistics.enable_statistics()

numbers = numpy.arange(1 << 20, dtype="float32")
first = rmm.DeviceBuffer.to_device(numbers.view("uint8"))
second = rmm.DeviceBuffer(size=numbers.nbytes)
second.copy_from_device(first)
print(f"{rmm.statistics.get_statistics().current_bytes >> 20} MiB in use")
print(f"the last number is {second.copy_to_host().view('float32')[-1]:.0f}")
try:
    rmm.DeviceBuffer(size=128 << 20)
except MemoryError:
    print("128 MiB are more than the limit")
