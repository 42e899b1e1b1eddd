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
import stat
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .._binding.library import make_symbols_global
from .._binding.program import environment, tool
from .._dtype import BY_SHORT_NAME
from .._graph.runnable import Arrays, Batch, ModelTensor, Runnable, joined
from . import engines

if TYPE_CHECKING:
    import numpy

_FORMAT = 1  # cmd/tl/compile.go writes it
_PARTS = ("module.so", "constants", "model.json")
_MACHINES = {"amd64": ("x86_64", "AMD64"), "arm64": ("aarch64", "arm64")}


def _cache() -> Path:
    """Returns the folder of unpacked models, which the program tl uses as well."""
    folder = os.environ.get("TL_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder or os.path.join(user, "tl")) / "models"


def _unpack(content: bytes, digest: str, source: str) -> Path:
    """Returns the folder with the parts of a file, unpacked once for all processes of the user, and again where a part
    is missing or differs."""
    folder = _cache() / digest
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        for name in _PARTS:
            archive.getinfo(name)
        _check_module(archive.read("module.so"), source)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_cache(folder.parent)
        if _is_whole(folder, archive):
            return folder
        parts = {name: archive.read(name) for name in _PARTS}
    except _Damaged:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"tl.Model: {source} is no compiled model ({error}); `tl compile` makes them") from None
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        made, damaged = Path(work, "made"), Path(work, "damaged")
        made.mkdir(mode=0o700)
        for name, part in parts.items():
            (made / name).write_bytes(part)
        if folder.is_dir() and not _is_whole(folder, archive):
            os.rename(folder, damaged)
        try:
            os.rename(made, folder)  # at once, so that two processes may do the same
        except OSError:
            if not _is_whole(folder, archive):
                raise
    return folder


def _why_not_ours(folder: Path) -> str:
    """Returns why what lies in a folder may be somebody else's; "" when it is this user's or root's alone."""
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode):
        return "is no folder"
    if about.st_uid not in (0, os.geteuid()):
        return f"belongs to user {about.st_uid}"
    return f"may be written by others (mode {stat.S_IMODE(about.st_mode):04o})" if about.st_mode & 0o022 else ""


def _check_cache(folder: Path) -> None:
    """Raises if others may put machine code into the folder of unpacked models."""
    why = _why_not_ours(folder.resolve())
    if why:
        raise PermissionError(
            f"tl.Model: {folder} {why}, so its machine code may be another's; take the right to write from others with "
            "chmod go-w, or name a folder of your own in TL_CACHE"
        )


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


def _is_whole(folder: Path, archive: zipfile.ZipFile) -> bool:
    """Whether a folder has the parts of a file, byte by byte: a part may be damaged and keep its size."""
    try:
        return not _why_not_ours(folder) and all(_is_same(folder / name, archive.open(name)) for name in _PARTS)
    except OSError:
        return False


def _is_same(path: Path, wanted: IO[bytes]) -> bool:
    with open(path, "rb") as file, wanted:
        while True:
            found, part = file.read(1 << 20), wanted.read(1 << 20)
            if found != part:
                return False
            if not part:
                return True


def _processor() -> set[str]:
    """Returns the features of this processor, as Linux lists them."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((set(line.split()) for line in lines if line.startswith(("flags", "Features"))), set())
    except OSError:
        return set()


def _compiled(path: Path, bind: Mapping[str, int], freeze: Mapping[str, Any], options: Sequence[str]) -> bytes:
    """Returns what the program tl makes of a model."""
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


class Model(Runnable):
    """A model that was planned and compiled.

    path names a model (.onnx, .json), which the program tl compiles, or a file of `tl compile` (.tlm). bind gives the
    symbols of its shapes numbers, freeze makes inputs constants (name to file), options are further flags of
    `tl compile`. A .tlm file holds machine code: load none that you do not trust.

    Any thread may call a model; the interpreter's lock is released meanwhile. Models are pickled whole.
    """

    _kind = "tl.Model"

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
        self._looks_at: str = about.get("refusal", "")
        self._name_of_function: str = about["function"]
        self._constants, self._constant_pointers = _map_constants(self._folder, about["constants"] or [], source)

    def _refusal(self) -> str:
        return self._looks_at

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, tensors)) for tensors in (self.inputs, self.outputs))
        return f"<tl_runtime.Model {self.name}: {inputs} -> {outputs}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        content = pickle.PickleBuffer(self._content) if protocol >= 5 else self._content
        return load_model, (content, self.name)

    def __dask_tokenize__(self) -> tuple[str, str]:
        return ("tl_runtime.Model", self.hash)

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
        whole: list[Batch] = []

        def parts() -> list[Batch]:
            whole.append(self._batch(self._by_name(arrays, named)))
            return self._parts(whole[0], batch)

        results = engines.run(self, parts, on, progress)
        return None if results is None else self._result(joined(results, whole[0]))

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


def _tensor(about: dict[str, Any], source: str) -> ModelTensor:
    made = ModelTensor(about["name"], BY_SHORT_NAME[about["dtype"]], tuple(about["shape"] or ()), about.get("symbol", ""))
    if min(made.shape, default=0) < 0 or math.prod(made.shape) * made.dtype.itemsize != about["bytes"]:
        raise ValueError(f"tl.Model: {source} is no compiled model ({made} has not {about['bytes']} bytes)")
    return made


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


load_model.__module__ = "tl_runtime._model"  # by which pickles name it, wherever it is
