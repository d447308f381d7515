"""From arrays to what is said: beliefs before data, confidence with reasons, records of jobs and domains."""

from typing import Literal

import numpy as np

from easyrider.messages import SeriesForecast
from easyrider_forecaster.core import confidence, report
from easyrider_forecaster.core.arrays import BLOCK_SLOTS, HORIZONS_S, SLOT_S, Array
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.domains import Domains
from easyrider_forecaster.core.fingerprints_start import Start
from easyrider_forecaster.core.groups import Group, Membership
from easyrider_forecaster.core.intake import Intake
from easyrider_forecaster.core.outlook import Outlook, Rows, View
from easyrider_forecaster.core.priors import Priors

_AT_10S = HORIZONS_S.index(10)
_ENOUGH_SLOTS = 120
_METER_SLACK = 0.95
_METER_PERIODS = 3


class Speaker:
    """One tick's view of everything, turned into `SeriesForecast` records."""

    def __init__(
        self,
        intake: Intake,
        outlook: Outlook,
        detector: Detector,
        members: Membership,
        rows: Rows,
        priors: Priors,
    ) -> None:
        self._intake, self._outlook, self._detector = intake, outlook, detector
        self._members, self._rows, self._priors = members, rows, priors
        self._match = priors.match(outlook.history.rows)
        self.confidence = confidence.judge(self._evidence())
        self._known_again = (self._match > confidence.UNTRIED) & ~self.confidence.silent
        self.heard = (outlook.history.filled >= _ENOUGH_SLOTS) & ~self.confidence.silent
        self.heard |= self._known_again
        self.sure = outlook.ceiling.observed & ~self.confidence.silent
        self._basis: dict[int, str] = {}
        self._rise_s: dict[int, float] = {}
        alias = self.confidence.evidence.alias
        self._edges_s = [np.where(alias, np.nan, edge_s) for edge_s in outlook.edges_s(rows)]

    def with_priors(self, draw: View, demand: View) -> tuple[View, View]:
        """Where nothing was observed yet, or a node fell silent: the prior's peak, draw cut at the limit.

        Between 12 s of data and the first full load the draw is what is measured, but its bound stays the prior's.
        """
        peak_w = self._rows.max_w.copy()
        starts: dict[int, Start] = {}
        for group in self._intake.groups.known.values():
            if group.kind == "job" and not self.sure[group.row] and self._members.count[group.row]:
                prior = self._priors.prior(group.id, float(self._rows.max_w[group.row]))
                peak_w[group.row] = min(prior.peak_w, self._rows.max_w[group.row])
                self._basis[group.row] = prior.basis
                start = self._priors.start(group.id, float(self._outlook.history.age[group.row]))
                if start is not None:
                    starts[group.row] = start
        drawn_w = np.minimum(peak_w, self._rows.limit_w)
        drawn = _replaced(draw, ~self.heard, drawn_w)
        self._foresee(starts, drawn, drawn_w)
        bounded = _replaced(draw, ~self.sure, np.maximum(drawn_w, drawn.peak_w.max(axis=1)))
        drawn = View(drawn.mean_w, drawn.peak_w, bounded.q90_w, bounded.q99_w)
        wanted = _replaced(demand, ~self.sure & ~self._known_again, peak_w)
        again = _replaced(wanted, ~self.sure, np.maximum(peak_w, wanted.peak_w.max(axis=1)))
        return drawn, View(wanted.mean_w, wanted.peak_w, again.q90_w, again.q99_w)

    def _foresee(self, starts: dict[int, Start], drawn: View, most_w: Array) -> None:
        """Rises of jobs that are starting are known before power shows them; they raise what is drawn, no more."""
        for row, start in starts.items():
            self._rise_s[row] = start.rise_s
            drawn.mean_w[row] = np.maximum(drawn.mean_w[row], np.minimum(start.mean_w, most_w[row]))
            drawn.peak_w[row] = np.maximum(drawn.peak_w[row], np.where(start.rises, most_w[row], 0.0))
            drawn.peak_w[row] = np.maximum(drawn.peak_w[row], drawn.mean_w[row])

    @property
    def known(self) -> Array:
        """Where the demand comes from what was seen, of this job or of its type, and not from a nameplate.

        The draw does as soon as it is `heard`; its bound may be the nameplate's for as long as no load was seen free.
        """
        return np.asarray(self.sure | self._known_again)

    @property
    def rise_s(self) -> Array:
        """Seconds to the next rise as they are told, NaN where none is known; after `with_priors`."""
        rise_s = self._edges_s[0].copy()
        rise_s[list(self._rise_s)] = list(self._rise_s.values())
        return rise_s

    def jobs(self, draw: View, demand: View) -> list[SeriesForecast]:
        """Every job whose boards were heard, in the order of its id."""
        groups = sorted(
            (g for g in self._intake.groups.known.values() if g.kind == "job"), key=lambda g: g.id
        )
        count = self._members.count
        drawn, wanted = (report.table(v.mean_w, v.peak_w, v.q90_w, v.q99_w, count) for v in (draw, demand))
        clamped = (draw.mean_w[:, 0] <= self._rows.floor_w + 1e-9).tolist()
        return [
            self._job(group, drawn[group.row], wanted[group.row], clamped[group.row])
            for group in groups
            if count[group.row]
        ]

    def domains(self, domains: Domains, views: tuple[View, View]) -> list[SeriesForecast]:
        """Every domain of the tree."""
        watts = domains.weights * self._rows.max_w
        total_w = watts.sum(axis=1)
        belief = np.where(
            total_w > 0, (watts @ self.confidence.value) / np.where(total_w > 0, total_w, 1.0), 0.0
        )
        hidden = np.where(
            total_w > 0,
            (watts @ self.confidence.evidence.hidden_share) / np.where(total_w > 0, total_w, 1.0),
            0.0,
        )
        observed_w = domains.observed(self._outlook.history.block)
        tables = [report.table(v.mean_w, v.peak_w, v.q90_w, v.q99_w) for v in views]
        said = []
        for row, name in enumerate(domains.ids):
            value, reasons = self._domain_doubts(domains, row, float(belief[row]), float(observed_w[row]))
            below = domains.weights[row] > 0
            told = report.Said(
                id=name,
                gpu_count=round(float(domains.weights[row].sum())),
                period_s=None,
                confidence=value,
                reasons=reasons,
                model="sum_of_jobs",
                censored=float(hidden[row]),
                basis="observed" if below.any() and self.sure[below].all() else "nameplate",
            )
            drawn, wanted = (table[row] for table in tables)
            said.append(_spoken("domain", told, drawn, wanted, float(total_w[row])))
        return said

    def _job(
        self, group: Group, drawn: list[list[float]], wanted: list[list[float]], clamped: bool
    ) -> SeriesForecast:
        row, count = group.row, int(self._members.count[group.row])
        period_s = (
            float("nan")
            if self.confidence.evidence.alias[row]
            else float(self._detector.periods.period_s[row])
        )
        basis = self._basis.get(row, "observed")
        reasons = self.confidence.reasons(row) + (("clamped at the lowest draw seen",) if clamped else ())
        told = report.Said(
            id=group.id,
            gpu_count=count,
            period_s=round(period_s, 3) if np.isfinite(period_s) else None,
            confidence=float(self.confidence.value[row]),
            reasons=reasons,
            model="prior" if basis != "observed" else self._outlook.model(row, bool(np.isfinite(period_s))),
            censored=float(self.confidence.evidence.hidden_share[row]),
            basis=basis,  # type: ignore[arg-type]  # a prior's basis or "observed"
            next_rise_s=_known(self._rise_s.get(row, float(self._edges_s[0][row]))),
            next_fall_s=_known(float(self._edges_s[1][row])),
        )
        return _spoken("job", told, drawn, wanted, count * float(self._rows.max_w[row]))

    def _domain_doubts(
        self, domains: Domains, row: int, belief: float, observed_w: float
    ) -> tuple[float, tuple[str, ...]]:
        name, reasons = domains.ids[row], []
        below = np.flatnonzero(domains.weights[row] > 0)
        if not len(below):
            return 0.0, ("no GPU heard below this domain",)
        nodes = [node for node, shares in self._intake.shares.items() if name in shares]
        heard = sum(node in self._intake.clocks for node in nodes)
        if heard < len(nodes):
            reasons.append(f"{len(nodes) - heard} of {len(nodes)} nodes not heard")
            belief *= heard / len(nodes)
        doubtful = below[self.confidence.value[below] < 0.5]
        if len(doubtful):
            worst = doubtful[np.argmax((domains.weights[row] * self._rows.max_w)[doubtful])]
            why = self.confidence.reasons(int(worst))
            reasons.append(
                f"{len(doubtful)} of {len(below)} series doubtful" + (f": {why[0]}" if why else "")
            )
        bound = domains.draw.bound
        if bound.scored[row, _AT_10S] >= 200 and bound.missed[row, _AT_10S] > 0.03:
            reasons.append(f"0.99 bound held only {100 * (1 - bound.missed[row, _AT_10S]):.1f} % of the time")
            belief *= max(0.3, 1.0 - 5.0 * (float(bound.missed[row, _AT_10S]) - 0.01))
        meter_w = self._meter_w(name)
        if meter_w is not None and meter_w < _METER_SLACK * observed_w:
            reasons.append(f"meter shows {meter_w:.0f} W, less than its GPUs ({observed_w:.0f} W)")
            belief = min(belief, 0.5)
        if belief < 0.995 and not reasons:
            reasons.append("as sure as its series are")
        return belief, tuple(reasons)

    def _meter_w(self, domain: str) -> float | None:
        meter, now_s = self._intake.meters.get(domain), self._intake.boards.closed_before * SLOT_S
        if meter is None or now_s - meter.at_s > _METER_PERIODS * meter.period_s + 1.0:
            return None
        return meter.power_w

    def _evidence(self) -> confidence.Evidence:
        history, rating_w = self._outlook.history, np.maximum(self._rows.max_w, 1.0)
        age_s = history.age.astype(np.float64)
        due = np.clip(age_s, 1, 60) * BLOCK_SLOTS
        present = np.minimum(history.count(60), due)
        silent = np.full(history.rows, np.inf)
        tops = history.blocks_back(history.raw.top, 60)
        any_heard = np.isfinite(tops)
        heard = any_heard.any(axis=1)
        silent[heard] = any_heard[heard].argmax(axis=1)
        silent[~heard] = np.minimum(age_s, 60)[~heard]
        bound, means, periods = self._outlook.bound, self._outlook.means, self._detector.periods
        coarse = np.array([clock.span() > 1 for clock in self._intake.clocks.values()])
        slow_nodes = {n for n, c in self._intake.clocks.items() if c.span() > 1} if coarse.any() else set()
        slow = np.zeros(history.rows, np.bool_)
        for board, node in enumerate(self._intake.boards.node_of) if slow_nodes else ():
            slow[self._intake.boards.group[board]] |= node in slow_nodes
        return confidence.Evidence(
            age_s=age_s,
            present_share=present / due,
            hidden_share=history.blocks_back(history.hidden, 60).sum(axis=1) / np.maximum(present, 1),
            silent_s=silent,
            error_share=means.error_w[:, _AT_10S] / rating_w,
            rival_share=means.rival_error_w[:, _AT_10S] / rating_w,
            missed_share=bound.missed[:, _AT_10S],
            bounds_scored=bound.scored[:, _AT_10S],
            unsettled=periods.unsettled,
            agreement=np.where(np.isfinite(periods.period_s), periods.agreement, np.nan),
            too_fast=periods.too_fast,
            changed_s=self._detector.drift.age_s(float(history.block)),
            by_period=self._detector.drift.by_period,
            stuck_share=self._stuck_share(),
            alias=self._detector.alias,
            nameplate=~self._outlook.ceiling.observed,
            coarse=slow,
            match=self._match,
        )

    def _stuck_share(self) -> Array:
        boards, count = self._intake.boards, self._members.count
        number = np.bincount(boards.group, self._intake.stuck.stuck, minlength=len(count))
        return np.asarray(number / np.maximum(count, 1))


def _spoken(
    scope: Literal["job", "domain"],
    told: report.Said,
    drawn: list[list[float]],
    wanted: list[list[float]],
    most_w: float,
) -> SeriesForecast:
    """The record; one without horizons, and the reason, where the numbers cannot be."""
    why = report.fault((drawn, wanted), most_w)
    if why:
        return report.series(scope, report.none(told, why), (), ())
    return report.series(scope, told, report.horizons(drawn), report.horizons(wanted))


def _known(seconds: float) -> float | None:
    return round(seconds, 1) if np.isfinite(seconds) else None


def _replaced(view: View, rows: Array, watts: Array) -> View:
    """The view with one number for every horizon of some rows; whatever is left without a value gets it too."""

    def one(part: Array) -> Array:
        return np.where(rows[:, None] | ~np.isfinite(part), watts[:, None], part)

    return View(one(view.mean_w), one(view.peak_w), one(view.q90_w), one(view.q99_w))
