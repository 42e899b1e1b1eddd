"""A plugin for the tests with libraries that the package does not need: .ci/ecosystem installs them and runs these.

Each file, test_with_NAME.py, is about one library. What is not installed is skipped, and a line says so.
"""

from __future__ import annotations

import importlib.metadata
from collections import Counter

import pytest

LIBRARIES = {
    "numpy": "NumPy",
    "scipy": "SciPy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "polars": "Polars",
    "numba": "Numba",
    "sklearn": "scikit-learn",
    "torch": "PyTorch",
    "jax": "JAX",
    "cloudpickle": "cloudpickle",
    "dask": "Dask",
    "ray": "Ray",
    "cupy": "CuPy",
    "memray": "memray",
    "duckdb": "DuckDB",
}
DISTRIBUTIONS = {"sklearn": ["scikit-learn"], "dask": ["distributed"], "cupy": ["cupy-cuda12x", "cupy-cuda13x", "cupy"]}


def version_of(name: str) -> str | None:
    for distribution in DISTRIBUTIONS.get(name, [name]):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def library_of(nodeid: str) -> str:
    """The library of a test: ecosystem/test_with_NAME.py."""
    file = nodeid.partition("::")[0].rpartition("/")[2]
    return file.removeprefix("test_with_").removesuffix(".py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each library, which is its row of the table in docs/python-ecosystem.md."""
    ends: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if "/test_with_" in report.nodeid:
                ends.setdefault(library_of(report.nodeid), Counter())[outcome] += 1
    for name, counts in ends.items():
        found, shown = version_of(name), LIBRARIES.get(name, name)
        told = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
        terminalreporter.write_line(f"{shown} {found}: {told}" if found else f"skip: {shown} is not installed")
