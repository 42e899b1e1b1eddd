"""What calls from Python are measured against."""

from __future__ import annotations

from bounds import Beside, Plain, Ratio, Row, Table

# Operations, and how often the time of NumPy's they may take.
_CALLS = (
    ("empty", "tl.empty((64, 64)) beside np.empty", 0.9),
    ("numpy", "tl.empty((64, 64)).numpy() beside np.empty", 1.5),
    ("T", "t.T", 3),
    ("slice", "t[1:5, 2:6]", 3),
    ("position", "t[3, 4], a view", 3),
    ("from_dlpack", "tl.from_dlpack(array)", 2),
    ("add", "t + u, 64 by 64 float32", 1.5),
    ("multiply", "t * 2, 64 by 64 float32", 1.5),
    ("ufunc", "np.add(t, u), 64 by 64 float32", 1.5),
    ("out", "np.add(t, u, out=v), 64 by 64 float32", 2),  # NumPy's own dispatch to another class takes half a call
    ("set_element", "t[3, 4] = 1.5", 1.5),
    ("set_row", "t[3] = 1.5, 64 elements", 1.5),
    ("set_all", "t[...] = u, 64 by 64 float32", 1.5),
)


def _rows() -> list[Row]:
    rows = [Row(what, f"calls/{name}/tl", Ratio(limit, f"calls/{name}/numpy-tl")) for name, what, limit in _CALLS]
    rows += [Row(f"{what}, by ctypes", f"calls/{name}/ctypes", Beside(f"calls/{name}/numpy-ctypes")) for name, what, _ in _CALLS]
    for way, what in (("tl", ""), ("ctypes", ", by ctypes")):
        rows += [
            Row(
                f"tl.empty((8, 8)) recorded with a stack of {depth} frames of Python{what}, beside one that is not recorded",
                f"calls/recorded/{depth}/{way}",
                Beside(f"calls/unrecorded/{depth}/{way}"),
            )
            for depth in (10, 50)
        ]
    rows.append(Row("import tl_runtime beside import numpy", "calls/import/tl", Ratio(1.3, "calls/import/numpy")))
    rows.append(Row("digits training, arrays over tensors", "calls/digits/runtime", Ratio(1.05, "calls/digits/numpy")))
    rows.append(Row("the same under tl.numpy_allocator()", "calls/digits/allocator", Ratio(1.05, "calls/digits/numpy")))
    return rows


CALLS = Table(
    "Calls from Python, beside NumPy's",
    "With the extension module tl_runtime._fast, and without it. Imports and trainings are whole processes; a training's "
    "time is that of its epochs.",
    _rows(),
    needs="NumPy",
)

# 100 MB to a child: a millisecond until they are mapped.
PROCESSES = Table(
    "100 MB to another process, through a queue of multiprocessing's",
    "Until the child has the object. A shared tensor is mapped then and was not touched; \"read\" goes on until the child has "
    "read a byte of each page.",
    [
        Row("a shared tensor", "processes/mapped/tl", Plain(1e6)),
        Row("a shared tensor beside an array", "processes/mapped/tl", Beside("processes/mapped/numpy")),
        Row("a shared tensor, read, beside an array", "processes/touched/tl", Beside("processes/touched/numpy")),
        Row("a tensor of the CPU beside an array", "processes/mapped/cpu", Beside("processes/mapped/numpy")),
    ],
    needs="NumPy",
)

# Peak memory of a program that churns arrays under tl.numpy_allocator(), over that with NumPy's own memory.
CHURN = 1.5
