"""Sparse matrices, with SciPy and in pickles."""
