"""Statements of Tiny as text for `tl lower`."""

from syntax import INT, VOID, TinyError, Type, parse
from values import Value, Values, escaped, type_text

# What a program calls: functions of the process that it runs in.
EXTERNS = """extern func tiny_int(x: int)
extern func tiny_float(x: float)
extern func tiny_text(number: int)
extern func tiny_end()
extern func tiny_fail(line: int, index: int, length: int)
"""


def leaves(body):
    """Whether no path reaches the end of a list."""
    if not body:
        return False
    last = body[-1]
    if last.kind == "if":
        return leaves(last.then) and leaves(last.other)
    return last.kind in ("return", "break", "continue")


class Emitter(Values):
    """Writes one program."""

    def program(self):
        """The whole text; self.texts are the texts that it prints."""
        if "main" not in self.functions or self.functions["main"].params or self.functions["main"].result != VOID:
            raise TinyError((1, 1), "fn main() is missing, without parameters and result")
        for struct in self.structs.values():
            fields = (f"{escaped(name)}: {type_text(self.known(struct.at, t))}" for name, t in struct.fields)
            self.line(f"struct {struct.name} {{ {', '.join(fields)} }}")
        self.line(EXTERNS)
        for function in self.functions.values():
            self.function(function)
        return "\n".join(self.lines) + "\n"

    def function(self, node):
        self.result, self.loops = node.result, 0
        params = ", ".join(f"{escaped(name)}: {type_text(self.known(node.at, t))}" for name, t in node.params)
        result = "" if node.result == VOID else f" -> {type_text(self.known(node.at, node.result))}"
        self.line(f"func f_{node.name}({params}){result} {{")
        self.scopes = [dict(node.params)]
        self.body(node.body)
        if node.result != VOID and not leaves(node.body):
            raise TinyError(node.at, f"a path through {node.name} ends without a return")
        self.line("}")

    def body(self, body, **variables):
        self.scopes.append(variables)
        for number, node in enumerate(body):
            if leaves(body[:number]):
                raise TinyError(node.at, "nothing leads here")
            getattr(self, "do_" + node.kind)(node)
        self.scopes.pop()

    def do_let(self, node):
        declared = node.type and self.known(node.at, node.type)
        value = self.wanted(node.value, declared, "the value") if declared else self.value(node.value)
        if node.name in self.scopes[-1]:
            raise TinyError(node.at, f"{node.name} is declared already")
        self.scopes[-1][node.name] = value.type
        self.line(f"let {escaped(node.name)} = {value.text}")

    def do_if(self, node):
        self.line(f"if {self.truth(node, self.value(node.condition))} {{")
        self.body(node.then)
        self.line("} else {")
        self.body(node.other)
        self.line("}")

    def do_while(self, node):
        self.line("while 1 {")
        self.line(f"if {self.truth(node, self.value(node.condition))} == 0 {{ break }}")
        self.loop(node)

    def do_for(self, node):
        first, end = self.several([node.first, node.end], [INT, INT], "a bound")
        at, end = self.spilled(Value(f"{first.text} - 1", INT)).text, self.spilled(end).text
        self.line(f"while 1 {{ {at} = {at} + 1 if {at} >= {end} {{ break }} let {escaped(node.name)} = {at}")
        self.loop(node, **{node.name: INT})

    def loop(self, node, **variables):
        self.loops += 1
        self.body(node.body, **variables)
        self.loops -= 1
        self.line("}")

    def do_break(self, node):
        if not self.loops:
            raise TinyError(node.at, f"{node.kind} stands in a loop")
        self.line(node.kind)

    do_continue = do_break

    def do_return(self, node):
        if (node.value is None) != (self.result == VOID):
            raise TinyError(node.at, f"a function with the result {self.result} returns such a value")
        value = self.wanted(node.value, self.result, "the result").text if node.value else ""
        self.line(f"return {value}")

    def do_do(self, node):
        call = node.call
        if call.kind == "method":
            self.method(call)
        elif call.name == "print":
            self.print(call)
        else:
            value = self.value_of_call(call, None)
            if call.name not in self.functions:
                raise TinyError(call.at, f"the value of {call.name} is not used")
            self.line(value.text)

    def print(self, node):
        for argument in node.arguments:
            if argument.kind == "text":
                self.texts.append(argument.text[1:-1])
                self.line(f"tiny_text({len(self.texts) - 1})")
                continue
            value = self.value(argument)
            if value.type.counted:
                raise TinyError(argument.at, f"numbers and texts can be printed, but no value of type {value.type}")
            self.line(f"tiny_{value.type}({value.text})")
        self.line("tiny_end()")

    def do_assign(self, node):
        target = node.target
        if target.kind == "variable":
            value = self.wanted(node.value, self.variable(target), "the value")
            self.line(f"{escaped(target.name)} = {value.text}")
            return
        if target.kind not in ("field", "index"):
            raise TinyError(node.at, "only variables, fields and elements can be given a value")
        mark = len(self.lines)
        steps, t = self.steps(target)
        where, self.lines = self.lines[mark:], self.lines[:mark]
        value = self.spilled(self.wanted(node.value, t, "the value"))
        self.lines += where
        self.change(steps[:-1], lambda holder: f"{holder}{steps[-1][0]} = {value.text}")

    def steps(self, node):
        """The way to a place from its variable: what is written behind each holder, and its type. Checks indices."""
        if node.kind == "variable":
            t = self.variable(node)
            return [(escaped(node.name), t)], t
        if node.kind not in ("field", "index"):
            raise TinyError(node.at, "only what a variable holds can be changed")
        steps, base = self.steps(node.value)
        if node.kind == "field":
            t = self.field_type(node, base)
            return steps + [("." + escaped(node.name), t)], t
        index, t = self.index(node, Value("".join(text for text, _ in steps), base, True))
        return steps + [(f"[{index}]", t)], t

    def change(self, steps, last):
        """Takes what a path leads to out of its holders, changes it, and puts it back. So nobody else refers to
        it, and the change is made in place; a value that is shared is copied first in any case."""
        holder = steps[0][0]
        if len(steps) == 1:
            self.line(last(holder))
            return
        self.line("block {")
        holders = [holder]
        for text, t in steps[1:]:
            place = holders[-1] + text
            holders.append(self.spilled(Value(place, t)).text)
            self.line(f"{place} = none {type_text(t)}")
        self.line(last(holders[-1]))
        for number in range(len(steps) - 1, 0, -1):
            self.line(f"{holders[number - 1]}{steps[number][0]} = {holders[number]}")
        self.line("}")

    def method(self, node):
        """push and pop, which change a Vec."""
        steps, t = self.steps(node.value)
        if t.name != "Vec" or (node.name, len(node.arguments)) not in (("push", 1), ("pop", 0)):
            raise TinyError(node.at, f"a value of type {t} has no {node.name} of {len(node.arguments)} values")
        if node.name == "push":
            value = self.spilled(self.wanted(node.arguments[0], t.element, "the element"))
            self.change(steps, lambda vec: f"push {vec}, {value.text}")
            return None
        length = f"len({''.join(text for text, _ in steps)})"
        self.line(f"if {length} == 0 {{ tiny_fail({node.at[0]}, 0, 0) }}")
        self.change(steps, lambda vec: f"pop {vec}")
        return t

    def value_of_method(self, node, _):
        """What pop removes."""
        if node.name != "pop":
            raise TinyError(node.at, f"{node.name} has no value")
        steps, t = self.steps(node.value)
        vec = "".join(text for text, _ in steps)
        popped = self.spilled(Value(f"{vec}[len({vec}) - 1]", t.element or Type("void")))
        self.method(node)
        return popped


def emit(text):
    """The text form of a program, and the texts that it prints."""
    emitter = Emitter(*parse(text))
    return emitter.program(), emitter.texts
