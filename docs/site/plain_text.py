"""Comments and docstrings of this project are plain text; Sphinx reads reStructuredText."""

from __future__ import annotations

import re


def to_rest(lines: list[str], language: str) -> list[str]:
    """Returns lines of plain text as reStructuredText, in which no sign means anything.

    What stands in backquotes is code, and so is what is indented by a tab or four spaces.
    """
    text: list[str] = []
    in_code = False
    for line in lines:
        code = re.match(r"\t|    ", line)
        if code and not in_code:
            text += ["", f".. code-block:: {language}", ""]
        in_code = bool(code) or (in_code and not line)
        if code:
            text.append("    " + line[code.end() :])
        else:
            text.append(re.sub(r"`([^`]+)`|([*`|_\\])", lambda m: f"``{m[1]}``" if m[1] else "\\" + m[2], line))
    return text
