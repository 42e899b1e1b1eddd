"""Finds and loads libtl_runtime, and turns failures of its functions into exceptions.

The library is looked for in this order: the file that TL_RUNTIME_LIBRARY names,
this package's folder, ../build of a checkout, the system's search path. Its
symbols stay private to this package (RTLD_LOCAL); code generators take them from symbols(), or call
make_symbols_global().
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._errors import Error, Status, make_error
from .callbacks import IN_MAIN_INTERPRETER
from .numbers import declare_checked

if TYPE_CHECKING:
    from pathlib import Path  # with what it imports a tenth of the time of an import

MAJOR = "1"
_NAME = "libtl_runtime.so"
_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # the folder of the package


def _candidates() -> list[str]:
    """Returns the places to look at; if TL_RUNTIME_LIBRARY names a library, only that one."""
    named = os.environ.get("TL_RUNTIME_LIBRARY")
    if named:
        return [named]
    files = [os.path.join(_HERE, _NAME), os.path.join(os.path.dirname(os.path.dirname(_HERE)), "build", _NAME)]
    return [file for file in files if os.path.isfile(file)] or _of_the_system()


def _of_the_system() -> list[str]:
    """Asks ldconfig and the compiler for the library, which takes several times as long as the rest of an import."""
    import ctypes.util

    system = ctypes.util.find_library("tl_runtime")
    return [system] if system else []


def _open(path: str) -> ctypes.CDLL:
    """Loads one library and refuses it when it does not have this package's version of the interface.

    Within a major version functions are only added, so a newer library serves.
    """
    try:
        library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        library.tl_version.restype = ctypes.c_char_p
        library.tl_abi_version.restype = ctypes.c_uint32
        found: str = library.tl_version().decode()
        interface: int = library.tl_abi_version()
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} is not a usable libtl_runtime: {error}", path=path) from error
    if found.split(".")[0] != MAJOR or interface < _abi.ABI_VERSION:
        raise ImportError(
            f"{path} is TL Runtime {found} with interface {interface}; this package needs version {MAJOR} with "
            f"interface {_abi.ABI_VERSION} or later. Install matching ones, or name another library in "
            "TL_RUNTIME_LIBRARY",
            path=path,
        )
    return library


def _load() -> tuple[ctypes.CDLL, str]:
    candidates = _candidates()
    if not candidates:
        raise ImportError(
            f"{_NAME} was not found: name its file in TL_RUNTIME_LIBRARY, or build it with `make lib` in a checkout"
        )
    return _open(candidates[0]), candidates[0]


lib, _path = _load()
declare_checked(lib, _abi.FUNCTIONS)
_ROWS = {row.name: row for row in _abi.FUNCTIONS}


def unchecked(name: str) -> Any:
    """Returns a function whose arguments ctypes may truncate: for frequent calls with arguments that are checked.

    No bytecode of Python runs during its call.
    """
    function = lib[name]  # another object than lib.name
    function.restype, function.argtypes = _ROWS[name].restype, _ROWS[name].argtypes
    return function


_last_status = lib.tl_last_status
_last_error = lib.tl_last_error
_status_string = lib.tl_status_string


def path() -> str:
    """Returns the file or the name that the library was loaded by."""
    return _path


def make_symbols_global() -> None:
    """Lets code that is loaded later find the tl_ symbols by name (RTLD_GLOBAL)."""
    ctypes.CDLL(_path, mode=ctypes.RTLD_GLOBAL)


def _beside(places: list[str], name: str) -> Path:
    """Returns the file that stands in one of these places, relative to the package, or where an installation has it."""
    from pathlib import Path

    here, library = Path(_HERE), Path(_path).resolve().parent
    prefix = library.parent if library.name.startswith("lib") else library.parent.parent
    found = [here / place / name for place in places] + [library / name]
    found += [prefix / "include" / name, prefix / "share" / "tl_runtime" / name]
    for file in found:
        if file.is_file():
            return file
    raise FileNotFoundError(f"{name} is neither in the package nor beside {_path}")


def include_path() -> Path:
    """Returns the folder with tl_runtime.h and tl_inline.h, for a C compiler."""
    return _beside(["include", "../../include"], "tl_inline.h").parent


def inline_path() -> Path:
    """Returns tl_inline.ll, the inlined operations as LLVM IR, for llvmlite's parse_assembly and link_in."""
    return _beside(["include", "../../include"], "tl_inline.ll")


def bitcode_path() -> Path:
    """Returns tl_runtime.bc, which is inline_path() as bitcode; FileNotFoundError where it was not built."""
    return _beside(["include", "../../build"], "tl_runtime.bc")


def symbols() -> dict[str, int]:
    """Returns the address of every function of the library, for JIT compilers."""
    count = ctypes.c_size_t()
    first = lib.tl_symbols(ctypes.byref(count))
    return {row.name.decode(): row.address for row in first[: count.value]}


def error_for(status: int) -> Error:
    """Returns the exception for a status, with the thread's message if that belongs to the failure."""
    text = _last_error() if _last_status() == status else _status_string(status)
    return make_error(status, (text or b"").decode("utf-8", "replace"))


def last_error() -> Error:
    """Returns the exception for the calling thread's last failure."""
    return error_for(_last_status())


def check(status: int) -> None:
    """Raises the exception for a status other than TL_OK."""
    if status:
        raise error_for(status)


def _attach() -> None:
    """Tells the library where Python's functions are."""
    api = _abi.tl_python_api(struct_size=ctypes.sizeof(_abi.tl_python_api))
    for field, name in (
        ("capsule_new", "PyCapsule_New"),
        ("capsule_is_valid", "PyCapsule_IsValid"),
        ("capsule_get_pointer", "PyCapsule_GetPointer"),
        ("err_set_string", "PyErr_SetString"),
    ):
        setattr(api, field, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p))
    api.buffer_error = id(BufferError)
    check(lib.tl_python_attach(ctypes.byref(api)))


_attach()


_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package, as its frames name it


class _Sites(threading.local):
    """The number of recordings that a thread saw last."""

    seen = 0


class _Recorder:
    """Tells tracking which lines of Python have allocated.

    The library reads the frames of Python itself where a call of it holds the interpreter's lock, as those of the
    extension module do. ctypes gives the lock back during a call. So the library counts the allocations that it
    records, and a call by ctypes compares that number with the one that its thread saw last. That costs one load; only
    if the numbers differ the library is asked to read the frames afterwards.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.count: ctypes.c_uint64 = library.tl_track_count().contents
        self._site = library.tl_track_site
        self._sites = _Sites()
        # Of a prototype that keeps the interpreter's lock.
        self._frames: Any = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(("tl_python_site", library))
        # It reads those of the main interpreter.
        self.reads_frames = IN_MAIN_INTERPRETER and library.tl_python_lines(os.fsencode(_OURS)) == 0
        library.tl_clear_error()

    def made(self, address: int) -> int:
        """Returns the address of something that was just allocated."""
        count = self.count.value
        if count != self._sites.seen:
            self._sites.seen = count
            self.tell(address)
        return address

    def tell(self, address: int) -> None:
        """Has the frames of Python read, or tells the innermost line that is not this package's where that cannot be."""
        if self.reads_frames and self._frames(address):
            return
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        self._site(address, os.fsencode(frame.f_code.co_filename), frame.f_lineno)


recorder = _Recorder(lib)
_made = recorder.made


def uninterrupted(results: list[Any], *calls: partial[Any]) -> None:
    """Makes the calls and appends their results; the first call that raises is the last one.

    Neither a signal handler that raises nor, while the calls keep the interpreter's lock, another thread comes
    between them: Python has no bytecode there. So the list says for certain which calls were made.
    """
    results.extend(map(partial.__call__, calls))


def c_string(text: str | os.PathLike[str]) -> bytes:
    """Returns a string for C, in the encoding of file names; ValueError when C would see only the beginning of it."""
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError("embedded null character")
    return encoded


def check_pointer(address: int | None) -> int:
    """Returns an address; raises when it is NULL because of a failure, returns 0 when NULL is the correct
    result."""
    if address is None:
        status = _last_status()
        if status != Status.OK:
            raise error_for(status)
        return 0
    return _made(address)
