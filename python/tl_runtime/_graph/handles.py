"""What an object that stands for a handle of the library has in common with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Handle:
    """A handle that is destroyed with the object. Subclasses set _destroy before _handle."""

    _handle: int | None = None
    _destroy: Callable[[int], int]  # still there when the interpreter has taken the module apart
    _instead: ClassVar[str]
    """What to do instead of pickling it."""

    def __del__(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._destroy(handle)

    def __reduce__(self) -> Any:
        kind = type(self).__name__
        raise TypeError(f"a {kind} is a handle of this process and cannot be pickled or copied; {self._instead}")
