"""Matrices of SciPy's whose arrays a program has replaced: wrong ones are refused before C code follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
sparse = pytest.importorskip("scipy.sparse")

import tl_runtime as tl

FAR = 9_999_999


def ints(*numbers: int, dtype: str = "int32") -> Any:
    return numpy.array(numbers, dtype)


def changed(format: str, **arrays: Any) -> Callable[[], Any]:
    """Makes an identity of four by four whose arrays are replaced by others of these names."""

    def make() -> Any:
        matrix = sparse.eye_array(4).asformat(format, **({"blocksize": (2, 2)} if format == "bsr" else {}))
        for name, array in arrays.items():
            setattr(matrix, name, array)
        return matrix

    return make


def lists(row: list[int], values: list[float]) -> Any:
    matrix = sparse.lil_array(numpy.eye(4))
    matrix.rows[1], matrix.data[1] = row, values
    return matrix


def key() -> Any:
    matrix = sparse.dok_array(numpy.eye(4))
    matrix._dict[FAR, 2] = 1.0
    return matrix


REFUSED = {
    "csr falling": changed("csr", indptr=ints(0, 3, 2, 3, 4)),
    "csc falling": changed("csc", indptr=ints(0, 3, 2, 3, 4)),
    "falling beyond 64 bits": changed(
        "csr", indptr=ints(0, 1 << 62, -(1 << 62), 3, 4, dtype="int64"), indices=ints(0, 1, 2, 3, dtype="int64")
    ),
    "below 0": changed("csr", indptr=ints(-FAR, 1, 2, 3, 4)),
    "first above 0": changed("csr", indptr=ints(1, 1, 2, 3, 4)),
    "last negative": changed("csr", indptr=ints(0, 0, 0, 0, -1)),
    "last beyond the indices": changed("csc", indptr=ints(0, 1, 2, 3, FAR)),
    "last beyond the values": changed("csr", data=numpy.ones(2)),
    "few offsets": changed("csr", indptr=ints(0, 4)),
    "many offsets": changed("csr", indptr=ints(0, 1, 2, 3, 4, 4)),
    "no offsets": changed("csr", indptr=ints()),
    "index beyond the columns": changed("csr", indices=ints(0, 1, 2, FAR)),
    "negative index": changed("csc", indices=ints(0, 1, -FAR, 3)),
    "indices of two dimensions": changed("csr", indices=ints(0, 1, 2, 3)[None]),
    "indices of floats": changed("csr", indices=numpy.arange(4.0)),
    "offsets without a common type": changed("csr", indptr=ints(0, 1, 2, 3, 4, dtype="uint64")),
    "bsr falling": changed("bsr", indptr=ints(0, FAR, 2)),
    "bsr of fewer blocks": changed("bsr", data=numpy.ones((1, 2, 2))),
    "bsr of other blocks": changed("bsr", data=numpy.ones((2, 3, 3))),
    "coo beyond the rows": changed("coo", coords=(ints(0, FAR, -FAR, 3), ints(0, 1, 2, 3))),
    "coo beyond the columns": changed("coo", coords=(ints(0, 1, 2, 3), ints(0, FAR, -FAR, 3))),
    "coo of fewer values": changed("coo", data=numpy.ones(2)),
    "dia of more offsets": changed("dia", offsets=ints(0, 1, 2)),
    "lil of more values": lambda: lists([1], [1.0] * 100_000),
    "lil of fewer values": lambda: lists([1, 2, 3], [1.0]),
    "lil beyond the columns": lambda: lists([FAR], [1.0]),
    "dok beyond the rows": key,
}


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_arrays_that_do_not_belong_together_are_refused(make: Callable[[], Any], copy: bool | None) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        tl.SparseMatrix.from_scipy(make(), copy=copy)


def test_stacking_looks_at_the_offsets_of_each_part() -> None:
    good, bad = sparse.csr_array(numpy.eye(4)), REFUSED["csr falling"]()
    for stack in (tl.SparseMatrix.vstack, tl.SparseMatrix.hstack):
        with pytest.raises(ValueError, match="falls from 3 to 2 at line 1"):
            stack([good, bad])


def test_flags_that_lie_do_no_harm() -> None:
    matrix = changed("csr", indptr=ints(0, 3, 3, 4, 4), indices=ints(2, 0, 2, 1))()
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    want = [[1, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    for copy in (None, True):
        assert tl.SparseMatrix.from_scipy(matrix, copy=copy).toarray().tolist() == want
    with pytest.raises(ValueError, match="row 0 has the index 0 after 2"):
        tl.SparseMatrix.from_scipy(matrix, copy=False)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize(
    ("indices", "offsets", "wider"),
    [("int32", "int64", "int64"), ("int64", "int32", "int64"), ("int16", "uint8", "int32"), (">i4", "<i4", "int32")],
)
def test_indices_and_offsets_of_two_types_become_the_wider_one(
    indices: str, offsets: str, wider: str, copy: bool | None, format: str
) -> None:
    matrix = changed(format)()
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(offsets)
    made = tl.SparseMatrix.from_scipy(matrix, copy=copy)
    assert str(made.index_dtype) == wider
    assert numpy.array_equal(made.toarray(), numpy.eye(4))
    values = made.block(0).values
    assert numpy.shares_memory(values, matrix.data) == (copy is None)  # the values need no copy
    with pytest.raises(ValueError, match=f"have to be copied to {wider}"):
        tl.SparseMatrix.from_scipy(matrix, copy=False)
    shuffled = changed(format, indices=ints(3, 1, 2, 0, dtype=indices), indptr=ints(0, 2, 4, 4, 4, dtype=offsets))()
    made = tl.SparseMatrix.from_scipy(shuffled, copy=copy)
    assert (made.nnz, str(made.index_dtype)) == (4, wider)
