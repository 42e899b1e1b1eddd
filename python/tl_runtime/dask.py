"""Tensors, memory limits and statistics with Dask, whose package `distributed` has to be installed.

    import tl_runtime.dask                              # tensors and sparse matrices travel as frames of their memory

    client = distributed.Client(...)
    client.register_plugin(tl_runtime.dask.Plugin())    # or start workers with `dask worker --preload tl_runtime.dask`

The import registers serialisers, `sizeof` and `tokenize` for Tensor and SparseMatrix, in this process. The plugin does
so in each worker, and lets the worker and the runtime share one limit of memory; docs/scale.md has the whole story.
"""

from __future__ import annotations

from typing import Any

import dask as _dask
from distributed import Worker as _Worker

from ._engines.dask_frames import register
from ._engines.dask_worker import Plugin

__all__ = ["Plugin", "dask_setup", "dask_teardown"]

register()


async def dask_setup(server: Any) -> None:
    """What `--preload tl_runtime.dask` runs: gives a worker the plugin, with the arguments of Dask's configuration
    below "tl-runtime", for example DASK_TL_RUNTIME__NUMPY=False."""
    if isinstance(server, _Worker):
        given = {key.replace("-", "_"): value for key, value in _dask.config.get("tl-runtime", {}).items()}
        await server.plugin_add(Plugin(**given), name=Plugin.name, catch_errors=False)


async def dask_teardown(server: Any) -> None:
    """Takes the plugin from a worker that ends."""
    if isinstance(server, _Worker) and Plugin.name in server.plugins:
        await server.plugin_remove(Plugin.name)
