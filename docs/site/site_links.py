"""Links of the documentation site: from pages into the repository, and from names to the reference.

Pages link to files and folders as the repository's web host wants it. Here such a link leads to the page that was
made of the file, to the web host (source_url in conf.py), or to a copy of the file. Names of the C, C++ and Python
interface that stand in a text lead to their entries in the reference.
"""

from __future__ import annotations

import os
import re
from typing import Any

from docutils import nodes
from plain_text import to_rest
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

# Pages that are made of a file: the folder of the pages, and what the file's name has to look like.
MADE_OF = {
    "reference/c/index": re.compile(r"include/tl_runtime\.h"),
    "reference/cpp/": re.compile(r"include/(\w+)\.hpp"),
}
NAME = re.compile(r"\b(?:tl|TL|DL)\w+|\btl::\w+(?:::\w+)*|\btl\.\w+(?:\.\w+)*")
NOT_IN = (nodes.reference, addnodes.pending_xref, addnodes.desc_signature, nodes.literal_block, nodes.title)


class RepositoryLinks(SphinxTransform):
    """Resolves links to what is in the repository and is no page."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        root = os.path.dirname(os.path.dirname(self.app.confdir))
        for link in list(self.document.findall(addnodes.pending_xref)):
            target, _, anchor = link["reftarget"].partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(self.env.docname), target))
            if link.get("reftype") != "myst" or not target or not os.path.exists(os.path.join(root, path)):
                continue
            link.replace_self(self.replacement(link, root, path, anchor))

    def replacement(self, link: nodes.Element, root: str, path: str, anchor: str) -> nodes.Node | list[nodes.Node]:
        """Returns what a link to a path of the repository becomes."""
        for page, pattern in MADE_OF.items():
            if name := pattern.fullmatch(path):
                return self.to_page(link, page + "".join(name.groups()))
        if self.config.source_url:
            uri = f"{self.config.source_url.rstrip('/')}/{path}" + (f"#{anchor}" if anchor else "")
            return nodes.reference("", "", *link.children, refuri=uri)
        if os.path.isdir(os.path.join(root, path)):
            return list(link.children)
        up = os.path.relpath(os.path.join(root, path), os.path.dirname(self.env.doc2path(self.env.docname)))
        return addnodes.download_reference(
            "", "", *link.children, reftype="myst", refdomain=None, refexplicit=True, refwarn=False,
            reftarget=up, refdoc=self.env.docname,
        )  # fmt: skip

    def to_page(self, link: nodes.Element, page: str) -> nodes.Node:
        """Returns the link to a page of the site."""
        return addnodes.pending_xref(
            "", *link.children, reftype="doc", refdomain="std", refexplicit=True, refwarn=True,
            reftarget="/" + page, refdoc=self.env.docname,
        )  # fmt: skip


class NameLinks(SphinxPostTransform):
    """Links names of the interface to the reference."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        for node in list(self.document.findall(nodes.Text)):
            if not self.is_shown(node):
                continue
            text = node.astext()
            parts: list[nodes.Node] = []
            end = 0
            for name in NAME.finditer(text):
                if entry := self.env.tl_entries.get(name[0]):
                    page, anchor = entry
                    shown = nodes.Text(name[0])
                    parts += [nodes.Text(text[end : name.start()]), self.link(page, anchor, shown)]
                    end = name.end()
            if parts:
                node.parent.replace(node, [*parts, nodes.Text(text[end:])])

    def link(self, page: str, anchor: str, shown: nodes.Node) -> nodes.reference:
        """Returns the link to an entry of the reference."""
        return make_refnode(self.app.builder, self.env.docname, page, anchor, shown)

    def is_shown(self, text: nodes.Text) -> bool:
        """Whether a text may have links: it stands in no link, title, signature or block of code."""
        node = text.parent
        while node is not None:
            if isinstance(node, NOT_IN):
                return False
            node = node.parent
        return True


def collect_entries(app: Sphinx, env: Any) -> list[str]:
    """Collects where the reference has each name, as pages write it: tl_init, tl::ref, tl.zeros."""
    env.tl_entries = {}
    for domain, ours, written in (("c", "", ""), ("cpp", "tl::", "tl::"), ("py", "tl_runtime.", "tl.")):
        for name, _, _, page, anchor, _ in env.domains[domain].get_objects():
            if page.startswith("reference/") and name.startswith(ours):
                env.tl_entries.setdefault(written + name[len(ours) :], (page, anchor))
    return []


def plain_docstring(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Makes reStructuredText of a docstring."""
    lines[:] = to_rest(lines, "python")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the transforms with Sphinx."""
    app.add_config_value("source_url", "", "env")
    app.add_transform(RepositoryLinks)
    app.add_post_transform(NameLinks)
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("env-updated", collect_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
