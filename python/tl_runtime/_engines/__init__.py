"""Compiled models and what runs them: this process, Dask, MPI."""
