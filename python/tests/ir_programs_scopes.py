"""Programs over scopes, frames and the arena."""

from __future__ import annotations

from ir import NULL, Function, Value, i64
from ir_programs import GONE, program


@program(1, 1, 30, 17, GONE)
def method_with_own_frame(f: Function) -> None:
    """A method opens a frame of its own and leaves the slots of its caller alone."""
    method = f.module.function("grow", "void", Value("ptr", "%self"), Value("ptr", "%out"))
    with method.frame(1):
        scratch = method.call("ptr", "tl_mem_get_buffer", i64(0), i64(64))
        method.store(method.load("i64", method.parameters[0]), scratch, 7)
        doubled = method.mul(method.load("i64", scratch, 7), i64(2))
        method.store(doubled, method.parameters[0])
        method.return_()
    caller = f.module.function("call_grow", "void", Value("ptr", "%out"))
    with caller.frame(1):
        slot = caller.call("ptr", "tl_mem_get_buffer", i64(0), i64(64))
        caller.store(i64(17), slot, 7)
        self = caller.new_struct(16)
        caller.store(i64(15), self)
        caller.observe_count(self)
        caller.call("void", "grow", self, caller.parameters[0])
        caller.observe_count(self)
        caller.observe(caller.load("i64", self))
        again = caller.call("ptr", "tl_mem_get_buffer", i64(0), i64(64))
        caller.observe(caller.load("i64", again, 7))
        caller.store(self, caller.parameters[0], 9)
        caller.return_()
    f.call("void", "call_grow", f.parameters[0])
    f.observations = caller.observations
    f.observe_count(f.load("ptr", f.parameters[0], 9))
    f.return_()


@program(0, 1 + 2 + 4 + 5, 0, 3, 0, -1, 0)
def leave_nested_scopes(f: Function) -> None:
    """break, continue and early return close exactly the scopes that they leave."""
    search = f.module.function("search", "i64", Value("i64", "%wanted"))
    with search.frame(0):
        with search.loop(8) as loop:
            search.new_struct(16)
            with search.scope():
                search.new_struct(32)
                with search.if_(search.compare("eq", loop.index, search.parameters[0])):
                    search.return_(loop.index)
        search.return_(i64(-1))
    depth = f.call("i64", "tl_get_scope_depth")
    f.observe(depth)
    total = f.variable(i64(0))
    with f.loop(10) as loop:
        f.new_struct(16)
        with f.if_(f.compare("eq", loop.index, i64(3))):
            loop.continue_()
        with f.scope():
            f.new_struct(48)
            with f.if_(f.compare("eq", loop.index, i64(6))):
                loop.break_()
            f.store(f.add(f.load("i64", total), loop.index), total)
    f.observe(f.load("i64", total))
    f.observe(f.call("i64", "tl_get_scope_depth"))
    for wanted in (3, 50):
        f.observe(f.call("i64", "search", i64(wanted)))
        f.observe(f.call("i64", "tl_get_scope_depth"))
    f.return_()


@program(3, 1, 0, GONE)
def unwinding(f: Function) -> None:
    """tl_mem_exit_scopes_to closes whatever was opened above a depth."""
    f.status("tl_mem_enter_scope")
    kept = f.new_struct(16)
    depth = f.call("i64", "tl_get_scope_depth")
    f.status("tl_mem_function_enter", i64(2))
    f.status("tl_mem_enter_scope")
    f.new_struct(16)
    f.call("ptr", "tl_mem_get_buffer", i64(1), i64(128))
    f.observe(f.call("i64", "tl_get_scope_depth"))
    f.status("tl_mem_exit_scopes_to", depth)
    f.observe_count(kept)
    f.status("tl_mem_exit_scope")
    f.observe(f.call("i64", "tl_get_scope_depth"))
    f.observe_count(kept)
    f.return_()


@program(1, 2, 1, 11, GONE)
def registered_in_two_scopes(f: Function) -> None:
    """The same pointer registered in two scopes has a reference in each."""
    with f.scope():
        shared = f.new_struct(16)
        f.store(i64(11), shared)
        f.observe_count(shared)
        with f.scope():
            f.status("tl_mem_register_struct", shared)
            f.observe_count(shared)
        f.observe_count(shared)
        f.observe(f.load("i64", shared))
    f.observe_count(shared)
    f.return_()


def alloc_struct(f: Function, bytes_: int) -> Value:
    """The allocation that compilers with an arena emit: bump while one is active, malloc otherwise."""
    result = f.variable(NULL)
    active = f.call("i1", "tl_arena_is_active")
    with f.if_(active):
        f.store(f.call("ptr", "tl_arena_alloc", i64(bytes_)), result)
    with f.if_(f.op("xor", active, Value("i1", "true"))):
        f.store(f.call("ptr", "malloc", i64(bytes_)), result)
    pointer = f.load("ptr", result)
    f.status("tl_mem_register_struct", pointer)
    return pointer


@program(0, 1, 1, 1, 0, 36, 0, 28)
def arena_or_malloc(f: Function) -> None:
    """The same code runs on the arena and on malloc; registering an arena pointer changes nothing."""
    work = f.module.function("work", "i64", Value("i64", "%n"))
    with work.frame(0):
        total = work.variable(i64(0))
        with work.loop(work.parameters[0]) as loop:
            node = alloc_struct(work, 24)
            work.store(loop.index, node, 1)
            work.store(work.add(work.load("i64", total), work.load("i64", node, 1)), total)
        work.return_(work.load("i64", total))
    f.observe(f.call("i1", "tl_arena_is_active"))
    f.status("tl_arena_init", i64(1 << 16))
    f.observe(f.call("i1", "tl_arena_is_active"))
    before = f.call("i64", "tl_arena_get_offset")
    with f.scope():
        node = alloc_struct(f, 24)
        f.observe(f.call("i1", "tl_arena_contains", node))
        f.observe(f.compare("sgt", f.call("i64", "tl_arena_get_offset"), before))
    f.observe(f.op("sub", f.call("i64", "tl_arena_get_offset"), before))
    f.observe(f.call("i64", "work", i64(9)))
    f.status("tl_arena_free")
    f.observe(f.call("i1", "tl_arena_is_active"))
    f.observe(f.call("i64", "work", i64(8)))
    f.return_()


@program(1, 1, 28, 1)
def slot_inside_loop(f: Function) -> None:
    """A slot first taken inside a loop's scope keeps its memory until the function ends."""
    summing = f.module.function("summing", "void", Value("ptr", "%out"))
    with summing.frame(3):
        first = summing.variable(NULL)
        with summing.loop(8) as loop:
            slot = summing.call("ptr", "tl_mem_get_buffer", i64(1), i64(256))
            with summing.if_(summing.compare("eq", loop.index, i64(0))):
                summing.store(slot, first)
                summing.store(i64(0), slot, 31)
            summing.store(summing.add(summing.load("i64", slot, 31), loop.index), slot, 31)
        slot = summing.call("ptr", "tl_mem_get_buffer", i64(1), i64(256))
        address = summing.value("i64", f"ptrtoint {slot} to i64")
        summing.observe(summing.compare("eq", slot, summing.load("ptr", first)))
        summing.observe(summing.compare("eq", summing.op("and", address, i64(7)), i64(0)))
        summing.observe(summing.load("i64", slot, 31))
        summing.call("ptr", "tl_mem_get_buffer", i64(2), i64(64))  # at the top a buffer would grow where it is
        bigger = summing.call("ptr", "tl_mem_get_buffer", i64(1), i64(4096))
        summing.observe(summing.compare("ne", bigger, slot))
        summing.store(i64(1), bigger, 511)
        summing.store(i64(2), slot, 31)  # an outgrown buffer stays valid
        summing.return_()
    f.call("void", "summing", f.parameters[0])
    f.return_()


@program(64, 0, 6)
def planned_frame(f: Function) -> None:
    """A planned frame is one bump; the compiler's offsets do the rest."""
    frame = f.call("ptr", "tl_mem_frame_enter", i64(4096))
    address = f.value("i64", f"ptrtoint {frame} to i64")
    f.observe(f.op("sub", i64(64), f.op("urem", address, i64(64))))
    f.store(i64(6), f.at(frame, 512, "i8"))
    f.observe(f.op("urem", address, i64(64)))
    f.observe(f.load("i64", f.at(frame, 512, "i8")))
    f.status("tl_mem_frame_exit")
    f.return_()
