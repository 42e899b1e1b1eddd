"""The syntax of Tiny: from text to a tree. README.md has the grammar."""

import re
from dataclasses import dataclass, field


class TinyError(Exception):
    """Something that a program must not contain, with its place."""

    def __init__(self, at, message):
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class Type:
    """A type: int, float, void, the name of a struct, Vec with an element, or Tensor with its elements and shape."""

    name: str
    element: object = None
    shape: tuple = ()

    def __str__(self):
        if self.name == "Vec":
            return f"Vec[{self.element}]"
        if self.name == "Tensor":
            return f"Tensor[{', '.join(map(str, (self.element, *self.shape)))}]"
        return self.name

    @property
    def counted(self):
        return self.name not in ("int", "float", "void", "nil")


INT, FLOAT, VOID, NIL = Type("int"), Type("float"), Type("void"), Type("nil")


@dataclass
class Node:
    """A part of the tree: what it is, where it stands, and what it is made of."""

    kind: str
    at: tuple  # line and column
    parts: dict = field(default_factory=dict)

    def __getattr__(self, name):
        try:
            return self.__dict__["parts"][name]
        except KeyError:
            raise AttributeError(name) from None


TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\#.*)|(?P<line>\n)|(?P<float>\d+\.\d+(e[+-]?\d+)?)|(?P<int>\d+)|(?P<text>"[^"\n]*")"""
    r"""|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>->|\.\.|==|!=|<=|>=|[-+*/%<>=()\[\]{},.:])"""
)
WORDS = {"struct", "fn", "let", "if", "else", "while", "for", "in", "break", "continue", "return"}
WORDS |= {"and", "or", "not", "nil"}
LEVELS = [("or",), ("and",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%")]


def tokens(text):
    """The tokens of a text, as (kind, text, place)."""
    found, at, line, start = [], 0, 1, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        place = (line, at - start + 1)
        if match is None:
            raise TinyError(place, f"{text[at]!r} begins nothing in Tiny")
        kind, word = match.lastgroup, match.group()
        if match.group("float"):
            kind = "float"
        if kind == "line":
            line, start = line + 1, match.end()
        elif kind != "blank":
            found.append(("word" if word in WORDS else kind, word, place))
        at = match.end()
    found.append(("end", "the end", (line, at - start + 1)))
    return found


class Parser:
    """Reads one program, with one token in hand."""

    def __init__(self, text):
        self.tokens = tokens(text)
        self.next = 0

    @property
    def token(self):
        return self.tokens[self.next]

    @property
    def at(self):
        return self.token[2]

    def sees(self, *words):
        return self.token[0] in ("word", "sign") and self.token[1] in words

    def take(self, *words):
        if not self.sees(*words):
            return None
        self.next += 1
        return self.tokens[self.next - 1][1]

    def want(self, word):
        if not self.take(word):
            raise TinyError(self.at, f"{word} expected, found {self.token[1]}")

    def name(self, what):
        if self.token[0] != "name":
            raise TinyError(self.at, f"{what} expected, found {self.token[1]}")
        self.next += 1
        return self.tokens[self.next - 1][1]

    def number(self):
        if self.token[0] != "int":
            raise TinyError(self.at, f"a number expected, found {self.token[1]}")
        self.next += 1
        return int(self.tokens[self.next - 1][1])

    def program(self):
        """Reads everything: structs and functions, by name."""
        structs, functions = {}, {}
        while self.token[0] != "end":
            at = self.at
            if self.take("struct"):
                target, node = structs, self.struct(at)
            elif self.take("fn"):
                target, node = functions, self.function(at)
            else:
                raise TinyError(at, f"struct or fn expected, found {self.token[1]}")
            if node.name in target:
                raise TinyError(at, f"{node.name} is defined twice")
            target[node.name] = node
        return structs, functions

    def variables(self, closing):
        found = []
        while not self.take(closing):
            name = self.name("a name")
            self.want(":")
            if any(name == other for other, _ in found):
                raise TinyError(self.at, f"{name} stands here twice")
            found.append((name, self.type()))
            self.take(",")
        return found

    def struct(self, at):
        name = self.name("the name of a struct")
        if not name[0].isupper():
            raise TinyError(at, f"struct {name}: its name begins with a capital letter")
        self.want("{")
        return Node("struct", at, {"name": name, "fields": self.variables("}")})

    def function(self, at):
        name = self.name("the name of a function")
        self.want("(")
        params = self.variables(")")
        result = self.type() if self.take("->") else VOID
        return Node("fn", at, {"name": name, "params": params, "result": result, "body": self.body()})

    def type(self):
        at, name = self.at, self.name("a type")
        if name == "Vec":
            self.want("[")
            element = self.type()
            self.want("]")
            if not element.counted:
                raise TinyError(at, "a Vec is of structs, Tensors or Vecs; put numbers into a Tensor")
            return Type("Vec", element)
        if name == "Tensor":
            self.want("[")
            element, shape = self.name("f32 or f64"), []
            if element not in ("f32", "f64"):
                raise TinyError(at, f"a Tensor is of f32 or f64, not of {element}")
            while self.take(","):
                shape.append(self.number())
            self.want("]")
            return Type("Tensor", element, tuple(shape))
        return Type(name)

    def body(self):
        self.want("{")
        found = []
        while not self.take("}"):
            found.append(self.statement())
        return found

    def statement(self):
        at = self.at
        if self.take("let"):
            name = self.name("the name of a variable")
            declared = self.type() if self.take(":") else None
            self.want("=")
            return Node("let", at, {"name": name, "type": declared, "value": self.expression()})
        if self.take("if"):
            return self.if_statement(at)
        if self.take("while"):
            return Node("while", at, {"condition": self.expression(), "body": self.body()})
        if self.take("for"):
            name = self.name("the name of a variable")
            self.want("in")
            first = self.expression()
            self.want("..")
            return Node("for", at, {"name": name, "first": first, "end": self.expression(), "body": self.body()})
        if word := self.take("break", "continue"):
            return Node(word, at)
        if self.take("return"):
            same_line = self.at[0] == at[0] and not self.sees("}")
            return Node("return", at, {"value": self.expression() if same_line else None})
        target = self.postfix()
        if self.take("="):
            return Node("assign", at, {"target": target, "value": self.expression()})
        if target.kind not in ("call", "method"):
            raise TinyError(at, "a statement expected; a value alone does nothing")
        return Node("do", at, {"call": target})

    def if_statement(self, at):
        condition, then, other = self.expression(), self.body(), []
        if self.take("else"):
            again = self.at
            other = [self.if_statement(again)] if self.take("if") else self.body()
        return Node("if", at, {"condition": condition, "then": then, "other": other})

    def expression(self, level=0):
        if level == len(LEVELS):
            return self.unary()
        left = self.expression(level + 1)
        while self.sees(*LEVELS[level]):
            at, operator = self.at, self.take(*LEVELS[level])
            left = Node("binary", at, {"operator": operator, "left": left, "right": self.expression(level + 1)})
        return left

    def unary(self):
        at = self.at
        if word := self.take("-", "not"):
            return Node("unary", at, {"operator": word, "value": self.unary()})
        return self.postfix()

    def postfix(self):
        value = self.primary()
        while True:
            at = self.at
            if self.take("."):
                name = self.name("a field")
                if self.take("("):
                    value = Node("method", at, {"value": value, "name": name, "arguments": self.list(")")})
                else:
                    value = Node("field", at, {"value": value, "name": name})
            elif self.sees("[") and self.same_line():
                self.take("[")
                value = Node("index", at, {"value": value, "indices": self.list("]")})
            else:
                return value

    def same_line(self):
        """Whether the token in hand stands on the line of the one before it."""
        return self.at[0] == self.tokens[self.next - 1][2][0]

    def list(self, closing):
        found = []
        while not self.take(closing):
            if found:
                self.want(",")
            found.append(self.expression())
        return found

    def primary(self):
        kind, word, at = self.token
        if kind in ("int", "float", "text"):
            self.next += 1
            return Node(kind, at, {"text": word})
        if self.take("("):
            value = self.expression()
            self.want(")")
            return value
        if self.take("nil"):
            return Node("nil", at)
        if kind == "name" and word[0].isupper():
            return self.maker(at)
        name = self.name("a value")
        if self.same_line() and self.take("("):
            return Node("call", at, {"name": name, "arguments": self.list(")")})
        return Node("variable", at, {"name": name})

    def maker(self, at):
        """Reads what makes a struct, a Vec or a Tensor: its type, and what is in it."""
        made = self.type()
        if made.name == "Tensor" and self.take("("):
            value = self.expression()
            self.want(")")
            return Node("fill", at, {"type": made, "value": value})
        self.want("{")
        if made.name in ("Vec", "Tensor"):
            return Node("elements", at, {"type": made, "elements": self.list("}")})
        fields = {}
        while not self.take("}"):
            if fields:
                self.want(",")
            name = self.name("a field")
            if name in fields:
                raise TinyError(at, f"field {name} is given twice")
            self.want(":")
            fields[name] = self.expression()
        return Node("new", at, {"type": made, "fields": fields})


def parse(text):
    """The structs and functions of a program."""
    return Parser(text).program()
