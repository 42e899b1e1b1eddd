"""More programs: arenas, frames, lists, destructors and tensors."""

from __future__ import annotations

import struct

from ir import NULL, Function, Value, i32, i64
from ir_programs import GONE, program, release_struct


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


def float_hex(value: float) -> str:
    """LLVM writes a float constant as the double of the same value."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def new_tensor(f: Function, values: list[float]) -> Value:
    """A literal tensor: the data stand in a constant and are copied."""
    name = f.module.fresh("tensor")
    data = ", ".join(f"float {float_hex(value)}" for value in values)
    constant = f.module.constant(name, f"private constant [{len(values)} x float] [{data}]")
    shape = f.module.constant(name + ".shape", f"private constant [1 x i64] [i64 {len(values)}]")
    return f.call("ptr", "tl_tensor_new", constant, i64(1), shape)


def tensor_add(f: Function, left: Value, right: Value, result: Value) -> None:
    """result = left + right, element by element."""
    data = [f.call("ptr", "tl_tensor_data", tensor) for tensor in (left, right, result)]
    with f.loop(f.call("i64", "tl_tensor_len", left)) as loop:
        total = f.add(f.load("float", data[0], loop.index), f.load("float", data[1], loop.index))
        f.store(total, data[2], loop.index)


def observe_element(f: Function, tensor: Value, index: int) -> None:
    element = f.load("float", f.call("ptr", "tl_tensor_data", tensor), index)
    f.observe(f.value("i64", f"fptosi {element} to i64"))


def define_sum(f: Function) -> None:
    """sum(a, b): a new tensor, returned as compilers return tensors."""
    add = f.module.function("tensor_sum", "ptr", Value("ptr", "%a"), Value("ptr", "%b"))
    with add.frame(0):
        shape = add.variable(add.call("i64", "tl_tensor_len", add.parameters[0]))
        result = add.call("ptr", "tl_tensor_empty", i32(0), i32(0), i64(1), shape)
        tensor_add(add, *add.parameters, result)
        add.return_(add.call("ptr", "tl_tensor_prepare_return", result))


@program(1, 44, 3, 1, GONE)
def tensor_expression(f: Function) -> None:
    """a + b + c with an intermediate that goes, and a result that is registered by its receiver."""
    define_sum(f)
    with f.scope():
        a, b, c = (new_tensor(f, [base, base + 1, base + 2]) for base in (1.0, 10.0, 30.0))
        with f.scope():
            first = f.call("ptr", "tensor_sum", a, b)
            f.status("tl_tensor_register", first)
            total = f.call("ptr", "tensor_sum", first, c)
            f.observe_count(total)
        f.status("tl_tensor_register", total)
        observe_element(f, total, 1)
        f.observe(f.call("i64", "tl_tensor_dim", total, i64(0)))
        f.observe_count(total)
    f.observe_count(total)
    f.return_()


@program(2, 1, GONE, 1, GONE, 5)
def tensor_lifetimes(f: Function) -> None:
    """acquire, release, free of a tensor that still stands in a scope, promote and clone."""
    with f.scope():
        tensor = new_tensor(f, [4.0, 5.0])
        f.observe_count(f.call("ptr", "tl_tensor_acquire", tensor))
        f.status("tl_tensor_release", tensor)
        f.observe_count(tensor)
        f.status("tl_tensor_free", tensor)
        f.observe_count(tensor)
        with f.scope():
            source = new_tensor(f, [4.0, 5.0])
            copy = f.call("ptr", "tl_tensor_clone", source)
            f.status("tl_tensor_promote", copy)
        f.observe_count(copy)
        f.observe_count(source)
        observe_element(f, copy, 1)
        f.status("tl_tensor_release_safe", copy)
    f.return_()


@program(190, 1, 1)
def tensors_in_slots(f: Function) -> None:
    """Twenty short-lived tensors in the slots of a frame; one is returned and copied out."""
    make = f.module.function("slot_sum", "ptr", Value("ptr", "%out"))
    shape = f.module.constant("slot.shape", "private constant [2 x i64] [i64 2, i64 3]")
    with make.frame(20):
        total = make.variable(Value("float", float_hex(0.0)))
        for slot in range(20):
            tensor = make.call("ptr", "tl_tensor_in_slot", i64(slot), i32(0), i64(2), shape)
            data = make.call("ptr", "tl_tensor_data", tensor)
            make.store(Value("float", float_hex(float(slot))), data, 5)
            make.store(make.add(make.load("float", total), make.load("float", data, 5)), total)
        make.store(make.load("float", total), data, 5)
        make.return_(make.call("ptr", "tl_tensor_prepare_return", tensor))
    with f.scope():
        result = f.call("ptr", "slot_sum", f.parameters[0])
        f.status("tl_tensor_register", result)
        observe_element(f, result, 5)
        f.observe_count(result)
        f.observe(f.op("sub", f.call("i64", "tl_tensor_dim", result, i64(1)), i64(2)))
    f.return_()


@program(1, 77, GONE, 2, 2)
def temporaries(f: Function) -> None:
    """Temporaries are freed by hand; a pointer that the runtime never saw is left to the host."""
    temporary = f.call("ptr", "tl_alloc_tmp", i64(128))
    f.store(i64(77), temporary, 15)
    f.observe_count(temporary)
    f.observe(f.load("i64", temporary, 15))
    f.status("tl_free_tmp", temporary)
    f.observe_count(temporary)
    stranger = f.call("ptr", "malloc", i64(64))
    f.observe(f.checked("tl_mem_unregister", stranger))
    f.observe(f.checked("tl_ptr_release", stranger))
    f.call("void", "free", stranger)
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


@program(0, 1, 1, 0, 4)
def tensor_pool(f: Function) -> None:
    """Emitted code that keeps tensors itself gets the same one back, and may not give it twice."""
    elements = 12347
    shape = f.module.constant("pool.shape", f"private constant [1 x i64] [i64 {elements}]")
    key = (i64(elements), Value("i8", "0"), Value("i8", "0"))
    made = f.call("ptr", "tl_tensor_empty", i32(0), i32(0), i64(1), shape)
    f.status("tl_tensor_promote", made)
    f.observe(f.checked("tl_pool_release", made, *key))
    again = f.call("ptr", "tl_pool_acquire", *key)
    f.observe(f.compare("eq", again, made))
    f.observe_count(again)
    f.observe(f.checked("tl_pool_release", again, *key))
    f.observe(f.checked("tl_pool_release", again, *key))
    f.return_()
