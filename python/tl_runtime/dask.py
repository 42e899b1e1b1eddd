"""Tensors with Dask, whose package `distributed` has to be installed.

    import tl_runtime.dask                              # tensors and sparse matrices travel as frames of their memory

The import registers serialisers, `sizeof` and `tokenize` for Tensor and SparseMatrix, in this process.
"""

from ._dask_frames import register

__all__: list[str] = []

register()
