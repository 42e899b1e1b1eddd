"""The options of a plan for a graph, as Python has them and as C takes them."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from .._binding.library import c_string
from .native import graph_abi
from .plan import _milliseconds, _not_negative, _steps


class Options(TypedDict, total=False):
    """What tl.Graph.plan takes; its documentation says what each is."""

    capacity: int
    recompute: bool
    outside: bool | float
    outside_bytes: int
    symbolic: bool
    rates: str | os.PathLike[str] | Mapping[str, Any] | None
    budget: float
    max_steps: int
    seed: int
    alignment: int
    views: bool
    in_place: bool
    concat: bool
    reorder: bool
    place_inputs: bool
    place_outputs: bool


# What each flag is in Options, and whether that turns it on.
_FLAGS = {
    "NO_VIEWS": ("views", False),
    "NO_IN_PLACE": ("in_place", False),
    "NO_CONCAT": ("concat", False),
    "NO_REORDER": ("reorder", False),
    "PLACE_INPUTS": ("place_inputs", True),
    "PLACE_OUTPUTS": ("place_outputs", True),
    "NO_RECOMPUTE": ("recompute", False),
    "SYMBOLIC": ("symbolic", True),
}

_SIZES = {"capacity": "capacity_bytes", "outside_bytes": "outside_bytes", "seed": "seed", "alignment": "alignment"}


def for_c(options: Options) -> Any:
    """Returns tl_graph_options; TypeError for a name that is none."""
    given: dict[str, Any] = dict(options)
    abi = graph_abi()
    made: Any = abi.tl_graph_options()
    made.struct_size = ctypes.sizeof(made)
    for flag, (name, on) in _FLAGS.items():
        if bool(given.pop(name, not on)) is on:
            made.flags |= abi.GraphFlag[flag]
    outside = given.pop("outside", False)
    if isinstance(outside, bool) or outside is None:
        bandwidth = 0.0
    elif (bandwidth := float(outside)) == 0:  # which is True for C
        raise ValueError(f"tl.Graph.plan: outside={outside!r} is no bandwidth; it is True, False, or bytes a second")
    if outside:
        made.flags |= abi.GraphFlag.OUTSIDE
        made.outside_bandwidth = bandwidth
    for name, member in _SIZES.items():
        number = given.pop(name, 0)
        _not_negative(number)
        setattr(made, member, number)
    steps = given.pop("max_steps", 0)
    _steps(steps)
    made.budget_ms, made.max_steps = _milliseconds(given.pop("budget", 0)), steps
    made.rates = _rates(given.pop("rates", None))
    if given:
        raise TypeError(f"tl.Graph.plan: there is no option {', '.join(given)}")
    return made


def _rates(rates: str | os.PathLike[str] | Mapping[str, Any] | None) -> bytes | None:
    """Returns rates as JSON."""
    if rates is None:
        return None
    return c_string(json.dumps(rates) if isinstance(rates, Mapping) else Path(rates).read_text())
