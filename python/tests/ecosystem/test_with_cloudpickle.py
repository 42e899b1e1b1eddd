"""cloudpickle, with which Dask, Ray and joblib send functions: one that holds tensors goes to another process."""

from __future__ import annotations

import base64
import pickle

import pytest

numpy = pytest.importorskip("numpy")
cloudpickle = pytest.importorskip("cloudpickle")

import tl_runtime as tl
from conftest import Run
from test_pickling import content, filled


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_function_with_tensors(protocol: int) -> None:
    base = filled((3, 4))
    view = base[1:]
    again, part = pickle.loads(cloudpickle.dumps(lambda: (base, view), protocol))()
    assert part.base.address == again.address and content(part) == content(view)


def test_in_another_process(python: Run) -> None:
    base = filled((30, 40))
    text = base64.b64encode(cloudpickle.dumps(lambda: base.T.numpy().sum())).decode()
    result = python(f"import base64, pickle\nprint(pickle.loads(base64.b64decode('{text}'))())")
    assert int(result.stdout) == int(base.numpy().sum())
