"""What test_mpi.py runs as several processes: mpi_ranks.py NAME runs the function NAME on each.

A process that fails ends the others, too, by mpi4py.run. At the end nothing of the runtime is live.
"""

from __future__ import annotations

import gc
import pickle
import sys
from typing import Any

import numpy
import tl_runtime as tl
from mpi4py import MPI
from mpi4py.util import pkl5

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
NEXT, LAST = (RANK + 1) % RANKS, (RANK - 1) % RANKS
NUMBERS = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def filled(shape: Any, dtype: str = "float32", start: int = 0) -> tl.Tensor:
    tensor = tl.zeros(shape, dtype)
    array = tensor.numpy()
    array[...] = (numpy.arange(array.size).reshape(array.shape) + start) % 30
    return tensor


def live() -> int:
    gc.collect()
    return tl.stats()["tensors_live"]


def buffers() -> None:
    """A tensor is a buffer of mpi4py's: read and written where it lies."""
    for dtype in [*NUMBERS, "complex64", "complex128"]:
        tensor = filled((7, 5), dtype, RANK)
        address = tensor.address
        COMM.Allreduce(MPI.IN_PLACE, tensor)
        wanted = sum(filled((7, 5), dtype, rank).numpy() for rank in range(RANKS))
        assert tensor.address == address and (tensor.numpy() == wanted).all(), dtype
        got = tl.zeros((7, 5), dtype)
        COMM.Sendrecv(filled((7, 5), dtype, RANK), NEXT, 0, got, LAST, 0)
        assert (got.numpy() == filled((7, 5), dtype, LAST).numpy()).all(), dtype
        COMM.Bcast(got, RANKS - 1)
        assert (got.numpy() == filled((7, 5), dtype, (RANKS - 2) % RANKS).numpy()).all(), dtype
    flags = tl.from_numpy(numpy.arange(RANKS) == RANK)
    COMM.Allreduce(MPI.IN_PLACE, flags, MPI.LOR)
    assert flags.numpy().all()
    everything = tl.zeros((RANKS, 4), "int64")
    COMM.Allgather(filled((4,), "int64", RANK), everything)
    assert (everything.numpy() == [filled((4,), "int64", rank).numpy() for rank in range(RANKS)]).all()


def halves() -> None:
    """MPI has no type of two bytes for floats: as bytes they travel, and they are added as float32."""
    for dtype in ("float16", "bfloat16"):
        tensor = tl.from_numpy(numpy.arange(12, dtype="uint16") + 100 * RANK)
        half = tl.zeros((12,), dtype)
        COMM.Sendrecv([tensor, MPI.BYTE], NEXT, 0, [half, MPI.BYTE], LAST, 0)
        back = tl.zeros((12,), "uint16")
        COMM.Sendrecv([half, MPI.BYTE], LAST, 0, [back, MPI.BYTE], NEXT, 0)
        assert (back.numpy() == tensor.numpy()).all(), dtype


def views() -> None:
    """A view with gaps needs a type of MPI's over its base; transposed as a whole it is a buffer by itself."""
    base = filled((6, 8), "float32", RANK)
    try:
        COMM.Send(base[:, 2], RANK)
        raise AssertionError("a view with gaps was sent")
    except (BufferError, ValueError):
        pass
    column = MPI.FLOAT.Create_vector(6, 1, 8).Commit()
    got = tl.zeros((6,))
    COMM.Sendrecv([base[0, 2:], 1, column], NEXT, 0, got, LAST, 0)
    assert (got.numpy() == filled((6, 8), "float32", LAST).numpy()[:, 2]).all()
    column.Free()
    COMM.Bcast(base.T, 0)
    assert (base.numpy() == filled((6, 8)).numpy()).all()


def requests() -> None:
    """A request holds the tensor until it is complete."""
    before = live()
    tensor = filled((100_000,), "float64", RANK)
    view = tensor.numpy()
    request = COMM.Iallreduce(MPI.IN_PLACE, tensor)
    del tensor
    assert live() == before + 1
    request.Wait()
    assert (view == sum(filled((100_000,), "float64", rank).numpy() for rank in range(RANKS))).all()
    del view, request
    assert live() == before
    sends = [COMM.Isend(filled((50_000,), "int32", RANK + tag), NEXT, tag) for tag in range(3)]
    got = [tl.zeros((50_000,), "int32") for _ in range(3)]
    receives = [COMM.Irecv(got[tag], LAST, tag) for tag in reversed(range(3))]
    MPI.Request.Waitall(sends + receives)
    assert all((got[tag].numpy() == filled((50_000,), "int32", LAST + tag).numpy()).all() for tag in range(3))


def read_only() -> None:
    """What must not be written is sent, and is no place to receive into."""
    array = numpy.arange(10.0)
    array.flags.writeable = False
    tensor = tl.from_dlpack(array)
    got = tl.zeros((10,), "float64")
    COMM.Sendrecv(tensor, NEXT, 0, got, LAST, 0)
    assert (got.numpy() == array).all()
    try:
        COMM.Recv(tensor, RANK)
        raise AssertionError("a read-only tensor was received into")
    except (BufferError, ValueError):
        pass


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all((a[key].numpy() == b[key].numpy()).all() for key in ("base", "rows")) and a["name"] == b["name"]


def made(rank: int) -> dict[str, Any]:
    base = filled((300, 200), "float64", rank)
    return {"base": base, "rows": base[10:20], "name": f"rank {rank}"}


def objects() -> None:
    """Objects with tensors: the elements travel beside the pickle, and arrive as memory that tensors share."""
    comm = pkl5.Intracomm(COMM)
    mine = made(RANK)
    beside: list[pickle.PickleBuffer] = []
    assert len(pickle.dumps(mine, 5, buffer_callback=beside.append)) < 2000 and len(beside) == 1
    request = comm.isend(mine, NEXT, 5)
    got = comm.recv(source=LAST, tag=5)
    request.wait()
    assert same(got, made(LAST)) and got["rows"].base.address == got["base"].address
    assert got["base"].numpy().flags.writeable
    assert same(comm.bcast(mine if RANK == 0 else None, 0), made(0))
    assert all(same(one, made(rank)) for rank, one in enumerate(comm.allgather(mine)))
    scattered = comm.scatter([made(rank) for rank in range(RANKS)] if RANK == 0 else None, 0)
    assert same(scattered, mine)
    # mpi4py's plain methods copy the elements into the pickle, and out of it.
    assert MPI.pickle.PROTOCOL == 5
    request = COMM.isend(mine, NEXT, 6)
    assert same(COMM.recv(source=LAST, tag=6), made(LAST))
    request.wait()


def windows() -> None:
    """A window over a tensor, which holds it."""
    before = live()
    tensor = filled((RANKS,), "int32", 10 * RANK)
    window = MPI.Win.Create(tensor, 4, comm=COMM)
    view = tensor.numpy()
    del tensor
    assert live() == before + 1
    value = tl.from_numpy(numpy.array([RANK], "int32"))
    window.Fence()
    for rank in range(RANKS):
        window.Put(value, rank, RANK)
    window.Fence()
    assert view.tolist() == list(range(RANKS))
    window.Free()
    del view, window, value
    assert live() == before


def memory_of_mpi() -> None:
    """A tensor over MPI's memory."""
    block = MPI.Alloc_mem(8 * 1000)
    tensor = tl.from_numpy(numpy.frombuffer(block, "float64"), copy=False)
    tensor.numpy()[:] = RANK + 1
    COMM.Allreduce(MPI.IN_PLACE, tensor)
    assert (tensor.numpy() == RANKS * (RANKS + 1) / 2).all()
    del tensor
    gc.collect()
    MPI.Free_mem(block)


if __name__ == "__main__":
    begin = {kind: tl.stats()[kind] for kind in ("live_objects", "live_bytes", "foreign_live", "tensors_live")}
    globals()[sys.argv[1]]()
    gc.collect()
    end = {kind: tl.stats()[kind] for kind in begin}
    assert end == begin, (begin, end)
    COMM.Barrier()
    print("well", flush=True)
