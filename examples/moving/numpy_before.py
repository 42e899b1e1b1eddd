"""A few steps of a computation; tracemalloc tells the memory that it takes."""

import tracemalloc

import numpy as np


def smoothed(image: np.ndarray) -> np.ndarray:
    """Returns the mean of each pixel and its four neighbours."""
    wide = np.pad(image, 1, mode="edge")
    return (wide[1:-1, 1:-1] + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) / 5


tracemalloc.start()
image = np.zeros((256, 256))
image[128, 128] = 1000
for _ in range(10):
    image = smoothed(image)
print(f"the middle is {image[128, 128]:.3f}")
now, peak = tracemalloc.get_traced_memory()
print(f"{now / 2**20:.1f} MiB in use, at most {peak / 2**20:.1f}")
