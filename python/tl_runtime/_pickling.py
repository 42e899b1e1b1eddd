"""The names by which pickles hold what tensors and sparse matrices are loaded by. They stay when the functions move."""

from ._sparse.matrix import load_sparse
from ._tensor.pickling import load_buffer, load_bytes, load_tensor

__all__ = ["load_buffer", "load_bytes", "load_sparse", "load_tensor"]
