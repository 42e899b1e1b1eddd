"""The name by which pickles hold what a compiled model is loaded by. It stays when the function moves."""

from ._engines.model import load_model

__all__ = ["load_model"]
