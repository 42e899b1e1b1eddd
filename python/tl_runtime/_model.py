"""Compiled models: what `tl compile` writes, run in this process or by an engine that runs others.

    model = tl.Model("model.onnx", bind={"N": 64})
    scores = model(images)                             # any number of rows
    scores = model.map(images, on=client, progress=True)   # on the workers of a dask.distributed.Client
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import math
import operator
import os
import pickle
import platform
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._dtype import BY_NAME, DType
from ._library import check, make_symbols_global

if TYPE_CHECKING:
    import numpy

_FORMAT = 1  # cmd/tl/compile.go writes it
_PARTS = ("module.so", "constants", "model.json")
_MACHINES = {"amd64": ("x86_64", "AMD64"), "arm64": ("aarch64", "arm64")}
_NAMES = {"f": "float", "i": "int", "u": "uint", "b": "bfloat"}

Arrays = Any  # of NumPy, or what NumPy makes an array of


def _dtype(name: str) -> DType:
    """Returns the element type that the graph's form calls so: f32, i64, bf16, bool."""
    kind = name.rstrip("0123456789")
    return BY_NAME[name if name in BY_NAME else _NAMES[kind[0]] + name[len(kind) :]]


@dataclass(frozen=True)
class ModelTensor:
    """An input or an output of a model, of one sample.

    symbol is the symbol whose number the first axis is, else "": a caller may pass any number of rows of it.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    symbol: str = ""

    def __str__(self) -> str:
        axes = [self.symbol or str(n) for n in self.shape[:1]] + [str(n) for n in self.shape[1:]]
        return f"{self.name}: {self.dtype}[{', '.join(axes)}]"


def _cache() -> Path:
    """Returns the folder of unpacked models, which the program tl uses as well."""
    folder = os.environ.get("TL_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder or os.path.join(user, "tl")) / "models"


def _unpack(content: bytes, digest: str, source: str) -> Path:
    """Returns the folder with the parts of a file, unpacked once for all processes of the machine, and again where a
    part is missing or was cut."""
    folder = _cache() / digest
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        sizes = {name: archive.getinfo(name).file_size for name in _PARTS}
        _check_module(archive.read("module.so"), source)
        if _is_whole(folder, sizes):
            return folder
        parts = {name: archive.read(name) for name in _PARTS}
    except _Damaged:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"tl.Model: {source} is no compiled model ({error}); `tl compile` makes them") from None
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        made, damaged = Path(work, "made"), Path(work, "damaged")
        made.mkdir()
        for name, part in parts.items():
            (made / name).write_bytes(part)
        if folder.is_dir() and not _is_whole(folder, sizes):
            os.rename(folder, damaged)
        try:
            os.rename(made, folder)  # at once, so that two processes may do the same
        except OSError:
            if not _is_whole(folder, sizes):
                raise
    return folder


class _Damaged(ValueError):
    """A compiled model whose machine code was cut."""


def _check_module(module: bytes, source: str) -> None:
    """Raises if machine code was cut or is none: the system would map what is not there, and end the process by a signal.

    The headers of an ELF file of 64 bits say where its parts end.
    """
    try:
        magic, endian = module[:5], "<" if module[5] == 1 else ">"
        programs, sections, _, _, size, count, section_size, section_count = struct.unpack_from(
            f"{endian}QQIHHHHH", module, 32
        )
        ends = [sections + section_size * section_count]
        for i in range(count):
            offset, _, _, nbytes = struct.unpack_from(f"{endian}QQQQ", module, programs + size * i + 8)
            ends.append(offset + nbytes)
    except (struct.error, IndexError):
        magic, ends = b"", [0]
    if magic != b"\x7fELF\x02" or max(ends) > len(module):
        found = f"{len(module)} bytes of {max(ends)}" if magic == b"\x7fELF\x02" else f"{len(module)} bytes that are no code"
        raise _Damaged(
            f"tl.Model: {source} is damaged: its module.so has {found}; compile the model again with `tl compile`"
        )


def _is_whole(folder: Path, sizes: Mapping[str, int]) -> bool:
    try:
        return all(os.path.getsize(folder / name) == nbytes for name, nbytes in sizes.items())
    except OSError:
        return False


def _processor() -> set[str]:
    """Returns the features of this processor, as Linux lists them."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((set(line.split()) for line in lines if line.startswith(("flags", "Features"))), set())
    except OSError:
        return set()


def _compiled(path: Path, bind: Mapping[str, int], freeze: Mapping[str, Any], options: Sequence[str]) -> bytes:
    """Returns what the program tl makes of a model."""
    from .__main__ import environment, tool

    program = tool()
    if program is None:
        raise FileNotFoundError(
            "tl.Model: there is no program tl that could compile it; install a wheel built with Go, run `make tool` "
            "in a checkout, or pass a file that `tl compile` made"
        )
    with tempfile.TemporaryDirectory(prefix="tl-model-") as folder:
        output = os.path.join(folder, "model.tlm")
        command = [str(program), "compile", str(path), "--output", output, *options]
        for flag, values in (("--bind", bind), ("--freeze", freeze)):
            command += [part for name, value in values.items() for part in (flag, f"{name}={value}")]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"tl.Model: {done.stderr.strip().removeprefix('Error: ')}")
        return Path(output).read_bytes()


class Model:
    """A model that was planned and compiled.

    path names a model (.onnx, .json), which the program tl compiles, or a file of `tl compile` (.tlm). bind gives the
    symbols of its shapes numbers, freeze makes inputs constants (name to file), options are further flags of
    `tl compile`. A .tlm file holds machine code: load none that you do not trust.

    Any thread may call a model; the interpreter's lock is released meanwhile. Models are pickled whole.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bind: Mapping[str, int] | None = None,
        freeze: Mapping[str, str | os.PathLike[str]] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        file = Path(path)
        if file.suffix.lower() == ".tlm":
            if bind or freeze or options:
                raise ValueError(f"tl.Model: {file} is compiled already; bind, freeze and options are for its source")
            content = file.read_bytes()
        else:
            content = _compiled(file, bind or {}, freeze or {}, options)
        self._load(content, str(file))

    def _load(self, content: bytes, source: str) -> None:
        self._content = content
        self.hash = hashlib.sha256(content).hexdigest()
        self._folder = _unpack(content, self.hash, source)
        try:
            self._describe(json.loads((self._folder / "model.json").read_text()), source)
        except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"tl.Model: {source} is no compiled model ({error!r}); `tl compile` makes them") from None
        make_symbols_global()
        self._module = ctypes.CDLL(str(self._folder / "module.so"))
        self._function = self._module[self._name_of_function]
        self._function.restype = ctypes.c_int32
        self._function.argtypes = [ctypes.c_void_p] * 3

    def _describe(self, about: dict[str, Any], source: str) -> None:
        if about["format"] != _FORMAT:
            raise ValueError(f"tl.Model: {source} has format {about['format']}; this package reads {_FORMAT}")
        _check_processor(about, source)
        self.name: str = about["name"]
        self.inputs = tuple(_tensor(t, source) for t in about["inputs"])
        self.outputs = tuple(_tensor(t, source) for t in about["outputs"])
        self.frame_bytes: int = about["frame_bytes"]
        self.bounds: dict[str, int] = about["bounds"] or {}
        self._name_of_function: str = about["function"]
        self._constants, self._constant_pointers = _map_constants(self._folder, about["constants"] or [], source)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, tensors)) for tensors in (self.inputs, self.outputs))
        return f"<tl_runtime.Model {self.name}: {inputs} -> {outputs}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        content = pickle.PickleBuffer(self._content) if protocol >= 5 else self._content
        return load_model, (content, self.name)

    def __dask_tokenize__(self) -> tuple[str, str]:
        return ("tl_runtime.Model", self.hash)

    def __call__(self, *arrays: Arrays, **named: Arrays) -> Any:
        """Runs the model on one sample or many, and returns its output, or a tuple of them.

        The arrays come in the order of the inputs, or by their names. An array may have one axis more than its input,
        or any number of rows where its first axis is a symbol; the outputs then have as many. Raises TypeError for
        arrays that do not fit, and tl.Error when the runtime refuses, such as for want of memory.
        """
        return self._result(self._run(self._batch(self._by_name(arrays, named))))

    def map(
        self,
        *arrays: Arrays,
        on: Any = None,
        batch: int | None = None,
        progress: bool = False,
        **named: Arrays,
    ) -> Any:
        """Runs the model on many samples, a part at a time, and returns what a call would return.

        on is where: None for this process; a dask.distributed.Client, or "dask://HOST:PORT" for the scheduler there; a
        communicator of mpi4py, or "mpi" for all ranks. With MPI every rank calls it; rank 0 passes the arrays and gets
        the outputs, the others get None. The compiled model travels once, by the hash of its content. batch is how many
        samples or rows are a part; without it, what the model takes at a time, or 64 samples. A Dask worker that dies
        costs its parts another run. progress=True shows a bar by tqdm.
        """
        from . import _engines

        whole: list[Batch] = []

        def parts() -> list[Batch]:
            whole.append(self._batch(self._by_name(arrays, named)))
            return self._parts(whole[0], batch)

        results = _engines.run(self, parts, on, progress)
        return None if results is None else self._result(_joined(results, whole[0]))

    # ---- batches -----------------------------------------------------------------------------

    def _by_name(self, arrays: Sequence[Arrays], named: Mapping[str, Arrays]) -> list[numpy.ndarray]:
        import numpy

        names = [t.name for t in self.inputs]
        if len(arrays) > len(names):
            raise TypeError(f"tl.Model: {self.name} has {len(names)} inputs, and {len(arrays)} arrays were passed")
        given = dict(zip(names, arrays))
        for name, array in named.items():
            if name not in names:
                raise TypeError(f"tl.Model: {self.name} has no input {name!r}; it has {', '.join(names)}")
            if name in given:
                raise TypeError(f"tl.Model: the input {name!r} was passed twice")
            given[name] = array
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"tl.Model: {self.name} needs {', '.join(missing)} as well")
        return [numpy.asarray(given[name]) for name in names]

    def _batch(self, arrays: list[numpy.ndarray]) -> Batch:
        """Tells how many samples the arrays hold; the rule is that of `tl run` (cmd/tl/batch.go)."""
        rows: dict[str, int] = {}
        samples, kinds = 1, []
        for about, array in zip(self.inputs, arrays):
            _check_dtype(about, array)
            kind, n = self._count(about, array.shape)
            if kind == "rows":
                if rows.setdefault(about.symbol, array.shape[0]) != array.shape[0]:
                    raise TypeError(f"tl.Model: the inputs of the symbol {about.symbol} have different numbers of rows")
            if n == 0:
                raise TypeError(f"tl.Model: the input {about.name!r} has no sample")
            if n > 1 and samples > 1 and n != samples:
                raise TypeError(f"tl.Model: the input {about.name!r} has {n} samples, another one {samples}")
            samples = max(samples, n)
            kinds.append(kind)
        for symbol, n in rows.items():
            bound = self.bounds[symbol]
            if -(-n // bound) != samples and n != bound:
                raise TypeError(
                    f"tl.Model: the inputs have {n} rows of the symbol {symbol}, which is {-(-n // bound)} samples of "
                    f"{bound}, and {samples} samples of others; pass as many of each"
                )
        return Batch(arrays, kinds, samples, rows)

    @staticmethod
    def _count(about: ModelTensor, shape: tuple[int, ...]) -> tuple[str, int]:
        if about.symbol and len(shape) == len(about.shape) and shape[1:] == about.shape[1:]:
            return "rows", -(-shape[0] // about.shape[0])
        if shape == about.shape:
            return "one", 1
        if shape[1:] == about.shape:
            return "samples", shape[0]
        raise TypeError(f"tl.Model: the input {about} got an array of shape {list(shape)}")

    def _parts(self, all_: Batch, batch: int | None) -> list[Batch]:
        """Splits a batch. Rows are split where the model's own parts end."""
        try:
            batch = None if batch is None else operator.index(batch)
        except TypeError:
            raise TypeError(f"tl.Model.map: batch is {batch!r}; it is a whole number") from None
        if batch is not None and batch < 1:
            raise ValueError(f"tl.Model.map: batch is {batch}; a part has at least one sample")
        bound = max((self.bounds[symbol] for symbol in all_.rows), default=1)
        step = max(1, (batch or (bound if all_.rows else 64)) // bound)
        return [all_.part(self, first, min(first + step, all_.samples)) for first in range(0, all_.samples, step)]

    def _run(self, batch: Batch) -> Outputs:
        import numpy

        outputs = [numpy.empty((batch.samples, *t.shape), t.dtype.dtype) for t in self.outputs]
        held = [self._ready(t, a, kind) for t, a, kind in zip(self.inputs, batch.arrays, batch.kinds)]
        steps = [0 if a.shape[0] == 1 else a.strides[0] for a in held]
        inputs = (ctypes.c_void_p * max(len(held), 1))()
        results = (ctypes.c_void_p * max(len(outputs), 1))()
        for sample in range(batch.samples):
            for i, array in enumerate(held):
                inputs[i] = array.ctypes.data + sample * steps[i]
            for i, array in enumerate(outputs):
                results[i] = array.ctypes.data + sample * array.strides[0]
            check(self._function(inputs, results, self._constant_pointers))
        return Outputs(outputs, batch.samples, batch.rows)

    @staticmethod
    def _ready(about: ModelTensor, array: numpy.ndarray, kind: str) -> numpy.ndarray:
        """Returns the array as samples after each other, the last one filled up with zeros."""
        import numpy

        array = numpy.ascontiguousarray(array).view(about.dtype.dtype)
        bound = about.shape[0] if about.shape else 1
        rows = array.shape[0] if kind == "rows" else 0
        if rows % bound:
            array = numpy.concatenate([array, numpy.zeros((-rows % bound, *about.shape[1:]), array.dtype)])
        return array.reshape(-1 if array.size else 1, *about.shape)

    def _result(self, made: Outputs) -> Any:
        """Gives outputs the shapes that a caller expects: rows of padding go, a single sample has no axis of its own."""
        results = []
        for about, array in zip(self.outputs, made.arrays):
            rows = made.rows.get(about.symbol) if about.symbol else None
            if rows is not None and -(-rows // self.bounds[about.symbol]) == made.samples:
                results.append(array.reshape(-1, *about.shape[1:])[:rows])
            else:
                results.append(array[0] if made.samples == 1 else array)
        return results[0] if len(results) == 1 else tuple(results)


@dataclass
class Batch:
    """Arrays for all inputs, what they hold, how many samples that is, and how many rows by symbol."""

    arrays: list[numpy.ndarray]
    kinds: list[str]  # "rows", "samples", or "one" for all
    samples: int
    rows: dict[str, int]

    def part(self, model: Model, first: int, end: int) -> Batch:
        """Returns the samples from first to end; arrays of one sample stay whole."""
        arrays, rows = [], {}
        for about, array, kind in zip(model.inputs, self.arrays, self.kinds):
            if kind == "rows" and array.shape[0] > about.shape[0]:
                array = array[first * about.shape[0] : end * about.shape[0]]
            elif kind == "samples" and array.shape[0] > 1:
                array = array[first:end]
            if kind == "rows":
                rows[about.symbol] = array.shape[0]
            arrays.append(array)
        return Batch(arrays, self.kinds, end - first, rows)


@dataclass
class Outputs:
    """The outputs of some samples, along an axis of their own, and how many rows these had by symbol."""

    arrays: list[numpy.ndarray]
    samples: int
    rows: dict[str, int]


def _joined(parts: Sequence[Outputs], whole: Batch) -> Outputs:
    """Puts the outputs of all parts of a batch together."""
    import numpy

    if len(parts) == 1:
        return parts[0]
    arrays = [numpy.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts))]
    return Outputs(arrays, whole.samples, whole.rows)


def run_part(model: Model, part: Batch) -> Outputs:
    """Runs one part: what engines call in other processes."""
    return model._run(part)


def _tensor(about: dict[str, Any], source: str) -> ModelTensor:
    made = ModelTensor(about["name"], _dtype(about["dtype"]), tuple(about["shape"] or ()), about.get("symbol", ""))
    if min(made.shape, default=0) < 0 or math.prod(made.shape) * made.dtype.itemsize != about["bytes"]:
        raise ValueError(f"tl.Model: {source} is no compiled model ({made} has not {about['bytes']} bytes)")
    return made


def _check_dtype(about: ModelTensor, array: numpy.ndarray) -> None:
    if about.dtype == DType.BFLOAT16 and (array.dtype.name == "bfloat16" or array.dtype.str == about.dtype.dtype.str):
        return  # as ml_dtypes has them, or as two bytes
    if array.dtype != about.dtype.dtype:
        raise TypeError(f"tl.Model: the input {about.name!r} has elements of type {array.dtype}; it wants {about.dtype}")


def _check_processor(about: dict[str, Any], source: str) -> None:
    if platform.machine() not in _MACHINES.get(about["machine"], (about["machine"],)):
        raise ValueError(f"tl.Model: {source} was compiled for {about['machine']}; this is {platform.machine()}")
    missing = set(about["processor"] or []) - _processor()
    if missing:
        raise ValueError(
            f"tl.Model: {source} was compiled for a processor with {', '.join(sorted(missing))}, which this one has "
            "not; compile it on a machine like the one that runs it"
        )


def _map_constants(folder: Path, offsets: list[int], source: str) -> tuple[Any, Any]:
    """Maps the constants, which all processes of the machine share, and returns them with their addresses."""
    import numpy

    path = folder / "constants"
    content = numpy.memmap(path, numpy.uint8, "r") if path.stat().st_size else numpy.zeros(1, numpy.uint8)
    if not all(0 <= at <= content.size for at in offsets):
        raise ValueError(f"tl.Model: {source} is no compiled model (a constant lies outside of its part)")
    return content, (ctypes.c_void_p * max(len(offsets), 1))(*(content.ctypes.data + at for at in offsets))


def load_model(content: Any, source: str) -> Model:
    """Loads a model that another process has compiled."""
    model = Model.__new__(Model)
    model._load(bytes(content), source)
    return model
