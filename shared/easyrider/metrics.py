"""Prometheus metrics of this process; every name begins with `easyrider_` and ends with its unit."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import prometheus_client
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

PREFIX = "easyrider_"
_made: dict[str, prometheus_client.metrics.MetricWrapperBase] = {}
Rows = Callable[[], Iterable[tuple[tuple[str, ...], float]]]
"""Label values, and the value that they have now."""
M = TypeVar("M", bound=prometheus_client.metrics.MetricWrapperBase)


def counter(name: str, help: str, labels: Iterable[str] = ()) -> prometheus_client.Counter:
    """A number that only grows. Asking twice gives the same one."""
    return _once(prometheus_client.Counter, name, help, labels)


def gauge(name: str, help: str, labels: Iterable[str] = ()) -> prometheus_client.Gauge:
    """A number that goes up and down. Asking twice gives the same one."""
    return _once(prometheus_client.Gauge, name, help, labels)


def histogram(
    name: str, help: str, labels: Iterable[str] = (), buckets: Iterable[float] = (0.001, 0.01, 0.1, 1, 10)
) -> prometheus_client.Histogram:
    """How values spread over `buckets`. Asking twice gives the same one."""
    full = PREFIX + name.removeprefix(PREFIX)
    if full not in _made:
        _made[full] = prometheus_client.Histogram(full, help, tuple(labels), buckets=tuple(buckets))
    found = _made[full]
    assert isinstance(found, prometheus_client.Histogram)
    return found


def looked_up(name: str, help: str, labels: Iterable[str], rows: Rows) -> None:
    """A gauge of many label values that is read from `rows` when somebody asks, in the thread that asks.

    To set thousands of gauges whenever their values change costs a loop more than all the rest it tells.
    """
    REGISTRY.register(_LookedUp(PREFIX + name.removeprefix(PREFIX), help, tuple(labels), rows))


def text() -> bytes:
    """Everything in Prometheus' text format."""
    return prometheus_client.generate_latest(REGISTRY)


class _LookedUp(Collector):
    def __init__(self, name: str, help: str, labels: tuple[str, ...], rows: Rows) -> None:
        self._name, self._help, self._labels, self._rows = name, help, labels, rows

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(self._name, self._help, labels=self._labels)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(self._name, self._help, labels=self._labels)
        for values, value in self._rows():
            family.add_metric(values, value)
        yield family


def _once(kind: type[M], name: str, help: str, labels: Iterable[str]) -> M:
    full = PREFIX + name.removeprefix(PREFIX)
    if full not in _made:
        _made[full] = kind(full, help, tuple(labels))
    found = _made[full]
    if not isinstance(found, kind):
        raise TypeError(f"{full} is a {type(found).__name__} already")
    return found
