"""Programs over structs: fields, parameters, lists, destructors."""

from __future__ import annotations

from ir import NULL, Function, Value, i32, i64
from ir_programs import GONE, program, release_struct


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


@program(4950, 100, 1, GONE)
def linked_list(f: Function) -> None:
    """A list whose nodes own their successors, built and taken down by emitted code."""
    with f.scope():
        head = f.variable(NULL)
        with f.loop(100) as loop:
            node = f.new_struct(16)
            f.store(loop.index, node)
            f.store(f.load("ptr", head), node, 1)  # the reference of head moves into the node
            f.store(f.call("ptr", "tl_ptr_acquire", node), head)
        total, length, cursor = f.variable(i64(0)), f.variable(i64(0)), f.variable(f.load("ptr", head))
        with f.loop(1000) as loop:
            node = f.load("ptr", cursor)
            with f.if_(f.compare("eq", node, NULL)):
                loop.break_()
            f.store(f.add(f.load("i64", total), f.load("i64", node)), total)
            f.store(f.add(f.load("i64", length), i64(1)), length)
            f.store(f.load("ptr", node, 1), cursor)
        f.observe(f.load("i64", total))
        f.observe(f.load("i64", length))
        f.observe_count(f.load("ptr", head))
        last = f.load("ptr", head)
        with f.loop(100):
            node = f.load("ptr", head)
            f.store(f.load("ptr", node, 1), head)
            release_struct(f, node)
    f.observe_count(last)
    f.return_()


@program(55, 0)
def recursion(f: Function) -> None:
    """Every level has a frame, a scope and a struct that it returns to the next."""
    fib = f.module.function("fib", "ptr", Value("i64", "%n"))
    n = fib.parameters[0]
    with fib.frame(1):
        result = fib.new_struct(8)
        with fib.if_(fib.compare("slt", n, i64(2))):
            fib.store(n, result)
            fib.return_object(result)
        parts = []
        for less in (1, 2):
            part = fib.call("ptr", "fib", fib.op("sub", n, i64(less)))
            fib.status("tl_mem_register_struct", part)
            parts.append(fib.load("i64", part))
        fib.store(fib.add(*parts), result)
        fib.return_object(result)
    with f.scope():
        result = f.call("ptr", "fib", i64(10))
        f.status("tl_mem_register_struct", result)
        f.observe(f.load("i64", result))
    f.observe(f.call("i64", "tl_get_scope_depth"))
    f.return_()


@program(1, 1, GONE, GONE, 0)
def release_inside_destructor(f: Function) -> None:
    """A destructor opens a scope, registers into it, and releases what its object held."""
    ran = f.module.constant("destructor_ran", "internal global i64 0")
    destroy = f.module.function("destroy_holder", "void", Value("ptr", "%holder"))
    with destroy.scope():
        destroy.call("ptr", "tl_mem_new", i64(64))
        destroy.status("tl_ptr_release", destroy.load("ptr", destroy.parameters[0]))
    destroy.store(i64(1), ran)
    destroy.return_()
    f.module.constant("holder_name", 'private constant [7 x i8] c"Holder\\00"')
    description = f.module.constant(
        "holder_type",
        "private constant { ptr, i64, ptr, i64, ptr, i32 }"
        " { ptr @holder_name, i64 8, ptr null, i64 0, ptr @destroy_holder, i32 0 }",
    )
    id_slot = f.variable(i32(0))
    f.store(i64(0), ran)
    f.status("tl_type_define", description, id_slot)
    held = f.call("ptr", "tl_mem_alloc", i64(128))
    with f.scope():
        holder = f.call("ptr", "tl_object_new", f.load("i32", id_slot))
        f.store(held, holder)
        f.observe_count(held)
    f.observe(f.load("i64", ran))
    f.observe_count(held)
    f.observe_count(holder)
    f.observe(f.call("i64", "tl_get_scope_depth"))
    f.return_()


@program(1, 2, 6, 1, GONE)
def named_struct(f: Function) -> None:
    """Registered by name, and unregistered more often than registered."""
    name = f.module.constant("layer_name", 'private constant [6 x i8] c"Layer\\00"')
    with f.scope():
        layer = f.call("ptr", "malloc", i64(48))
        f.status("tl_mem_register_struct_named", layer, name)
        f.observe_count(layer)
        f.status("tl_ptr_inc_ref", layer)
        f.status("tl_mem_unregister", layer)
        f.observe_count(layer)
        f.observe(f.checked("tl_mem_unregister", layer))
        f.status("tl_mem_register", layer)
        f.status("tl_ptr_release", layer)
        f.observe_count(layer)
    f.observe_count(layer)
    f.return_()
