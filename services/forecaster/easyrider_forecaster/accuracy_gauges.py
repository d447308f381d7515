"""What /metrics tells of how right forecasts were, of late: all running jobs together by horizon, each job at 10 s."""

from collections.abc import Iterator

import numpy as np

from easyrider import metrics
from easyrider_forecaster.core import accuracy_told
from easyrider_forecaster.core.accuracy import Ledger
from easyrider_forecaster.core.accuracy_told import Told
from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.domains import Domains

JOBS_AT_MOST = 1000
"""Whose own figures are told; those of more would weigh on whoever collects them."""
_AT_10S = HORIZONS_S.index(10)
_LABELS = ["side", "horizon_s"]
_TOGETHER = {
    "windows": metrics.gauge("forecast_windows_lately", "Windows judged of late, older ones fading", _LABELS),
    "mae_w": metrics.gauge("forecast_error_watts", "Mean error of the mean of one GPU, of late", _LABELS),
    "mase": metrics.gauge("forecast_mase_ratio", "Error over that of the last second, of late", _LABELS),
    "coverage99": metrics.gauge(
        "forecast_coverage99_ratio", "Share of peaks below the 0.99 bound, of late", _LABELS
    ),
}
_RISES = metrics.gauge("forecast_rises", "Rises of running jobs and what was said of them", ["what"])
_Rows = list[tuple[tuple[str, str], float]]
_LOOKED_UP: dict[str, _Rows] = {"mase": [], "coverage99": [], "domains": []}


def _mase() -> Iterator[tuple[tuple[str, str], float]]:
    """Asked by whoever reads metrics, in another thread: lists are replaced whole."""
    yield from _LOOKED_UP["mase"]


def _covered() -> Iterator[tuple[tuple[str, str], float]]:
    yield from _LOOKED_UP["coverage99"]


def _domains_covered() -> Iterator[tuple[tuple[str, str], float]]:
    yield from _LOOKED_UP["domains"]


metrics.looked_up(
    "forecast_domain_coverage99_ratio",
    "Share of a domain's peaks below its 0.99 bound at 10 s, of the last hour",
    ["domain", "side"],
    _domains_covered,
)
metrics.looked_up(
    "forecast_job_mase_ratio",
    "A job's error at 10 s over that of the last second, of late",
    ["job", "side"],
    _mase,
)
metrics.looked_up(
    "forecast_job_coverage99_ratio",
    "Share of a job's peaks below the 0.99 bound at 10 s, of late",
    ["job", "side"],
    _covered,
)


def show_domains(domains: Domains) -> None:
    """How often the 0.99 bound of each domain held, by the record that its margin rests on: an hour's memory."""
    _LOOKED_UP["domains"] = [
        (
            (name, side),
            1.0 - float(bound.missed[row, _AT_10S]) if bound.scored[row, _AT_10S] else float("nan"),
        )
        for side, bound in (("draw", domains.draw.bound), ("demand", domains.demand.bound))
        for row, name in enumerate(domains.ids)
    ]


def show(ledger: Ledger, jobs: list[Told]) -> None:
    """Running jobs as they are now; what is not known is NaN, and so is everything where none runs."""
    rows = np.array([told.row for told in jobs], np.int64)
    own: dict[str, _Rows] = {"mase": [], "coverage99": []}
    for side, scores in (("draw", ledger.draw), ("demand", ledger.demand)):
        together = dict(zip(accuracy_told.FIELDS, accuracy_told.pooled(scores, rows), strict=True))
        for name, gauge in _TOGETHER.items():
            for column, horizon_s in enumerate(HORIZONS_S):
                gauge.labels(side, str(horizon_s)).set(together[name][column])
        table = accuracy_told.means(scores.sums(rows[:JOBS_AT_MOST])[1][:, _AT_10S])
        each = dict(zip(accuracy_told.FIELDS, table, strict=True))
        for name, found in own.items():
            values = each[name].tolist()
            found += [((told.job, side), value) for told, value in zip(jobs, values, strict=False)]
    _LOOKED_UP.update(own)
    for what in ("seen", "foretold", "false", "withdrawn"):
        _RISES.labels(what).set(int(getattr(ledger.rises, what)[rows].sum()))
