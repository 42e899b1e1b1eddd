"""Networks that PyTorch exported (exports/make_exports.py), through `tl run`, beside onnxruntime on the same inputs.

TL_EXPORTS names their folder; `make test-exports` makes it.
"""

import os
import pathlib

import models
import numpy as np
import pytest
from planned import needs_tool, output, run

pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

FOLDER = os.environ.get("TL_EXPORTS")
EXPORTS = sorted(pathlib.Path(FOLDER).glob("*.onnx")) if FOLDER else []


@needs_tool
@pytest.mark.skipif(not FOLDER, reason="TL_EXPORTS names no folder of networks that PyTorch exported")
@pytest.mark.parametrize("model", EXPORTS, ids=lambda path: path.stem)
def test_export(model, tmp_path):
    peer = models.session(model)
    known = {value.name for value in peer.get_inputs()}
    with np.load(model.with_suffix(".npz")) as file:
        given = {name: file[name] for name in file.files if name in known}
    wanted = peer.run(None, given)
    extents = [pair for value in peer.get_inputs() for pair in zip(value.shape, given[value.name].shape)]
    sizes = {symbol: size for symbol, size in extents if isinstance(symbol, str)}
    bind = [word for symbol, size in sizes.items() for word in ("--bind", f"{symbol}={size}")]
    outputs, report = run(model, given, tmp_path, *bind)
    assert 0 <= report["frame_bytes"] <= report["naive_bytes"]
    for value, array in zip(peer.get_outputs(), wanted, strict=True):
        got = output(outputs, value.name)
        assert got.shape == array.shape
        assert got.dtype == array.dtype
        np.testing.assert_allclose(got, array, rtol=2e-3, atol=2e-3 * max(np.abs(array).max(initial=0), 1e-6))
