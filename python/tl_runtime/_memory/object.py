"""Raw objects of the runtime, by address: for tests of compilers and for bindings."""

from __future__ import annotations

import operator
from typing import NoReturn

from .._binding import deferred
from .._binding.library import check, check_pointer, last_error, lib
from .._errors import Status


class Handle:
    """What names an object of this process: in another process the same bits name nothing, or something else."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"a tl.{name} names an object of this process and cannot be pickled or copied; send what is in it")


class Object(Handle):
    """A handle on an object. It holds no reference: only its methods change the count.

    Any address makes a handle; every method validates the address before it changes anything.
    """

    __slots__ = ("__weakref__", "address")

    def __init__(self, address: int) -> None:
        self.address = address if isinstance(address, int) else operator.index(address)

    @classmethod
    def alloc(cls, nbytes: int) -> Object:
        """An object of plain bytes with one floating reference; free() it or register() it."""
        return cls(check_pointer(lib.tl_mem_alloc(nbytes)))

    @classmethod
    def new(cls, nbytes: int, *, zeroed: bool = False) -> Object:
        """An object of plain bytes that the current scope holds."""
        make = lib.tl_mem_new_zeroed if zeroed else lib.tl_mem_new
        return cls(check_pointer(make(nbytes)))

    def __repr__(self) -> str:
        return f"tl.Object({self.address:#x})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    @property
    def status(self) -> Status:
        """The state of the pointer: Status.OK when live."""
        return Status(lib.tl_ptr_check(self.address))

    @property
    def refcount(self) -> int:
        """The number of references, floating ones included; -1 when not live."""
        return int(lib.tl_ptr_refcount(self.address))

    def check(self) -> None:
        """Raises the exception for the pointer's state unless it is live."""
        check(lib.tl_ptr_check(self.address))

    def acquire(self) -> Object:
        """Adds a reference, which release() gives back."""
        check(lib.tl_ptr_inc_ref(self.address))
        return self

    def release(self) -> None:
        """Drops a reference; the last one frees the object."""
        check(lib.tl_ptr_release(self.address))
        if deferred.head.value:
            deferred.drain()

    def register(self) -> Object:
        """Puts a reference into the current scope: a floating one if there is one, else a new one. An unknown
        address is an error."""
        check(lib.tl_mem_register_ptr(self.address))
        return self

    def register_typed(self, type_: int) -> Object:
        """Gives memory of malloc to the runtime as an object of a type; the current scope holds it."""
        check(lib.tl_mem_register_struct_typed(self.address, type_))
        return self

    def unregister(self) -> Object:
        """Removes the newest entry of the object from the function's scopes; its reference floats then."""
        check(lib.tl_mem_unregister(self.address))
        return self

    def free(self) -> None:
        """Frees an object that nobody holds: all its references float."""
        check(lib.tl_mem_free(self.address))
        if deferred.head.value:
            deferred.drain()

    def share(self) -> None:
        """Makes every thread count the object alike; the owner calls it before it hands the object over."""
        check(lib.tl_ptr_share(self.address))

    def realloc(self, nbytes: int) -> None:
        """Changes the size; the handle follows the object to its new address."""
        self.address = check_pointer(lib.tl_mem_realloc(self.address, nbytes))

    def deep_clone(self) -> Object:
        """Returns a copy of the object and of what it refers to, registered in the current scope."""
        return Object(check_pointer(lib.tl_mem_deep_clone(self.address)))


def collect_cycles() -> int:
    """Frees objects of the calling thread that only refer to each other; returns how many."""
    freed = int(lib.tl_mem_collect_cycles())
    if freed < 0:
        raise last_error()
    deferred.drain()
    return freed
