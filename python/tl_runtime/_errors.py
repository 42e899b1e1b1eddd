"""Statuses of the runtime as exceptions.

Every failing call records a status and a message, which names the pointer, what the runtime found there and
what to do. Here that message becomes the message of an exception whose class corresponds to the status. If
Python has an exception for the same failure (MemoryError, IndexError, ...) the class derives from it too.
"""

from __future__ import annotations

from typing import Any

from . import _abi

Status = _abi.StatusCode  # tl_status: how a call ended


class Error(Exception):
    """A call of the runtime failed; the message is the text of tl_last_error."""

    status: Status | int = Status.INTERNAL

    def __reduce__(self) -> Any:
        # As an exception's own. tblib, by which Dask sends errors, makes those without one by a call of __new__, which
        # MemoryError refuses for a class that derives from it.
        return type(self), self.args, self.__dict__


class InvalidArgumentError(Error, ValueError):
    """An argument is invalid: a negative size, a product that overflows, a wrong type."""

    status = Status.INVALID_ARGUMENT


class UnknownPointerError(Error, LookupError):
    """The address is neither memory of the runtime nor registered."""

    status = Status.UNKNOWN_POINTER


class InteriorPointerError(Error, LookupError):
    """The address lies inside an object, not at its start."""

    status = Status.INTERIOR_POINTER


class NotLiveError(Error, ReferenceError):
    """The object has been released already."""

    status = Status.NOT_LIVE


class AlreadyRegisteredError(Error):
    """The address belongs to something that is registered."""

    status = Status.ALREADY_REGISTERED


class NotRegisteredError(Error, LookupError):
    """No scope of this function holds the pointer."""

    status = Status.NOT_REGISTERED


class ScopeUnderflowError(Error):
    """A scope or frame was closed that this call may not close."""

    status = Status.SCOPE_UNDERFLOW


class NoFrameError(Error):
    """A slot was requested while no function frame was open."""

    status = Status.NO_FRAME


class SlotOutOfRangeError(Error, IndexError):
    """The frame has fewer slots."""

    status = Status.SLOT_OUT_OF_RANGE


class ArenaExhaustedError(Error, MemoryError):
    """The arena or the frame stack is full; nothing changed."""

    status = Status.ARENA_EXHAUSTED


class OutOfMemoryError(Error, MemoryError):
    """The system or the device has no memory left."""

    status = Status.OUT_OF_MEMORY


class LimitError(Error, MemoryError):
    """A limit that the user set was reached."""

    status = Status.LIMIT


class CountOverflowError(Error, OverflowError):
    """A count would have left its range."""

    status = Status.OVERFLOW


class DeviceError(Error):
    """A device or its driver is absent, or failed."""

    status = Status.DEVICE


class UnsupportedError(Error, NotImplementedError):
    """This build, device or kind of pointer cannot do that."""

    status = Status.UNSUPPORTED


class ForkedError(Error):
    """The call needs the part of the runtime that does not survive fork(); use spawn or forkserver."""

    status = Status.FORKED


class BusyError(Error):
    """Another thread or holder is using what the call needs."""

    status = Status.BUSY


class InternalError(Error):
    """A fault of the runtime itself."""

    status = Status.INTERNAL


class CorruptedError(Error):
    """TL_DEBUG has found that memory beyond an object, or of a released one, was written to."""

    status = Status.CORRUPTED


_CLASSES: dict[int, type[Error]] = {int(cls.status): cls for cls in Error.__subclasses__()}


def make_error(status: int, message: str) -> Error:
    """Returns the exception for a status; one this package does not know becomes a plain Error."""
    cls = _CLASSES.get(status)
    if cls is not None:
        return cls(message)
    error = Error(message)
    error.status = status
    return error
