"""The rooms of the package: which module may import which, and how many a folder has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conftest import PACKAGE

SOURCE = PACKAGE / "tl_runtime"
MOST = 15  # modules of a folder

# Modules of the package's own folder, and its rooms, from the bottom to the top. Each may import what stands before it.
ORDER = (
    "_fast",  # in C; it imports nothing
    "_abi",
    "_errors",
    "_dtype",
    "_binding",
    "_tensor",
    "_memory",
    "_sparse",
    "_observe",
    "_graph",
    "_engines",
    "_pickling",
    "_model",
    "_run_on",
    "registry",
    "mr",
    "prometheus",
    "executorch",
    "testing",
    "dask",
    "__init__",
    "__main__",
)


class Import(NamedTuple):
    """That one module imports another. One for annotations stands below TYPE_CHECKING and is never executed."""

    importer: str
    imported: str
    for_annotations: bool


def modules() -> dict[str, Path]:
    """The modules by their names in the package; a room's __init__ is under the room's name and its own."""
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}


def imports(importer: str, tree: ast.AST, known: set[str], for_annotations: bool = False) -> Iterator[Import]:
    """The modules of the package that a module imports, also inside functions."""
    for node in ast.iter_child_nodes(tree):
        below = for_annotations or isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        yield from imports(importer, node, known, below)
        for base, names in _imported(importer, node):
            for name in names:
                places = ([*base, name], [*base, name, "__init__"], base, [*base, "__init__"])
                found = next((place for place in map(".".join, places) if place in known), None)
                if found is not None and found != importer:
                    yield Import(importer, found, below)


def _imported(importer: str, node: ast.AST) -> Iterator[tuple[list[str], list[str]]]:
    """The folder or module of the package that a statement imports from, and the names."""
    if isinstance(node, ast.ImportFrom):
        if node.level:
            module = node.module.split(".") if node.module else []
            yield importer.split(".")[: -node.level] + module, [a.name for a in node.names]
        elif (node.module or "").partition(".")[0] == "tl_runtime":
            yield str(node.module).split(".")[1:], [a.name for a in node.names]
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == "tl_runtime":
                yield alias.name.split(".")[1:-1], [alias.name.split(".")[-1]]


def all_imports() -> list[Import]:
    """What each module of the package imports of it."""
    found = modules()
    trees = {name: ast.parse(path.read_text()) for name, path in found.items()}
    return [each for name, tree in trees.items() for each in imports(name, tree, {*found, "_fast"})]


def circle(edges: list[tuple[str, str]]) -> list[str]:
    """The names that are in a circle, or lead from one to another; empty where there is none."""
    while True:
        outgoing, incoming = {a for a, _ in edges}, {b for _, b in edges}
        rest = [(a, b) for a, b in edges if a in incoming and b in outgoing]
        if len(rest) == len(edges):
            return sorted(outgoing)
        edges = rest


def test_imports_go_down() -> None:
    place = {name: i for i, name in enumerate(ORDER)}
    between = [(each.importer.split(".")[0], each.imported.split(".")[0], each) for each in all_imports()]
    assert [each for above, below, each in between if above != below and place[above] < place[below]] == []


def test_no_circle() -> None:
    """Within a room annotations may name what stands above: a class in the signatures of what it is made of."""
    assert circle([(each.importer, each.imported) for each in all_imports() if not each.for_annotations]) == []


def test_every_module_has_a_place() -> None:
    assert {"_fast", *(name.split(".")[0] for name in modules())} == set(ORDER)


def test_folders_are_small() -> None:
    folders = [path.parent for path in modules().values()]
    assert {folder.name: folders.count(folder) for folder in folders if folders.count(folder) > MOST} == {}


def test_the_reader_of_imports_and_the_search_for_circles() -> None:
    text = """
from .. import b
from .x import y
import tl_runtime.top
def late():
    from ..rooms import other
if TYPE_CHECKING:
    from . import z
"""
    known = {"b", "room.x", "room.z", "rooms.other", "top", "room.self"}
    found = list(imports("room.self", ast.parse(text), known))
    assert [each.imported for each in found] == ["b", "room.x", "top", "rooms.other", "room.z"]
    assert [each.for_annotations for each in found] == [False, False, False, False, True]
    assert circle([("a", "b"), ("b", "c"), ("c", "b"), ("x", "a")]) == ["b", "c"]
    assert circle([("a", "b"), ("b", "c"), ("a", "c")]) == []
