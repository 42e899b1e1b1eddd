"""Plans from Python: the same as tests_c/planning_test.c, and what only Python can get wrong."""

import os
import random
import signal
import threading

import pytest
import tl_runtime as tl
from conftest import in_threads


def test_dead_buffers_give_their_place():
    plan = tl.Plan()
    a, b, c = (plan.add_buffer(4096, first=step, end=step + 2, name=f"buffer {step}") for step in range(3))
    plan.solve()
    assert plan.frame_bytes == plan.lower_bound == plan.space_bytes(0) == 8192
    assert plan.is_optimal
    assert plan.offset(a) == plan.offset(c) != plan.offset(b)
    assert plan.offsets() == [plan.offset(buffer) for buffer in (a, b, c)]
    assert plan.space_of(b) == 0
    plan.validate()
    assert len(plan) == 3
    assert "3 buffers" in repr(plan)


def test_a_network_of_random_buffers():
    source = random.Random(4)
    given = [(source.randrange(1, 10000), first, first + source.randrange(1, 9)) for first in range(300)]
    plan = tl.Plan()
    assert plan.add_buffers(given) == range(300)
    plan.solve(budget=0.05)
    plan.validate()
    live = max(sum((n + 63) // 64 * 64 for n, first, end in given if first <= step < end) for step in range(310))
    assert plan.frame_bytes >= plan.lower_bound
    assert plan.frame_bytes <= 1.2 * live
    offsets = plan.offsets()
    assert all(offset % 64 == 0 for offset in offsets)
    assert max(offset + n for offset, (n, _, _) in zip(offsets, given, strict=True)) == plan.frame_bytes


def test_steps_and_seed_decide():
    def offsets(seed):
        source = random.Random(1)
        plan = tl.Plan()
        plan.add_buffers((source.randrange(1, 999), first, first + source.randrange(1, 40)) for first in range(100))
        plan.solve(max_steps=2000, seed=seed)
        return plan.offsets()

    assert offsets(1) == offsets(1)


def square(plan):
    """A square of side 23, cut so that no guillotine makes the pieces; most orders need more than 23 bytes."""
    pieces = [(0, 9, 0, 14), (0, 14, 14, 23), (14, 23, 9, 23), (9, 23, 0, 9), (9, 14, 9, 12), (9, 11, 12, 14)]
    plan.add_buffers([(top - bottom, first, end) for first, end, bottom, top in [*pieces, (11, 14, 12, 14)]], alignment=0)


def test_a_target_and_a_capacity_are_goals():
    for seed in range(5):
        plan = tl.Plan()
        square(plan)
        plan.solve(seed=seed, target=23)
        assert plan.frame_bytes == 23
        plan.add_space(23)
        plan.solve(seed=seed)
        assert plan.frame_bytes == 23
        plan.solve(target=1)
        assert plan.frame_bytes == 23


def pieces(count, side=100_000):
    """Rectangles that were cut from a square, as (first, end, low, high). Without some of them the square is hard to
    find again."""
    source, found = random.Random(3), [(0, side, 0, side)]
    while len(found) < count:
        first, end, low, high = found.pop(max(range(len(found)), key=lambda i: _area(*found[i])))
        if end - first > high - low:
            middle = first + (end - first) * source.randrange(30, 71) // 100
            found += [(first, middle, low, high), (middle, end, low, high)]
        else:
            middle = low + (high - low) * source.randrange(30, 71) // 100
            found += [(first, end, low, middle), (first, end, middle, high)]
    return found


def _area(first, end, low, high):
    return (end - first) * (high - low)


def test_a_plan_begins_at_its_last_offsets():
    cut, plan = [piece for i, piece in enumerate(pieces(300)) if i % 20 != 19], tl.Plan()
    plan.add_buffers([(high - low, first, end) for first, end, low, high in cut], alignment=0)
    for buffer, (_, _, low, _) in enumerate(cut):
        plan.hint(buffer, low)
    for _ in range(2):  # hints are for one solution
        plan.solve()
        plan.validate()
        assert plan.frame_bytes == 100_000
    plan.resize(0, 1)
    plan.solve()
    assert plan.frame_bytes <= 100_000
    with pytest.raises(tl.InvalidArgumentError, match="there is no buffer 285"):
        plan.resize(285, 1)
    with pytest.raises(tl.InvalidArgumentError, match="there is no buffer 285"):
        plan.hint(285, 1)


def test_many_buffers_with_names_alignments_and_spaces():
    plan = tl.Plan()
    sram, dram = plan.add_space(1000, alignment=32), plan.add_space()
    given = [(100, 0, 2), (200, 0, 2), (300, 1, 2)]
    assert plan.add_buffers(given, alignment=[1, 256, 8], names=["a", None, "the last"],
                            spaces=[[dram], None, [sram, dram]]) == range(3)  # fmt: skip
    plan.solve()
    plan.validate()
    assert [plan.space_of(i) for i in range(3)] == [dram, sram, sram]
    assert plan.offset(1) % 256 == 0
    assert plan.offset(2) % 32 == 0
    plan.add_buffers([(2000, 0, 2)], names=["too large"], spaces=[[sram]])
    with pytest.raises(tl.LimitError, match="too large"):
        plan.solve()
    for wrong in ({"names": ["a"]}, {"alignment": [64]}, {"spaces": [[0]]}, {"spaces": [[0], [2]]}, {"names": ["a", "\0"]}):
        with pytest.raises(ValueError, match="for 2 buffers|no space 2|null|NUL"):
            plan.add_buffers([(1, 0, 1), (1, 0, 1)], **wrong)
    assert len(plan) == 4
    with pytest.raises(ValueError, match="power of two"):
        plan.add_space(alignment=48)


def test_a_budget_of_the_processor():
    plan = tl.Plan()
    square(plan)
    plan.solve(cpu_budget=60)  # ends with the proof
    assert plan.is_optimal
    with pytest.raises(tl.InvalidArgumentError, match="a search has one of them"):
        plan.solve(1, cpu_budget=1)


def crowd():
    source = random.Random(5)
    plan = tl.Plan()
    plan.add_buffers((source.randrange(1, 9999), first, first + source.randrange(1, 60)) for first in range(1000))
    return plan


def test_a_search_is_followed_and_ended():
    plan, told = crowd(), []

    def progress(state):
        told.append(state)
        with pytest.raises(tl.BusyError):
            len(plan)
        return len(told) == 4

    plan.solve(3600, progress=progress)
    assert len(told) == 4
    assert [state.frame_bytes for state in told] == sorted((state.frame_bytes for state in told), reverse=True)
    assert told[-1].frame_bytes >= plan.frame_bytes >= told[-1].lower_bound  # what was under way is part of the result
    assert told[-1].elapsed >= 0 and told[-1].steps > 0
    plan.validate()


def test_a_search_is_followed_before_there_is_a_solution():
    plan, told = tl.Plan(), []
    plan.add_buffers((64, first, first + 100) for first in range(300_000))
    plan.solve(3600, progress=lambda state: told.append(state) or True)
    assert len(told) == 1
    assert told[0].frame_bytes == 2**64 - 1
    assert plan.lower_bound <= plan.frame_bytes < 2**64 - 1


def test_what_progress_raises_ends_the_search():
    plan = crowd()

    def progress(state):
        raise KeyError(state.frame_bytes)

    with pytest.raises(KeyError):
        plan.solve(3600, progress=progress)
    plan.validate()  # the best solution so far is there


@pytest.fixture
def interrupts():
    """The program's handler, as it is without nohup and the like."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("progress", [None, lambda state: False], ids=["alone", "progress"])
def test_an_interrupt_ends_the_search(progress):
    """Python runs the handler when the callback begins, where ctypes would lose the exception."""
    plan = crowd()
    later = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    later.start()
    with pytest.raises(KeyboardInterrupt):
        plan.solve(3600, progress=progress)
    later.join()
    plan.validate()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_solves_without_the_handler_of_interrupts():
    plan = crowd()
    in_threads(plan.solve, [(0.05,)])
    plan.validate()


def test_a_refusal_of_spaces_is_proved():
    plan = tl.Plan()
    for capacity in (100, 60):
        plan.add_space(capacity)
    for nbytes in (50, 60, 50):
        plan.add_buffer(nbytes, first=0, end=1, alignment=0)
    plan.solve()
    assert [plan.space_of(i) for i in range(3)] == [0, 1, 0]
    assert not plan.is_infeasible
    plan.add_buffer(64, first=0, end=1, alignment=0)
    with pytest.raises(tl.LimitError):
        plan.solve()
    assert plan.is_infeasible


def test_aliases_pins_gaps_and_spaces():
    plan = tl.Plan()
    fast, slow = plan.add_space(1024), plan.add_space()
    parent = plan.add_buffer(512, first=2, end=3)
    part = plan.add_buffer(128, first=0, end=3)
    fixed = plan.add_buffer(512, first=0, end=9)
    large = plan.add_buffer(4096, first=0, end=9)
    guest = plan.add_buffer(4096, first=4, end=5)
    plan.alias(part, parent, 64)
    plan.pin(fixed, 0)
    plan.set_spaces(fixed, [fast])
    plan.set_spaces(parent, [fast, slow])
    plan.add_gap(large, 4, 5)
    plan.solve(0.01)
    assert plan.offset(part) == plan.offset(parent) + 64
    assert plan.space_of(part) == plan.space_of(parent) == plan.space_of(fixed) == fast
    assert plan.space_of(large) == plan.space_of(guest) == slow
    assert plan.space_bytes(slow) == 4096
    assert plan.frame_bytes == 4096 + 1024
    plan.validate()


def test_errors():
    plan = tl.Plan()
    with pytest.raises(tl.InvalidArgumentError, match="no solution"):
        plan.frame_bytes  # noqa: B018
    with pytest.raises(tl.InvalidArgumentError, match="end has to be above first"):
        plan.add_buffer(64, first=1, end=1)
    with pytest.raises(tl.InvalidArgumentError, match="power of two"):
        plan.add_buffer(64, first=1, end=2, alignment=3)
    with pytest.raises(tl.InvalidArgumentError, match="end has to be above first"):
        plan.add_buffers([(64, 0, 1), (64, 1, 0)])
    for bad in (-1, 1 << 64):
        with pytest.raises(ValueError, match="is no size"):
            plan.add_buffer(bad, first=1, end=2)
    with pytest.raises(tl.InvalidArgumentError, match="none can be negative"):
        plan.solve(-0.5)
    assert len(plan) == 0
    bank = plan.add_space(100)
    big = plan.add_buffer(101, first=0, end=1, name="the big one")
    plan.set_spaces(big, [bank])
    with pytest.raises(tl.LimitError, match="the big one"):
        plan.solve()


def test_numbers_of_more_than_64_bits():
    """They are errors; ctypes would take them modulo 2^64, a large end for a small one."""
    plan = tl.Plan()
    buffer = plan.add_buffer(64, first=0, end=2)
    for call in (
        lambda: plan.add_buffer(64, first=0, end=(1 << 64) + 5),
        lambda: plan.add_buffers([(64, -(1 << 63) - 1, 0)]),
        lambda: plan.add_gap(buffer, 0, (1 << 64) + 1),
        lambda: plan.solve(max_steps=1 << 64),
        lambda: plan.solve(seed=-1),
        lambda: plan.solve(float("nan")),
    ):
        with pytest.raises(ValueError, match="does not fit into 64 bits|is no size|is no time"):
            call()
    assert len(plan) == 1
    plan.solve(float("inf"))  # a day at most, and proved at once
    assert plan.is_optimal


def test_plans_end_with_their_objects():
    for _ in range(70000):  # more than there can be at a time
        tl.Plan()


def test_threads_take_turns():
    plan = tl.Plan()

    def work():
        for step in range(50):
            plan.add_buffer(64, first=step, end=step + 1)

    in_threads(work, [()] * 4)
    plan.solve()
    assert (len(plan), plan.frame_bytes) == (200, 256)


def test_what_is_refused_adds_nothing() -> None:
    plan = tl.Plan()
    with pytest.raises(ValueError, match="at most 4095"):
        plan.add_buffers([(10, 0, 1)] * 3, names=["a", "x" * 5000, "c"])
    with pytest.raises(ValueError, match="at most 4095"):
        plan.add_buffer(10, first=0, end=1, name="x" * 4096)
    with pytest.raises(ValueError, match="power of two"):
        plan.add_space(0, alignment=2**33)
    assert plan.add_buffer(10, first=0, end=1, name="x" * 4095) == 0
    assert plan.add_space(0, alignment=2**32) == 0
