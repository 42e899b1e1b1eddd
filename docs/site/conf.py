"""Sphinx's settings for the documentation site. `make docs` lays its sources out in build/docs-source and runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT / "python")]

import tl_runtime  # noqa: E402  the path comes first

project = "TL Runtime"
copyright = "the authors of TL Runtime; Apache-2.0"
version = release = (ROOT / "packaging" / "VERSION").read_text().strip()

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "site_links"]
templates_path = [str(ROOT / "docs" / "site" / "templates")]
highlight_language = "none"
suppress_warnings = ["myst.header"]  # pages begin small sections at the level that reads best

# Headings have the anchors that the repository's host gives them, so one link serves both.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "fieldlist", "html_image"]

# The names that a module lists in __all__, from wherever they come, are its interface.
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_mock_imports = ["prometheus_client", "dask", "distributed", "executorch"]  # the site is built without them
autosummary_context = {"of_package": tl_runtime.__all__}  # a module that repeats one of these links to its page
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"

# Where the web host shows files and folders of the repository. Without it a link to a file leads to a copy of
# the file, and the name of a folder is no link.
source_url = os.environ.get("DOCS_SOURCE_URL", "")

html_theme = "furo"
html_favicon = "icon.svg"
html_title = f"TL Runtime {release}"
html_show_sourcelink = False
html_copy_source = False
