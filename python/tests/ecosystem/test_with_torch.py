"""PyTorch: tensors by DLPack in both directions, and by NumPy's arrays."""

from __future__ import annotations

import gc
import pickle

import pytest

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

import tl_runtime as tl


def test_both_directions() -> None:
    ours = tl.from_numpy(numpy.arange(12, dtype="float32").reshape(3, 4))
    theirs = torch.from_dlpack(ours)
    assert theirs.data_ptr() == ours.data
    theirs += 1
    assert ours.numpy()[0, 0] == 1
    again = tl.from_dlpack(theirs.T)
    assert again.data == ours.data and again.shape == (4, 3)


def test_a_model() -> None:
    weights = tl.from_numpy(numpy.ones((2, 3), "float32"))
    layer = torch.nn.Linear(3, 2, bias=False)
    layer.weight = torch.nn.Parameter(torch.from_dlpack(weights))
    layer(torch.ones(1, 3)).sum().backward()
    with torch.no_grad():
        torch.optim.SGD(layer.parameters(), 0.5).step()
    assert (weights.numpy() == 0.5).all()


def test_arrays() -> None:
    ours = tl.from_numpy(numpy.arange(5.0))
    assert torch.from_numpy(ours.numpy()).data_ptr() == ours.data
    assert torch.as_tensor(ours.numpy()).tolist() == [0, 1, 2, 3, 4]


def test_the_tensor_stays() -> None:
    ours = tl.zeros(1000)
    address, theirs = ours.address, torch.from_dlpack(ours)
    del ours
    gc.collect()
    assert tl.Object(address).status == tl.Status.OK and float(theirs.sum()) == 0
    del theirs
    gc.collect()
    assert tl.Object(address).status != tl.Status.OK


def test_pickles_beside_torch() -> None:
    theirs = torch.arange(5.0)
    ours = tl.from_dlpack(theirs)
    again, other = pickle.loads(pickle.dumps((ours, theirs)))
    assert torch.from_dlpack(again).tolist() == other.tolist() == [0, 1, 2, 3, 4]


def test_a_loader_with_workers() -> None:
    """torch.utils.data starts processes, which send back what they load."""
    from torch.utils.data import DataLoader

    tensor = tl.from_numpy(numpy.arange(8.0).reshape(4, 2))
    rows = [row.clone() for row in tensor]
    loader = DataLoader(
        rows, batch_size=None, num_workers=1, collate_fn=None, multiprocessing_context="spawn", pin_memory=False
    )
    assert [batch.numpy().tolist() for batch in loader] == tensor.numpy().tolist()
