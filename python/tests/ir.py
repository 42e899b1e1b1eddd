"""Text IR the way a tensor-language compiler emits it.

A Module is a list of functions; a Function appends instructions. There is no
cleverness: variables are allocas, every block opens a scope when the source
language would, and leaving a block early closes the scopes that it leaves. -O2
then gets to turn it into what it likes.

Declarations come in two styles. "wild": the compiler declares what it calls by
itself and, as compilers in the wild do, declares calls whose status it does not
want as void. "header": the declarations of include/tl_runtime.ll are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Value(NamedTuple):
    """A typed operand."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


def i64(value: int) -> Value:
    return Value("i64", str(value))


def i32(value: int) -> Value:
    return Value("i32", str(value))


NULL = Value("ptr", "null")


class Module:
    """A compilation unit."""

    def __init__(self, header: str | None = None) -> None:
        self.header = header
        self.functions: list[Function] = []
        self.globals: list[str] = []
        self.externs: dict[str, str] = {}
        self.names = 0

    @property
    def status_type(self) -> str:
        """How calls that return a status are declared."""
        return "i32" if self.header else "void"

    def function(self, name: str, result: str = "void", *parameters: Value) -> Function:
        function = Function(self, name, result, parameters)
        self.functions.append(function)
        return function

    def program(self, name: str) -> Function:
        """A function that is called from outside with an array to note observations in."""
        return self.function(name, "void", Value("ptr", "%out"))

    def fresh(self, stem: str) -> str:
        """A name for a global that nothing else has."""
        self.names += 1
        return f"{stem}.{self.names}"

    def constant(self, name: str, text: str) -> Value:
        self.globals.append(f"@{name} = {text}")
        return Value("ptr", f"@{name}")

    def text(self) -> str:
        defined = {function.name for function in self.functions}
        parts = [self.header] if self.header else []
        declared = self.header or ""
        parts += self.globals
        for name, declaration in self.externs.items():
            if name not in defined and f"@{name}(" not in declared:
                parts.append(declaration)
        parts += [function.text() for function in self.functions]
        return "\n".join(parts) + "\n"


class Function:
    """A function under construction."""

    def __init__(self, module: Module, name: str, result: str, parameters: tuple[Value, ...]) -> None:
        self.module = module
        self.name = name
        self.result = result
        self.parameters = parameters
        self.entry: list[str] = []  # allocas stand first, where mem2reg looks for them
        self.body: list[str] = []
        self.names = 0
        self.observations = 0
        self.open_scopes = 0
        self.framed = False
        self.terminated = False

    # Text.

    def text(self) -> str:
        assert self.terminated, f"{self.name} falls off its end"
        head = ", ".join(map(str, self.parameters))
        lines = [f"define {self.result} @{self.name}({head}) {{", "entry:", *self.entry, *self.body, "}"]
        return "\n".join(lines)

    def fresh(self, stem: str = "v") -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def emit(self, line: str) -> None:
        if self.terminated:  # dead code still needs a block
            self.label(self.fresh("dead"))
        self.body.append("  " + line)

    def value(self, type_: str, line: str) -> Value:
        name = "%" + self.fresh()
        self.emit(f"{name} = {line}")
        return Value(type_, name)

    def label(self, name: str) -> None:
        if not self.terminated:
            self.body.append(f"  br label %{name}")
        self.body.append(f"{name}:")
        self.terminated = False

    def jump(self, name: str) -> None:
        self.emit(f"br label %{name}")
        self.terminated = True

    # Memory and arithmetic.

    def variable(self, initial: Value) -> Value:
        name = "%" + self.fresh("slot")
        self.entry.append(f"  {name} = alloca {initial.type}")
        self.emit(f"store {initial}, ptr {name}")
        return Value("ptr", name)

    def at(self, base: Value, index: Value | int, element: str = "i64") -> Value:
        position = i64(index) if isinstance(index, int) else index
        return self.value("ptr", f"getelementptr {element}, {base}, {position}")

    def load(self, type_: str, base: Value, index: Value | int = 0) -> Value:
        return self.value(type_, f"load {type_}, {self.at(base, index, type_)}")

    def store(self, value: Value, base: Value, index: Value | int = 0) -> None:
        self.emit(f"store {value}, {self.at(base, index, value.type)}")

    def op(self, name: str, left: Value, right: Value) -> Value:
        return self.value(left.type, f"{name} {left}, {right.name}")

    def add(self, left: Value, right: Value) -> Value:
        return self.op("fadd" if left.type in ("float", "double") else "add", left, right)

    def mul(self, left: Value, right: Value) -> Value:
        return self.op("fmul" if left.type in ("float", "double") else "mul", left, right)

    def compare(self, how: str, left: Value, right: Value) -> Value:
        return self.value("i1", f"icmp {how} {left}, {right.name}")

    def widen(self, value: Value, how: str = "sext") -> Value:
        return self.value("i64", f"{how} {value} to i64")

    # Calls.

    def call(self, type_: str, callee: str, *arguments: Value) -> Value:
        self._declare(type_, callee, arguments)
        line = f"call {type_} @{callee}({', '.join(map(str, arguments))})"
        if type_ == "void":
            self.emit(line)
            return Value("void", "")
        return self.value(type_, line)

    def status(self, callee: str, *arguments: Value) -> None:
        """A call whose status the compiler ignores."""
        self.call(self.module.status_type, callee, *arguments)

    def checked(self, callee: str, *arguments: Value) -> Value:
        """A call whose status is looked at, through tl_last_status where the declaration says void."""
        if self.module.status_type == "i32":
            return self.call("i32", callee, *arguments)
        self.call("void", "tl_clear_error")  # success may leave an older status standing
        self.call("void", callee, *arguments)
        return self.call("i32", "tl_last_status")

    def _declare(self, type_: str, callee: str, arguments: tuple[Value, ...]) -> None:
        kinds = ", ".join(argument.type for argument in arguments)
        declaration = f"declare {type_} @{callee}({kinds})"
        known = self.module.externs.setdefault(callee, declaration)
        assert known == declaration, f"{known} and {declaration}"

    # What a test looks at afterwards.

    def observe(self, value: Value) -> None:
        wide = value if value.type == "i64" else self.widen(value, "zext" if value.type == "i1" else "sext")
        self.emit(f"store {wide}, {self.at(self.parameters[0], self.observations)}")
        self.observations += 1

    def observe_count(self, pointer: Value) -> None:
        self.observe(self.call("i64", "tl_ptr_refcount", pointer))

    # Scopes, frames, objects: the calls that a compiler inserts.

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.status("tl_mem_enter_scope")
        self.open_scopes += 1
        yield
        self.open_scopes -= 1
        if not self.terminated:
            self.status("tl_mem_exit_scope")

    @contextmanager
    def frame(self, slots: int) -> Iterator[None]:
        """The frame of a whole function; return_ closes it."""
        self.status("tl_mem_function_enter", i64(slots))
        self.framed = True
        yield
        assert self.terminated, f"{self.name} does not return out of its frame"

    def leave_scopes(self, keep: int) -> None:
        for _ in range(self.open_scopes - keep):
            self.status("tl_mem_exit_scope")

    def return_(self, value: Value | None = None) -> None:
        self.leave_scopes(0)
        if self.framed:
            self.status("tl_mem_function_exit")
        self.emit(f"ret {value}" if value else "ret void")
        self.terminated = True

    def new_struct(self, bytes_: int) -> Value:
        pointer = self.call("ptr", "malloc", i64(bytes_))
        self.status("tl_mem_register_struct", pointer)
        return pointer

    def return_object(self, pointer: Value) -> None:
        """Returns an object of this function: the reference floats to the caller."""
        self.status("tl_mem_unregister", pointer)
        self.return_(pointer)

    # Control flow.

    @contextmanager
    def if_(self, condition: Value) -> Iterator[None]:
        name = self.fresh("if")
        self.emit(f"br {condition}, label %{name}.then, label %{name}.end")
        self.terminated = True
        self.label(f"{name}.then")
        yield
        self.label(f"{name}.end")

    @contextmanager
    def loop(self, count: int | Value) -> Iterator[Loop]:
        """for index in range(count), with a scope of its own per iteration."""
        limit = i64(count) if isinstance(count, int) else count
        index = self.variable(i64(0))
        loop = Loop(self, self.fresh("loop"))
        self.label(f"{loop.name}.head")
        loop.index = self.load("i64", index)
        more = self.compare("slt", loop.index, limit)
        self.emit(f"br {more}, label %{loop.name}.body, label %{loop.name}.end")
        self.terminated = True
        self.label(f"{loop.name}.body")
        with self.scope():
            yield loop
        self.label(f"{loop.name}.next")
        self.store(self.add(self.load("i64", index), i64(1)), index)
        self.jump(f"{loop.name}.head")
        self.label(f"{loop.name}.end")


class Loop:
    """An open loop: its index and the ways out of it."""

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name
        self.index = i64(0)
        self.scopes = function.open_scopes

    def break_(self) -> None:
        self.function.leave_scopes(self.scopes)
        self.function.jump(f"{self.name}.end")

    def continue_(self) -> None:
        self.function.leave_scopes(self.scopes)
        self.function.jump(f"{self.name}.next")
