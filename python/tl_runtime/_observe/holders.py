"""What Python's own objects hold of the runtime's memory, for leak reports.

A handle of this package says what it holds. Arrays of NumPy's are in no list of the interpreter's, because they cannot
be in cycles; so they are looked for in everything that can: in what the collector of garbage knows, in dictionaries and
tuples that it does not, in arrays of objects and iterators of NumPy's, and in the local variables of all threads.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from .._binding.library import lib
from .._binding.native import fast
from .._sparse.matrix import _Held
from .._tensor.info import in_hand
from .._tensor.tensor import CtypesTensor, empty

_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_Capsule: type = type(ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)(1, None, None))  # fmt: skip

_REGISTERED = b"tl_runtime.registered"
# The capsules of DLPack's structs, before and after NumPy has taken the tensor out: where they have the tensor.
_EXPORTED = {b"dltensor_versioned": 8, b"numpy_dltensor_versioned": 8, b"dltensor": 48, b"numpy_dltensor": 48}


_searching = threading.RLock()


def held(caller: FrameType) -> tuple[list[Any], list[int]]:
    """Returns what holds memory, to be kept meanwhile, and the address of each counted reference that it has.

    The caller is the frame of the program's that asks. One thread searches at a time: another's lists are containers,
    too."""
    with _searching:
        return _search(caller)


def _search(caller: FrameType) -> tuple[list[Any], list[int]]:
    variables = _variables(caller)  # before anything else refers to the dictionaries that frames keep
    addresses = list(in_hand)
    objects = gc.get_objects()
    tensors = [] if fast is None else fast.living()
    addresses += [tensor.address for tensor in tensors]
    found: dict[int, Any] = {}
    for one in _everything(objects, variables):
        found[id(one)] = one
    for one in found.values():
        addresses += _addresses(one)
    return [*tensors, *found.values()], addresses


def _array_type() -> Any:
    numpy = sys.modules.get("numpy")
    return () if numpy is None else getattr(numpy, "ndarray", ())


def _kinds() -> set[type]:
    """The classes of what may hold memory."""
    kinds = {_Capsule, CtypesTensor, _Held}
    waiting = [] if _array_type() == () else [_array_type()]
    while waiting:
        kind = waiting.pop()
        kinds.add(kind)
        waiting += type.__subclasses__(kind)
    return kinds


# Objects of NumPy's with arrays, which the collector of garbage does not know, and where they have them.
_WITH_ARRAYS = {"flatiter": "base", "nditer": "operands", "broadcast": "iters", "void": "base"}


def _openers() -> dict[type, str]:
    numpy = sys.modules.get("numpy")
    found = ((getattr(numpy, name, None), attribute) for name, attribute in _WITH_ARRAYS.items())
    return {kind: attribute for kind, attribute in found if kind is not None}


def _everything(layer: list[Any], values: list[Any]) -> Iterator[Any]:
    """Everything of these classes among all objects that the collector knows, the values, or in a container."""
    kinds, openers, array_type, seen = _kinds(), _openers(), _array_type(), set[int]()
    referred = [one for one in layer if type(one) in kinds]
    referred += values
    while layer or referred:
        referred += gc.get_referents(*layer)
        layer, inside = [], []
        for one in referred:
            kind = type(one)
            if kind in kinds:
                yield one
                if array_type and issubclass(kind, array_type) and id(one) not in seen:
                    seen.add(id(one))
                    inside += _in_array(one)
            elif kind in openers:
                inside += _opened(one, openers[kind])
            elif (kind is dict or kind is tuple) and id(one) not in seen and not gc.is_tracked(one):
                seen.add(id(one))
                layer.append(one)
        referred = inside


def _opened(one: Any, attribute: str) -> list[Any]:
    """The arrays that an object of NumPy's has."""
    try:
        found = getattr(one, attribute)
    except ValueError:  # an iterator that was closed
        return []
    return list(found) if isinstance(found, tuple) else [found]


def _in_array(array: Any) -> list[Any]:
    """What an array has its memory from, and the objects that are its elements or parts of them."""
    return [*_bases(array), *_elements(array.view(_array_type()))] if array.dtype.hasobject else list(_bases(array))


def _elements(array: Any) -> Iterator[Any]:
    if array.dtype.names is None:
        yield from (one for one in array.reshape(-1).tolist() if one is not None)
    for name in array.dtype.names or ():
        if array.dtype[name].hasobject:
            yield from _elements(array[name])


def _variables(caller: FrameType) -> list[Any]:
    """The values of all threads' variables, on this one from the caller on."""
    frames = sys._current_frames()
    frames[threading.get_ident()] = caller  # not our own, which would be in a cycle with its variables
    values = []
    for thread, frame in frames.items():
        at: FrameType | None = frame
        while at is not None:
            values += _values(at, thread == threading.get_ident())
            at = at.f_back
    return values


def _values(frame: FrameType, own: bool) -> list[Any]:
    """The values of a frame's variables. Before Python 3.13 the frame keeps the dictionary that it is asked for, and
    with it the values. So what stands in variables is taken out of it again, unless the program has the dictionary, or
    the interpreter may write it back to them: it does so behind functions that trace or profile, of which only those of
    this thread are known. Names that exec() has put there stay."""
    names = frame.f_locals
    values = list(names.values())
    code = frame.f_code
    snapshot = own and code.co_flags & inspect.CO_OPTIMIZED and isinstance(names, dict)
    if snapshot and sys.getrefcount(names) == 3 and not _is_watched():  # the frame's, ours, and the argument's
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            names.pop(name, None)
    return values


def _is_watched() -> bool:
    """Whether functions of Python's may run for tracing or profiling; the interpreter sets variables after them."""
    hooks = (sys.gettrace, sys.getprofile, threading.gettrace, threading.getprofile)
    return any(hook() is not None for hook in hooks)


def _bases(array: Any) -> Iterator[Any]:
    """What an array has its memory from: other arrays, and at the end something else."""
    base = array.base
    while base is not None:
        if type(base) is _Capsule or isinstance(base, _array_type()):
            yield base
        base = base.base if isinstance(base, _array_type()) else None


def _addresses(one: Any) -> Iterable[int]:
    """The references that an object of _everything() has."""
    if type(one) is CtypesTensor:
        found = getattr(one, "_address", None)  # None while it is being made
    elif type(one) is _Held:
        found = getattr(one, "address", None)
    elif type(one) is _Capsule:
        return _of_capsule(one)
    else:
        return _of_array(one)
    return () if found is None else (found,)


def _of_capsule(capsule: Any) -> Iterable[int]:
    if _is_valid(capsule, _REGISTERED):
        return (_get_pointer(capsule, _REGISTERED),)
    for name, offset in _EXPORTED.items():
        if _is_valid(capsule, name):
            managed = _get_pointer(capsule, name)
            if lib.tl_ptr_check(managed):
                return ()  # another library's
            return managed, ctypes.c_void_p.from_address(managed + offset).value or 0
    return ()


_handler_name: Callable[[Any], str | None] | None = None
_header = 0  # of a tensor, before its elements


def _of_array(array: Any) -> Iterable[int]:
    """The block of an array that was made under tl.numpy_allocator(): plain bytes, or a tensor's elements."""
    global _handler_name, _header
    if _handler_name is None:
        numpy = sys.modules["numpy"]
        _handler_name = (getattr(numpy, "_core", None) or numpy.core).multiarray.get_handler_name
        tensor = empty(1 << 16, "uint8", 0)
        _header = tensor.data - tensor.address
    if _handler_name(array) != "tl_runtime":
        return ()
    address = array.__array_interface__["data"][0]
    if lib.tl_ptr_check(address) == 0:
        return (address,)
    return (address - _header,) if lib.tl_ptr_check(address - _header) == 0 else ()

