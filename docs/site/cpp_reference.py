"""cpp_reference.py FOLDER: writes one page of reStructuredText for each C++ header, from its own comments.

Clang parses the headers. Sphinx's C++ domain makes signatures, index and links of the pages. A declaration without
a comment belongs to the one above it, or to its other form, `try_` and throwing; they share one entry.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clang.cindex import AccessSpecifier, Cursor, CursorKind, Index, TranslationUnit
from plain_text import to_rest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

DIRECTIVES = {
    CursorKind.CLASS_DECL: "class",
    CursorKind.STRUCT_DECL: "class",
    CursorKind.CLASS_TEMPLATE: "class",
    CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION: "class",
    CursorKind.FUNCTION_DECL: "function",
    CursorKind.FUNCTION_TEMPLATE: "function",
    CursorKind.CXX_METHOD: "function",
    CursorKind.CONSTRUCTOR: "function",
    CursorKind.CONVERSION_FUNCTION: "function",
    CursorKind.FIELD_DECL: "member",
    CursorKind.VAR_DECL: "var",
    CursorKind.TYPE_ALIAS_DECL: "type",
    CursorKind.TYPE_ALIAS_TEMPLATE_DECL: "type",
}
HIDDEN = (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED)


@dataclass
class Entry:
    """Declarations that share a comment, and what is declared inside them."""

    directive: str
    forms: set[str]  # name and parameters, without `try_`
    signatures: list[str]
    comment: list[str]
    inside: list[Entry] = field(default_factory=list)


def comment_of(text: str | None) -> list[str]:
    """Returns the lines of a C comment without what marks it."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in re.sub(r"^/\*+ ?|\s*\*/$", "", text or "").split("\n")]
    return ["" if not line.strip() else line.rstrip() for line in lines]


def form_of(signature: str) -> str:
    """Returns the name and parameters of a function, which its form that throws and its `try_` form have in common."""
    name = re.search(r"(?:try_)?(\w+)(\(.*)$", signature)
    return name[1] + name[2].removesuffix(" noexcept") if name else signature


def prose(lines: list[str], indent: str) -> str:
    """Returns lines of a comment as indented reStructuredText."""
    return "".join(f"{indent}{line}\n" if line else "\n" for line in to_rest(lines, "cpp"))


class Header:
    """One header, parsed."""

    def __init__(self, path: Path, unit: TranslationUnit) -> None:
        self.path = path
        self.text = path.read_bytes()
        self.unit = unit
        self.hidden_bases: dict[str, Cursor] = {}

    def page(self) -> str:
        """Returns the header's page."""
        essay = comment_of(re.match(rb"/\*.*?\*/", self.text, re.S)[0].decode())
        entries = self.entries(self.namespace_members())
        return (
            f"{self.path.name}\n{'=' * len(self.path.name)}\n\n{prose(essay, '')}\n.. cpp:namespace:: tl\n\n"
            + "".join(written(entry, "") for entry in entries)
        )

    def namespace_members(self) -> Iterator[Cursor]:
        """What this header declares in namespace tl."""
        for space in self.unit.cursor.get_children():
            if space.kind != CursorKind.NAMESPACE or space.spelling != "tl":
                continue
            for cursor in space.get_children():
                if cursor.kind == CursorKind.NAMESPACE:
                    self.hidden_bases |= {c.spelling: c for c in cursor.get_children() if c.is_definition()}
                elif cursor.location.file and Path(cursor.location.file.name) == self.path:
                    yield cursor

    def entries(self, cursors: Iterator[Cursor]) -> list[Entry]:
        """Groups declarations by the comments that they share."""
        found: list[Entry] = []
        for cursor in cursors:
            if cursor.kind == CursorKind.FRIEND_DECL:
                cursor = next(cursor.get_children(), cursor)
            directive = DIRECTIVES.get(cursor.kind)
            if directive is None or cursor.access_specifier in HIDDEN:
                continue
            if directive == "class":
                self.add_class(found, cursor)
            else:
                self.add(found, directive, cursor)
        return found

    def add(self, found: list[Entry], directive: str, cursor: Cursor) -> None:
        """Adds a declaration to the entry that it belongs to, or as one of its own."""
        signature = self.signature(cursor)
        if cursor.raw_comment is None:
            if "detail::" in signature or cursor.spelling == "operator=":
                return
            same = [entry for entry in found if entry.directive == directive and form_of(signature) in entry.forms]
            above = [found[-1]] if found and found[-1].directive == directive and self.follows(cursor) else []
            for entry in (same or above)[:1]:
                entry.forms.add(form_of(signature))
                entry.signatures.append(signature)
                return
        found.append(Entry(directive, {form_of(signature)}, [signature], comment_of(cursor.raw_comment)))

    def add_class(self, found: list[Entry], cursor: Cursor) -> None:
        """Adds a class with its members, and with those that it has from a base in tl::detail."""
        head = self.source(cursor.extent.start.offset, cursor.extent.end.offset).split("{")[0]
        if cursor.raw_comment is None and (head.startswith("template <>") or not cursor.is_definition()):
            return
        head = re.sub(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(?=" + re.escape(cursor.spelling) + r"\b)", "", head)
        head, _, bases = head.partition(" : ")
        members = list(cursor.get_children())
        for base in re.findall(r"detail::(\w+)", bases):
            members += self.members_of_hidden(base)
        shown = ", ".join(base for base in re.split(r",\s*(?![^<]*>)", bases) if base and "detail::" not in base)
        signature = head.strip() + (f" : {shown.strip()}" if shown else "")
        found.append(
            Entry("class", set(), [signature], comment_of(cursor.raw_comment), self.entries(iter(members)))
        )

    def members_of_hidden(self, base: str) -> list[Cursor]:
        """Returns the members of a class in tl::detail, which may be an alias."""
        cursor = self.hidden_bases.get(base)
        if cursor is not None and cursor.kind == CursorKind.TYPE_ALIAS_DECL:
            name = re.match(r"(?:tl::)?(?:detail::)?(\w+)", cursor.underlying_typedef_type.spelling)
            cursor = self.hidden_bases.get(name[1]) if name else None
        methods = (CursorKind.CXX_METHOD, CursorKind.FUNCTION_TEMPLATE)
        return [c for c in cursor.get_children() if c.kind in methods] if cursor is not None else []

    def follows(self, cursor: Cursor) -> bool:
        """Whether a declaration stands right below another one."""
        above = self.text.decode().split("\n")[cursor.extent.start.line - 2].strip()
        return bool(above) and not above.startswith("#")

    def signature(self, cursor: Cursor) -> str:
        """Returns a declaration without its body and without the values of its members."""
        if cursor.kind == CursorKind.FIELD_DECL:
            return f"{cursor.type.spelling} {cursor.spelling}"
        text = self.source(cursor.extent.start.offset, cursor.extent.end.offset)
        if DIRECTIVES[cursor.kind] == "type":
            return re.sub(r"\busing\s+", "", text)
        # Clang also gives what is defaulted a body, which begins before the end of the word.
        bodies = [c.extent.start.offset for c in cursor.get_children() if c.kind == CursorKind.COMPOUND_STMT]
        braces = [at for at in bodies if self.text[at : at + 1] == b"{"]
        end = braces[0] if braces else self.text.index(b";", cursor.extent.end.offset - 1)
        text = self.source(cursor.extent.start.offset, end)
        text = re.sub(r"\)((?: noexcept| const)*) : .*$", r")\1", text)  # of a constructor
        return re.sub(r"\b(?:inline|friend)\s+|\[\[\w+\]\]\s*", "", text).rstrip(" ;")

    def source(self, start: int, end: int) -> str:
        """Returns a part of the header on one line, without comments."""
        text = re.sub(rb"/\*.*?\*/|^#.*$", b"", self.text[start:end], flags=re.S | re.M)
        return " ".join(text.decode().split())


def written(entry: Entry, indent: str) -> str:
    """Returns an entry as a directive of Sphinx, with what is inside it."""
    directive = f"{indent}.. cpp:{entry.directive}:: "
    signatures = f"\n{' ' * len(directive)}".join(dict.fromkeys(entry.signatures))
    inside = "".join(written(each, indent + "   ") for each in entry.inside)
    return f"{directive}{signatures}\n\n{prose(entry.comment, indent + '   ')}\n{inside}"


def parse(path: Path) -> Header:
    """Parses a header as a program that includes it would, with the system headers of the C++ compiler."""
    verbose = subprocess.run(
        ["c++", "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True, check=True
    ).stderr
    system = verbose.split("#include <...> search starts here:")[1].split("End of search list")[0].split()
    arguments = ["-x", "c++", "-std=c++17", "-fparse-all-comments", f"-I{INCLUDE}"]
    arguments += [f"-isystem{folder}" for folder in system]
    unit = Index.create().parse(str(path), arguments)
    errors = [str(d) for d in unit.diagnostics if d.severity >= d.Error]
    if errors:
        sys.exit("cpp_reference: " + "\n".join(errors))
    return Header(path, unit)


def main(folder: Path) -> None:
    """Writes all pages, and the one that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    headers = sorted(INCLUDE.glob("*.hpp"))
    for path in headers:
        (folder / f"{path.stem}.rst").write_text(parse(path).page())
    index = "# C++ interface\n\nC++17, header only, over the [C interface](../c/index.md).\n\n```{toctree}\n\n"
    (folder / "index.md").write_text(index + "\n".join(path.stem for path in headers) + "\n```\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
