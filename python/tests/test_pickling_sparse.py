"""Pickles and copies of sparse matrices, and of tensors on devices."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
sparse = pytest.importorskip("scipy.sparse")

import tl_runtime as tl
from test_device_tensors import Far
from test_pickling import content, every_way, filled, in_band

FORMATS = ("csr", "csc")


def matrix(rows: int = 12, columns: int = 9, format: str = "csr", index: Any = numpy.int32) -> Any:
    made = sparse.random_array((rows, columns), density=0.3, format=format, rng=5)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    made.sort_indices()
    return made


def same(ours: tl.SparseMatrix, theirs: Any) -> bool:
    ours.validate()
    return ours.shape == theirs.shape and ours.nnz == theirs.nnz and (ours.to_scipy() != theirs).nnz == 0


@every_way
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("index", [numpy.int32, numpy.int64])
@pytest.mark.parametrize("copied", [False, True])
def test_every_kind(way: Any, format: str, index: Any, copied: bool) -> None:
    given = matrix(format=format, index=index)
    ours = tl.SparseMatrix.from_scipy(given, copy=copied)
    again = way(ours)
    assert same(again, given)
    assert (again.format, again.dtype, again.index_dtype) == (ours.format, ours.dtype, ours.index_dtype)
    assert not again.is_read_only


@every_way
def test_values_of_32_bits(way: Any) -> None:
    given = matrix().astype(numpy.float32)
    assert same(way(tl.SparseMatrix.from_scipy(given)), given)


@every_way
@pytest.mark.parametrize("copied", [False, True])
def test_slices_and_transposes_share(way: Any, copied: bool) -> None:
    given = matrix()
    ours = tl.SparseMatrix.from_scipy(given, copy=copied)
    assert ours.block_count == 1
    part, again, turned = way((ours[3:9], ours, ours.T))
    assert same(part, given[3:9]) and same(again, given) and same(turned, given.T)
    again.row(4).values[:] = 77
    assert (part.row(1).values == 77).all() and (turned.column(4).values == 77).all()
    assert same(ours, given)


@every_way
def test_a_slice_alone(way: Any) -> None:
    given = matrix()
    part = tl.SparseMatrix.from_scipy(given)[5:8]
    assert same(way(part), given[5:8])
    assert same(way(part.T), given[5:8].T)


@every_way
def test_many_blocks(way: Any) -> None:
    given = sparse.random_array((400, 300), density=0.3, format="csr", rng=7)
    ours = tl.SparseMatrix.from_scipy(given, copy=True)
    assert ours.block_count > 1
    assert same(way(ours), given)
    assert same(way(ours.T[:, 100:300]), given.T[:, 100:300])


def many(format: str = "csr", index: Any = numpy.int32) -> tuple[tl.SparseMatrix, Any]:
    """A matrix of several blocks, and the same of SciPy's."""
    given = matrix(400, 400, format, index)
    ours = tl.SparseMatrix.from_scipy(given, copy=True)
    assert ours.block_count > 3
    return ours, given


def parts(whole: Any, format: str) -> list[Any]:
    """Slices of blocks and through blocks, from the beginning, to the end, of one line and of none."""
    bounds = [(0, 400), (0, 7), (3, 350), (150, 151), (390, 400), (200, 200)]
    return [whole[a:b] if format == "csr" else whole[:, a:b] for a, b in bounds]


@every_way
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("index", [numpy.int32, numpy.int64])
def test_slices_and_transposes_of_many_blocks_share(way: Any, format: str, index: Any) -> None:
    ours, given = many(format, index)
    again, turned, *rest = way((ours, ours.T, *parts(ours, format), ours.T.T))
    wanted = [given, given.T, *parts(given, format), given]
    for got, want in zip((again, turned, *rest), wanted):
        assert same(got, want)
    for line in range(400):
        again.line(line).values[:] = line
    for got, begin in zip((turned, *rest), (0, 0, 0, 3, 150, 390, 200, 0)):
        for at, line in enumerate(got.lines()):
            assert (line.values == begin + at).all()
    assert same(ours, given)


@every_way
def test_a_slice_of_many_blocks_before_its_matrix(way: Any) -> None:
    """It brings its own blocks; those that follow share with whichever has all their lines."""
    ours, given = many()
    part, whole, turned, inner = way((ours[100:200], ours, ours.T, ours[150:160]))
    assert same(part, given[100:200]) and same(whole, given) and same(turned, given.T) and same(inner, given[150:160])
    whole.row(155).values[:] = 66
    assert (inner.row(5).values == 66).all() and (turned.column(155).values == 66).all()


def test_many_blocks_are_in_a_pickle_once() -> None:
    ours, _ = many()
    alone = pickle.dumps(ours, 5)
    assert len(pickle.dumps((ours, ours.T, ours[3:390], ours[100:]), 5)) < len(alone) + 8000
    buffers: list[Any] = []
    stream = pickle.dumps((ours, ours.T, ours[3:390]), 5, buffer_callback=buffers.append)
    assert len(stream) < 3000 and len(buffers) == 4  # and the offsets of the slice
    assert len(pickle.dumps(ours[0:10], 5)) < len(alone) / 10  # the block that has it


def test_what_a_pickler_remembers_is_no_matrix_of_another_pickle() -> None:
    """Elements are those of the moment, in each pickle, though one before is not complete."""
    ours, _ = many()
    first = pickle.Pickler(io.BytesIO(), 5)
    first.dump(ours)
    ours.row(7).values[:] = 5
    assert (in_band(ours).row(7).values == 5).all()
    ours.row(7).values[:] = 6
    assert (in_band((ours, ours.T))[1].column(7).values == 6).all()
    assert (copy.deepcopy(ours).row(7).values == 6).all()
    first.clear_memo()
    del ours
    gc.collect()
    for _ in range(20):  # other blocks in the same places
        other, given = many()
        assert same(in_band(other[5:]), given[5:])


@every_way
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
@pytest.mark.parametrize("format", FORMATS)
def test_without_elements(way: Any, shape: tuple[int, int], format: str) -> None:
    given = getattr(sparse, format + "_array")(shape)
    assert same(way(tl.SparseMatrix.from_scipy(given)), given)
    lines = shape[FORMATS.index(format)]
    assert way(tl.SparseMatrix.empty(shape, [0] * lines, format=format)).shape == shape


def test_out_of_band_nothing_is_copied() -> None:
    given = matrix()
    ours = tl.SparseMatrix.from_scipy(given)
    buffers: list[Any] = []
    stream = pickle.dumps(ours, 5, buffer_callback=buffers.append)
    assert len(buffers) == 3 and len(stream) < 600
    received = [bytearray(buffer.raw()) for buffer in buffers]
    again = pickle.loads(stream, buffers=received)
    again.row(4).values[:] = 55
    values = numpy.frombuffer(received[0], numpy.float64)
    assert (values[given.indptr[4] : given.indptr[5]] == 55).all()
    read_only = pickle.loads(stream, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert read_only.is_read_only and same(read_only, given)


def test_copies() -> None:
    given = matrix()
    ours = tl.SparseMatrix.from_scipy(given)
    for again in (copy.copy(ours), copy.deepcopy(ours)):
        again.row(4).values[:] = 55
        assert same(ours, given)


def test_the_arrays_of_a_block_travel_by_themselves() -> None:
    """Views of a block have other elements than the block, which is of bytes."""
    given = matrix()
    ours = tl.SparseMatrix.from_scipy(given, copy=True)
    values = ours.block(0).values
    assert (in_band(values) == given.data).all()
    with tl.scope():
        made = ours._tensors(tl.lib.tl_sparse_block_tensors, 0)
        again = in_band(made)
    assert [content(tensor) for tensor in again] == [content(tensor) for tensor in made]
    assert [tensor.dtype for tensor in again] == [tensor.dtype for tensor in made]


# ---- devices ------------------------------------------------------------------------------------


@every_way
def test_a_tensor_comes_back_to_its_device(way: Any) -> None:
    far = Far()
    device = far.register()
    source = filled((4, 6), "float64")
    base = source.to(device)
    again, part = way((base, base.T[1:3]))
    assert again.device == part.device == device.number
    assert part.base.address == again.address != base.address
    assert content(again) == content(source) and content(part) == content(source.T[1:3])
    again.copy_from(tl.zeros((4, 6), "float64", "cpu"))
    assert content(part) == bytes(part.nbytes)
    del base, again, part
    tl.purge()


def test_a_device_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = filled(3).to(Far().register())
    name = tl.device(tensor.device).name
    stream = pickle.dumps(tensor, 4)
    assert name.encode() in stream
    gone = stream.replace(name.encode(), b"g" * len(name))
    with pytest.raises(tl.DeviceError, match="which this process does not have.*pickle tensor.cpu"):
        pickle.loads(gone)
    del tensor
    tl.purge()
