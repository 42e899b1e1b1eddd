"""The runtime's statistics for Prometheus, by the conventions of prometheus_client.

It needs the package prometheus_client, the extra `prometheus`.

    import prometheus_client
    import tl_runtime.prometheus

    tl_runtime.prometheus.Collector()
    prometheus_client.start_http_server(8000)

The names of the metrics and what they mean: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from ._tensor.arrays import needed

needed("prometheus_client", "prometheus_client")

from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector as _Collector

from ._observe.stats import openmetrics

__all__ = ["Collector"]


class Collector(_Collector):
    """Gives a registry of prometheus_client all statistics of the runtime, read anew at each scrape.

    It registers itself, with the registry that prometheus_client serves unless another is given; None is none. Any
    thread may collect. No counter is less than in an earlier scrape.
    """

    def __init__(self, registry: CollectorRegistry | None = REGISTRY) -> None:
        if registry is not None:
            registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """The families of metrics, with their samples of this moment."""
        families: Iterable[Metric] = text_string_to_metric_families(openmetrics())  # type: ignore[no-untyped-call]
        return families
