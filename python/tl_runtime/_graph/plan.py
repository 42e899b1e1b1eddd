"""Places buffers with known lifetimes in one frame, before the program runs.

    plan = tl.Plan()
    a = plan.add_buffer(4096, first=0, end=2)         # alive in steps 0 and 1
    b = plan.add_buffer(4096, first=1, end=3)
    c = plan.add_buffer(4096, first=2, end=4)
    plan.solve(budget=0.1)                            # seconds; 0: a fixed amount of work
    plan.frame_bytes, plan.offset(c), plan.is_optimal
"""

from __future__ import annotations

import ctypes
import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _abi
from .._binding.callbacks import answering, need_main_interpreter
from .._binding.library import c_string, check, lib
from .._binding.numbers import HIGHEST, LOWEST, int64_array
from .._errors import Status
from .handles import Handle


_MOST_ALIGNMENT = 1 << 32
_MOST_NAME = 4095  # bytes


def _name(name: str | None) -> bytes | None:
    """The name of a buffer as the library takes it, refused before the buffer is added."""
    text = None if name is None else c_string(name)
    if text is not None and len(text) > _MOST_NAME:
        raise ValueError(f"the name of a buffer has {len(text)} bytes; at most {_MOST_NAME} are taken")
    return text


def _index(result: int) -> int:
    """Returns an index; raises the exception of a call that returned none."""
    if result < 0:
        check(lib.tl_last_status())
    return result


class PlanProgress(NamedTuple):
    """How far the search for a solution is; in a plan with several spaces, in the one that is being searched."""

    frame_bytes: int
    """Of the best solution so far; 2**64 - 1 while there is none."""
    lower_bound: int
    elapsed: float
    """Seconds since the call."""
    steps: int


@contextmanager
def _noted_interrupts() -> Iterator[list[Any] | None]:
    """Gives a list that is not empty once the program was interrupted: the call into the library should end then.

    Python runs signal handlers at the first instruction of the next Python function. Where that is a callback of ctypes,
    it shows the handler's exception and goes on.

    The program's handler of SIGINT, which raises KeyboardInterrupt as a rule, runs when the block ends. None: this
    thread does not handle signals, or Python does not handle this one.
    """
    handler, came = signal.getsignal(signal.SIGINT), []
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield None
        return
    try:
        signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
    except ValueError:  # the main thread of another interpreter
        yield None
        return
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[-1])


def _told(
    progress: Callable[[PlanProgress], object] | None, raised: list[BaseException], came: list[Any] | None
) -> Callable[..., Any]:
    """Wraps progress for C: the wrapper returns 1 to end the search, also when progress raises or an interrupt came."""

    def tell(address: int, _: object) -> int:
        if came or progress is None:
            return 1 if came else 0
        state = _abi.tl_plan_progress.from_address(address)
        told = PlanProgress(state.frame_bytes, state.lower_bound, state.elapsed_ms / 1000, state.steps)
        try:
            return 1 if progress(told) else 0
        except BaseException as error:
            raised.append(error)
            return 1

    return answering(tell, lambda answer: answer, 1, progress)


class Plan(Handle):
    """Buffers, the spaces they may lie in, and where they were placed.

    Any thread may use a plan; calls take turns. A change discards the previous solution.
    """

    _instead = "make another one"
    _destroy = lib.tl_plan_destroy

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        check(lib.tl_plan_create(ctypes.byref(handle)))
        self._handle = handle.value
        self._spaces = 0

    def __len__(self) -> int:
        """Returns how many buffers there are."""
        return _index(lib.tl_plan_num_buffers(self._handle))

    def __repr__(self) -> str:
        return f"<tl_runtime.Plan of {len(self)} buffers>"

    def add_buffer(self, nbytes: int, *, first: int, end: int, alignment: int = 64, name: str | None = None) -> int:
        """Adds a buffer that is alive in the steps first to end - 1, and returns its index."""
        _not_negative(nbytes, alignment)
        _steps(first, end)
        named = _name(name)
        buffer = _index(lib.tl_plan_add_buffer(self._handle, nbytes, alignment, first, end))
        if named is not None:
            check(lib.tl_plan_set_name(self._handle, buffer, named))
        return buffer

    def add_buffers(
        self,
        buffers: Iterable[tuple[int, int, int]],
        *,
        alignment: int | Iterable[int] = 64,
        names: Iterable[str | None] | None = None,
        spaces: Iterable[Sequence[int] | None] | None = None,
    ) -> range:
        """Adds buffers given as (bytes, first, end) at once, all or none, and returns their indices.

        alignment is one for all, or one for each; names and spaces have an entry for each, None for a buffer without
        a name, or that may lie in any space.
        """
        given = list(buffers)
        n = len(given)
        aligned = _each("alignments", alignment, n) if isinstance(alignment, Iterable) else [alignment] * n
        named = [_name(name) for name in _each("names", names, n)]
        _not_negative(*aligned, *(nbytes for nbytes, _, _ in given))
        _steps(*(step for _, *lifetime in given for step in lifetime))
        allowed = [None if s is None else int64_array(s) for s in _each("spaces", spaces, n)]
        for space in (space for array in allowed if array is not None for space in array):
            if not 0 <= space < self._spaces:
                raise ValueError(f"there is no space {space}; the plan has {self._spaces}")
        described = [_abi.tl_plan_buffer(b[0], a, b[1], b[2]) for b, a in zip(given, aligned, strict=True)]
        array = (_abi.tl_plan_buffer * n)(*described)
        start = _index(lib.tl_plan_add_buffers(self._handle, array, n))
        for i, (name, places) in enumerate(zip(named, allowed, strict=True), start):
            if name is not None:
                check(lib.tl_plan_set_name(self._handle, i, name))
            if places is not None:
                check(lib.tl_plan_set_spaces(self._handle, i, places, len(places)))
        return range(start, start + n)

    def resize(self, buffer: int, nbytes: int) -> None:
        """Gives a buffer another size. A plan that is solved again begins at its last offsets: for many plans that are
        nearly the same, one that is resized is quicker than new ones."""
        _not_negative(nbytes)
        check(lib.tl_plan_resize(self._handle, buffer, nbytes))

    def hint(self, buffer: int, offset: int) -> None:
        """Says where a buffer may well lie in the next solution, such as its offset in a plan that is much like this one.
        The search begins there, and the frame is no larger than without, unless a target ends the search
        there. A plan of several spaces does not look at hints."""
        _not_negative(offset)
        check(lib.tl_plan_set_hint(self._handle, buffer, offset))

    def alias(self, buffer: int, base: int, offset: int = 0) -> None:
        """Puts a buffer inside another one, offset bytes behind its start."""
        _not_negative(offset)
        check(lib.tl_plan_alias(self._handle, buffer, base, offset))

    def pin(self, buffer: int, offset: int) -> None:
        """Fixes the offset of a buffer."""
        _not_negative(offset)
        check(lib.tl_plan_pin(self._handle, buffer, offset))

    def add_gap(self, buffer: int, first: int, end: int) -> None:
        """Tells the plan that nobody needs a buffer's contents in the steps first to end - 1."""
        _steps(first, end)
        check(lib.tl_plan_add_gap(self._handle, buffer, first, end))

    def add_space(self, capacity: int = 0, *, alignment: int = 0) -> int:
        """Adds a space, memory with offsets of its own, and returns its index; a capacity of 0 means no
        limit. A buffer has the largest alignment of its own and of the spaces that it may lie in."""
        _not_negative(capacity, alignment)
        if alignment & (alignment - 1) or alignment > _MOST_ALIGNMENT:
            raise ValueError(f"an alignment of {alignment} is no power of two up to 4 GiB")
        space = _index(lib.tl_plan_add_space(self._handle, capacity))
        self._spaces = max(self._spaces, space + 1)
        if alignment:
            check(lib.tl_plan_set_space_alignment(self._handle, space, alignment))
        return space

    def set_spaces(self, buffer: int, spaces: Sequence[int]) -> None:
        """Says which spaces a buffer may lie in, the preferred one first."""
        array = int64_array(spaces)
        check(lib.tl_plan_set_spaces(self._handle, buffer, array, len(array)))

    def solve(
        self,
        budget: float = 0,
        *,
        cpu_budget: float = 0,
        max_steps: int = 0,
        seed: int = 0,
        target: int = 0,
        progress: Callable[[PlanProgress], object] | None = None,
    ) -> None:
        """Places the buffers.

        With neither a budget in seconds nor steps a fixed amount of work is done; else the search goes on until
        the frame is proved minimal or the budget is spent. It ends at a frame of target bytes. The same seed and
        number of steps give the same solution of a plan that was not solved before. LimitError names a buffer that
        fits into none of its spaces.

        cpu_budget, instead of a budget, are seconds that the processor works for this thread: the search gets as much
        done while other programs run. A plan that is solved again begins at its last offsets.

        progress is called after each improvement and otherwise about every 10 ms. Something true from it ends the
        search with the best solution so far; if there is none yet, the first pass over the buffers is finished,
        and its solution is the result. progress cannot use the library, which answers it with BusyError. Its
        exceptions end the search and are raised here. Ctrl-C ends the search too, with progress or without; a
        handler of SIGINT that does not raise leaves the best solution so far.
        """
        _not_negative(seed, target)
        _steps(max_steps)
        if progress is not None:
            need_main_interpreter("the progress function of a plan")
        options = _abi.tl_plan_options()
        options.struct_size = ctypes.sizeof(options)
        options.seed, options.max_steps, options.budget_ms = seed, max_steps, _milliseconds(budget)
        options.target_bytes, options.budget_cpu_ms = target, _milliseconds(cpu_budget)
        raised: list[BaseException] = []
        with _noted_interrupts() as came:
            if progress is not None or came is not None:
                options.progress = _abi.tl_plan_progress_callback(_told(progress, raised, came))
            status = lib.tl_plan_solve_with(self._handle, ctypes.byref(options))
        if raised:
            raise raised[0]
        check(status)

    def validate(self) -> None:
        """Checks the solution pair by pair, with a checker that is independent of the solver."""
        check(lib.tl_plan_validate(self._handle))

    @property
    def frame_bytes(self) -> int:
        """Size of the frame; the sum in a plan with several spaces."""
        return self._figure(lib.tl_plan_frame_bytes)

    @property
    def lower_bound(self) -> int:
        """A lower bound for the size of the frame."""
        return self._figure(lib.tl_plan_lower_bound)

    @property
    def is_optimal(self) -> bool:
        """Whether the frame is proved to be the smallest possible."""
        return bool(self._figure(lib.tl_plan_is_optimal))

    @property
    def is_infeasible(self) -> bool:
        """Whether solve has proved that the spaces cannot hold the buffers. After a LimitError without that,
        a larger budget may help."""
        return bool(self._figure(lib.tl_plan_is_infeasible))

    def space_bytes(self, space: int) -> int:
        """Returns the size of the frame in one space."""
        return self._figure(lib.tl_plan_space_bytes, space)

    def offset(self, buffer: int) -> int:
        """Returns the offset of a buffer in its frame."""
        return self._figure(lib.tl_plan_offset, buffer)

    def space_of(self, buffer: int) -> int:
        """Returns the space that a buffer lies in."""
        return _index(lib.tl_plan_space_of(self._handle, buffer))

    def offsets(self) -> list[int]:
        """Returns the offsets of all buffers."""
        count = len(self)
        array = (ctypes.c_size_t * count)()
        check(lib.tl_plan_offsets(self._handle, array, None, count))
        return list(array)

    def _figure(self, function: Any, *arguments: int) -> int:
        """Calls a function that returns 0 or SIZE_MAX on failure, which can also be a correct result."""
        lib.tl_clear_error()
        result: int = function(self._handle, *arguments)
        status = lib.tl_last_status()
        if status != Status.OK:
            check(status)
        return result


_DAY = 86400.0  # the most that the library takes


def _milliseconds(budget: float) -> int:
    """Rounds up, so that a short budget does not become 0; any negative one stays negative."""
    if math.isnan(budget):
        raise ValueError("a budget of NaN seconds is no time")
    return math.ceil(min(budget, _DAY) * 1000) if budget >= 0 else -1


def _each(what: str, given: Iterable[Any] | None, n: int) -> list[Any]:
    """Returns the entries for n buffers; None is None for each."""
    entries = [None] * n if given is None else list(given)
    if len(entries) != n:
        raise ValueError(f"{len(entries)} {what} for {n} buffers")
    return entries


def _not_negative(*numbers: int) -> None:
    """ctypes would wrap these around."""
    for number in numbers:
        if not 0 <= number < 1 << 64:
            raise ValueError(f"{number} is no size, alignment, offset or seed")


def _steps(*numbers: int) -> None:
    """ctypes would wrap these around."""
    for number in numbers:
        if not LOWEST <= number <= HIGHEST:
            raise ValueError(f"{number} does not fit into 64 bits")
