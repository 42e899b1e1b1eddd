"""Programs over tensors: expressions, lifetimes, slots, the pool."""

from __future__ import annotations

import struct

from ir import Function, Value, i32, i64
from ir_programs import GONE, program


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
