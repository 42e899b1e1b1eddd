"""Checked and weak references to raw objects: words that know when their object is gone."""

from __future__ import annotations

from typing import Any

from .._binding.library import check, check_pointer, last_error, lib
from .._errors import Status
from .object import Handle, Object


class Ref(Handle):
    """A checked reference to an object. It counts nothing, and names this one object for ever.

    When the object is gone its methods raise NotLiveError, even if the memory belongs to another object: an Object,
    which is an address, would lead to that one.
    """

    __slots__ = ("__weakref__", "word")

    def __init__(self, referent: Object) -> None:
        self.word = _word(lib.tl_ref_of(_object(referent).address), referent)

    def __repr__(self) -> str:
        return f"tl.{type(self).__name__}({self.word:#x})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.word == other.word

    def __hash__(self) -> int:
        return hash(self.word)

    @property
    def status(self) -> Status:
        """Status.OK while the object lives."""
        return Status(lib.tl_ref_check(self.word))

    def get(self) -> Object:
        """The object, which somebody else holds."""
        return Object(check_pointer(lib.tl_ref_get(self.word)))

    def acquire(self) -> Object:
        """Adds a reference to the object, which release() gives back."""
        if lib.tl_ref_acquire(self.word) == 0 and self.word != 0:
            raise last_error()
        return self.get()

    def release(self) -> None:
        """Drops a reference to the object; the last one frees it."""
        check(lib.tl_ref_release(self.word))


class Weak(Ref):
    """A weak reference to an object: calling it upgrades it.

    The thread that owns the object upgrades it. With shared=True every thread can; the object then loses its owner, as
    by Object.share(), and collect_cycles() leaves it alone.
    """

    __slots__ = ()

    def __init__(self, referent: Object, *, shared: bool = False) -> None:
        make = lib.tl_weak_share if shared else lib.tl_weak_of
        self.word = _word(make(_object(referent).address), referent)

    def __call__(self) -> Object | None:
        """The object with one reference more, which the caller release()s; None when it is gone."""
        address = check_pointer(lib.tl_weak_get(self.word))
        return Object(address) if address else None


def _object(referent: Any) -> Object:
    if not isinstance(referent, Object):
        raise TypeError(f"a reference is one to a tl.Object, not to {type(referent).__name__}; tl.Object(address) is one")
    return referent


def _word(word: int, referent: Object) -> int:
    if word == 0 and referent.address != 0:
        raise last_error()
    return word
