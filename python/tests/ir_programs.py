"""Programs as a tensor-language compiler would emit them, and what they must observe.

Each takes an array and notes values and counts in it; the list beside its name is
what the array holds afterwards. Besides, nothing may be live when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ir import NULL, Function, Module, Value, i32, i64


class Program(NamedTuple):
    build: Callable[[Module], None]
    expected: list[int]


PROGRAMS: dict[str, Program] = {}
GONE = -1  # tl_ptr_refcount of what is not live


def program(*expected: int) -> Callable[[Callable[[Function], None]], Callable[[Function], None]]:
    """Registers the body of a program under its name."""

    def register(body: Callable[[Function], None]) -> Callable[[Function], None]:
        def build(module: Module) -> None:
            body(module.program(body.__name__))

        PROGRAMS[body.__name__] = Program(build, list(expected))
        return body

    return register


def release_struct(f: Function, pointer: Value, fields: tuple[int, ...] = ()) -> None:
    """What compilers emit to drop a malloc'ed struct: count down, then fields, then free."""
    dead = f.compare("eq", f.call("i32", "tl_ptr_dec_ref", pointer), i32(1))
    with f.if_(dead):
        for field in fields:
            f.status("tl_ptr_release", f.load("ptr", pointer, field))
        f.status("tl_mem_free", pointer)


@program(45, 2, 1, GONE, GONE)
def vec_of_structs(f: Function) -> None:
    """A Vec of structs that are also scope-managed: nothing is freed twice."""
    with f.scope():
        vec = f.call("ptr", "tl_vec_new", i64(4))
        with f.scope():
            first = f.variable(NULL)
            with f.loop(10) as loop:
                struct = f.new_struct(16)
                f.store(loop.index, struct)
                f.status("tl_vec_push", vec, struct)
                with f.if_(f.compare("eq", loop.index, i64(0))):
                    f.store(struct, first)
            total = f.variable(i64(0))
            with f.loop(f.call("i64", "tl_vec_len", vec)) as loop:
                element = f.call("ptr", "tl_vec_get", vec, loop.index)
                f.store(f.add(f.load("i64", total), f.load("i64", element)), total)
            f.observe(f.load("i64", total))
            struct = f.new_struct(16)
            f.status("tl_vec_push", vec, struct)
            f.observe_count(struct)
        f.observe_count(struct)
        first_struct = f.load("ptr", first)
    f.observe_count(first_struct)
    f.observe_count(vec)
    f.return_()


@program(1, 1, 1, 1, 42, GONE)
def struct_through_three_functions(f: Function) -> None:
    """A struct returned through three functions keeps one reference all the way."""
    inner = f.module.function("make_struct", "ptr", Value("ptr", "%out"))
    with inner.frame(0):
        made = inner.new_struct(24)
        inner.store(i64(42), made, 2)
        inner.observe_count(made)
        inner.return_object(made)
    callee = "make_struct"
    for level, name in enumerate(("pass_once", "pass_twice"), start=1):
        middle = f.module.function(name, "ptr", Value("ptr", "%out"))
        middle.observations = level
        with middle.frame(0), middle.scope():
            got = middle.call("ptr", callee, middle.parameters[0])
            middle.status("tl_mem_register_struct", got)
            middle.observe_count(got)
            middle.return_object(got)
        callee = name
    f.observations = 3
    with f.scope():
        got = f.call("ptr", callee, f.parameters[0])
        f.status("tl_mem_register_struct", got)
        f.observe_count(got)
        f.observe(f.load("i64", got, 2))
    f.observe_count(got)
    f.return_()


@program(2, 1, 1, 1, 7, GONE, GONE)
def point_field(f: Function) -> None:
    """Point{x: a}: a goes 1 to 2; the scope's end leaves container 1 and a 1."""
    make = f.module.function("make_point", "ptr", Value("ptr", "%out"))
    with make.frame(0), make.scope():
        a = make.new_struct(16)
        make.store(i64(7), a)
        point = make.new_struct(8)
        make.store(make.call("ptr", "tl_ptr_acquire", a), point)
        make.observe_count(a)
        make.observe_count(point)
        make.return_object(point)
    f.observations = make.observations
    point = f.call("ptr", "make_point", f.parameters[0])
    a = f.load("ptr", point)
    f.observe_count(point)
    f.observe_count(a)
    f.observe(f.load("i64", a))
    release_struct(f, point, fields=(0,))
    f.observe_count(point)
    f.observe_count(a)
    f.return_()


@program(2, 1, 1, 1, GONE, GONE, 1)
def typed_point_field(f: Function) -> None:
    """The same with a described type: the runtime releases the field, after the destructor."""
    gone = f.module.constant("points_destroyed", "internal global i64 0")
    destroy = f.module.function("destroy_point", "void", Value("ptr", "%point"))
    destroy.store(destroy.add(destroy.load("i64", gone), i64(1)), gone)
    destroy.return_()
    f.module.constant("point_name", 'private constant [6 x i8] c"Point\\00"')
    f.module.constant("point_offsets", "private constant [1 x i64] [i64 0]")
    description = f.module.constant(
        "point_type",
        "private constant { ptr, i64, ptr, i64, ptr, i32 }"
        " { ptr @point_name, i64 8, ptr @point_offsets, i64 1, ptr @destroy_point, i32 0 }",
    )
    f.store(i64(0), gone)
    id_slot = f.variable(i32(0))
    f.status("tl_type_define", description, id_slot)
    with f.scope():
        with f.scope():
            a = f.call("ptr", "tl_mem_new", i64(16))
            point = f.call("ptr", "tl_object_new", f.load("i32", id_slot))
            f.store(f.call("ptr", "tl_ptr_acquire", a), point)
            f.observe_count(a)
            f.observe_count(point)
            f.status("tl_mem_unregister", point)
        f.observe_count(point)
        f.observe_count(a)
        f.status("tl_mem_register_struct", point)
    f.observe_count(point)
    f.observe_count(a)
    f.observe(f.load("i64", gone))
    f.return_()


@program(1, 2, 1, 5, GONE)
def returns_its_parameter(f: Function) -> None:
    """A function that returns its parameter, called inside an inner scope, takes nothing from its caller."""
    identity = f.module.function("identity", "ptr", Value("ptr", "%x"))
    with identity.frame(0), identity.scope():
        identity.return_object(identity.parameters[0])
    with f.scope():
        a = f.new_struct(16)
        f.store(i64(5), a)
        with f.scope():
            same = f.call("ptr", "identity", a)
            f.observe_count(a)
            f.status("tl_mem_register_struct", same)
            f.observe_count(a)
        f.observe_count(a)
        f.observe(f.load("i64", a))
    f.observe_count(a)
    f.return_()


@program(2, 1, 99, GONE, GONE)
def field_outlives_local(f: Function) -> None:
    """A field keeps alive what the local it came from no longer holds."""
    with f.scope():
        holder = f.new_struct(8)
        with f.scope():
            local = f.new_struct(16)
            f.store(i64(99), local)
            f.store(f.call("ptr", "tl_ptr_acquire", local), holder)
            f.observe_count(local)
        field = f.load("ptr", holder)
        f.observe_count(field)
        f.observe(f.load("i64", field))
        f.status("tl_ptr_release", field)
        f.observe_count(field)
    f.observe_count(holder)
    f.return_()


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
