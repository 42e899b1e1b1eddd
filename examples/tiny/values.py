"""Expressions of Tiny as text for `tl lower`, with their types checked."""

from dataclasses import dataclass

from syntax import FLOAT, INT, NIL, VOID, TinyError, Type

# Words of the text form that Tiny allows as names.
WORDS = {"func", "extern", "block", "push", "pop", "new", "none", "is", "zeros", "fill", "sum", "len", "int", "float"}
WORDS |= {"tensor", "vec", "struct", "let", "if", "else", "while", "break", "continue", "return"}


def escaped(name):
    """A name as the text form takes it. Those that begin with _ are none of Tiny's."""
    return "_" + name if name in WORDS else name


def type_text(t):
    """A type in the text form."""
    if t.name == "Vec":
        return f"vec<{type_text(t.element)}>"
    if t.name == "Tensor":
        return f"tensor<{', '.join(map(str, (t.element, *t.shape)))}>"
    return t.name


@dataclass
class Value:
    """An expression in the text form. One that is plain can stand in two places: it is a path from a variable."""

    text: str
    type: Type
    plain: bool = False


class Values:
    """Writes expressions. What has to happen before one becomes lines."""

    def __init__(self, structs, functions):
        self.structs, self.functions = structs, functions
        self.lines, self.texts, self.scopes, self.temporaries = [], [], [], 0

    def line(self, text):
        self.lines.append(text)

    def spilled(self, value):
        """The name of a variable with the value."""
        self.temporaries += 1
        self.line(f"let _{self.temporaries} = {value.text}")
        return Value(f"_{self.temporaries}", value.type, True)

    def known(self, at, t):
        """The type, once all structs in it are known."""
        inner = t
        while inner.name == "Vec":
            inner = inner.element
        if inner.name not in ("int", "float", "Tensor") and inner.name not in self.structs:
            raise TinyError(at, f"there is no type {inner}")
        return t

    def variable(self, node):
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        raise TinyError(node.at, f"there is no variable {node.name}; declare it by let")

    def wanted(self, node, want, what):
        """A value of one type."""
        value = self.value(node, want)
        if value.type != want:
            raise TinyError(node.at, f"{what} is of type {value.type}, not {want}")
        return value

    def several(self, nodes, wants, what):
        """Values from left to right: what a later one does first comes behind the earlier ones."""
        values = []
        for node, want in zip(nodes, wants):
            mark = len(self.lines)
            value = self.value(node, want) if want in (None, NIL) else self.wanted(node, want, what)
            if len(self.lines) > mark:
                tail, self.lines = self.lines[mark:], self.lines[:mark]
                values = [self.spilled(v) for v in values]
                self.lines += tail
            values.append(value)
        return values

    def value(self, node, want=None):
        """The value of any expression; nil gets the type that is wanted."""
        value = getattr(self, "value_of_" + node.kind)(node, want)
        if value.type == VOID:
            raise TinyError(node.at, f"{node.name} returns nothing, and a value is needed")
        return value

    def value_of_int(self, node, _):
        if int(node.text) > 2**63 - 1:
            raise TinyError(node.at, f"{node.text} has more than 64 bits")
        return Value(node.text, INT, True)

    def value_of_float(self, node, _):
        return Value(node.text, FLOAT, True)

    def value_of_text(self, node, _):
        raise TinyError(node.at, "a text can only be printed")

    def value_of_nil(self, node, want):
        if want is None or not want.counted:
            raise TinyError(node.at, "nil of which type? declare it, as in `let p: P = nil`")
        return Value("none " + type_text(want), want)

    def value_of_variable(self, node, _):
        return Value(escaped(node.name), self.variable(node), True)

    def value_of_field(self, node, _):
        base = self.value(node.value)
        return Value(f"{self.path(base)}.{escaped(node.name)}", self.field_type(node, base.type), True)

    def field_type(self, node, t):
        for name, found in self.structs[t.name].fields if t.name in self.structs else []:
            if name == node.name:
                return found
        raise TinyError(node.at, f"a value of type {t} has no field {node.name}")

    def path(self, value):
        """The text of a value that is read in parts."""
        return value.text if value.plain else self.spilled(value).text

    def value_of_index(self, node, _):
        base = self.value(node.value)
        path = Value(self.path(base), base.type, True)
        index, element = self.index(node, path)
        return Value(f"{path.text}[{index}]", element, True)

    def index(self, node, base):
        """The index of an element, checked, and the element's type."""
        shape = {"Vec": [None], "Tensor": base.type.shape}.get(base.type.name)
        if shape is None or len(shape) != len(node.indices):
            raise TinyError(node.at, f"a value of type {base.type} has no element at {len(node.indices)} indices")
        flat = "0"
        for value, extent in zip(self.several(node.indices, [INT] * len(shape), "the index"), shape):
            at = value.text if value.text.isidentifier() or value.text.isdigit() else self.spilled(value).text
            self.check(node, at, f"len({base.text})" if extent is None else str(extent))
            flat = at if flat == "0" else f"({flat}) * {extent} + {at}"
        return flat, base.type.element if base.type.name == "Vec" else FLOAT

    def check(self, node, index, length):
        if not (index.isdigit() and length.isdigit() and int(index) < int(length)):
            self.line(f"if ({index} < 0) + ({index} >= {length}) {{ tiny_fail({node.at[0]}, {index}, {length}) }}")

    def value_of_unary(self, node, _):
        value = self.value(node.value)
        if node.operator == "not":
            return Value(f"({self.truth(node, value)} == 0)", INT)
        if value.type not in (INT, FLOAT):
            raise TinyError(node.at, f"a value of type {value.type} has no -")
        if node.value.kind in ("int", "float"):
            return Value(f"(-{value.text})", value.type)
        return Value(f"({'0' if value.type == INT else '-0.0'} - {value.text})", value.type)

    def truth(self, node, value):
        if value.type != INT:
            raise TinyError(node.at, f"a condition is an int, not of type {value.type}")
        return value.text

    def value_of_binary(self, node, _):
        if node.operator in ("and", "or"):
            return self.shortcut(node)
        if "nil" in (node.left.kind, node.right.kind):
            return self.compared_with_nil(node)
        left, right = self.several([node.left, node.right], [None, None], "")
        if left.type.name == "Tensor" and right.type == FLOAT:
            right = Value(f"fill {type_text(left.type)}({right.text})", left.type)
        elif right.type.name == "Tensor" and left.type == FLOAT:
            left = Value(f"fill {type_text(right.type)}({left.text})", right.type)
        allowed = {"int": "+ - * / % == != < <= > >=", "float": "+ - * / == != < <= > >=", "Tensor": "+ - *"}
        if left.type != right.type or node.operator not in allowed.get(left.type.name, "").split():
            raise TinyError(node.at, f"there is no {left.type} {node.operator} {right.type}")
        result = INT if node.operator[0] in "=!<>" else left.type
        return Value(f"({left.text} {node.operator} {right.text})", result)

    def compared_with_nil(self, node):
        value = self.value(node.right if node.left.kind == "nil" else node.left)
        if node.operator not in ("==", "!=") or not value.type.counted:
            raise TinyError(node.at, f"a value of type {value.type} is not compared with nil by {node.operator}")
        return Value(f"({value.text} is none == {int(node.operator == '==')})", INT)

    def shortcut(self, node):
        """Evaluates the right side of `and` and `or` only where it matters."""
        left = self.truth(node, self.value(node.left))
        result = self.spilled(Value(f"({left} != 0)", INT))
        self.line(f"if {result.text} == {int(node.operator == 'or')} {{ }} else {{")
        right = self.truth(node, self.value(node.right))
        self.line(f"{result.text} = {right} != 0 }}")
        return result

    def value_of_fill(self, node, _):
        return Value(f"fill {type_text(node.type)}({self.wanted(node.value, FLOAT, 'the element').text})", node.type)

    def value_of_elements(self, node, _):
        t = self.known(node.at, node.type)
        element = t.element if t.name == "Vec" else FLOAT
        values = self.several(node.elements, [element] * len(node.elements), "the element")
        if t.name == "Tensor":
            count = 1
            for extent in t.shape:
                count *= extent
            if count != len(values):
                raise TinyError(node.at, f"{t} has {count} elements, not {len(values)}")
            return Value(f"{type_text(t)}[{', '.join(v.text for v in values)}]", t)
        made = Value(f"new {type_text(t)}", t)
        if values:
            values = [self.spilled(v) for v in values]
            made = self.spilled(made)
            self.lines += [f"push {made.text}, {v.text}" for v in values]
        return made

    def value_of_new(self, node, _):
        t = self.known(node.at, node.type)
        if t.name not in self.structs:
            raise TinyError(node.at, f"{t} is no struct")
        types = dict(self.structs[t.name].fields)
        for name in node.fields:
            if name not in types:
                raise TinyError(node.at, f"struct {t} has no field {name}")
        values = self.several(list(node.fields.values()), [types[name] for name in node.fields], "the field")
        fields = (f"{escaped(name)}: {v.text}" for name, v in zip(node.fields, values))
        return Value(f"new {t}{{{', '.join(fields)}}}", t)

    def value_of_call(self, node, _):
        if node.name in ("len", "sum", "int", "float"):
            return self.builtin(node)
        if node.name not in self.functions:
            raise TinyError(node.at, f"there is no function {node.name}")
        called = self.functions[node.name]
        if len(called.params) != len(node.arguments):
            raise TinyError(node.at, f"{node.name} takes {len(called.params)} values, not {len(node.arguments)}")
        values = self.several(node.arguments, [t for _, t in called.params], "the argument")
        return Value(f"f_{node.name}({', '.join(v.text for v in values)})", called.result)

    def builtin(self, node):
        takes = {"len": "Vec", "sum": "Tensor", "int": "float", "float": "int"}[node.name]
        if len(node.arguments) != 1:
            raise TinyError(node.at, f"{node.name} takes one value")
        value = self.value(node.arguments[0])
        if value.type.name != takes:
            raise TinyError(node.at, f"{node.name} takes a value of type {takes}, not {value.type}")
        result = FLOAT if node.name in ("sum", "float") else INT
        return Value(f"{node.name}({value.text})", result)
