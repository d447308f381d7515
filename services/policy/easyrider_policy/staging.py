"""Scores every scope as plans are made, and takes back what lost its trust. Nothing here reads a clock."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import MODES, Mode
from easyrider_policy.core import curves
from easyrider_policy.core.as_if import AsIf, Findings, Moment
from easyrider_policy.core.gate import shown, weighed
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.observe import UNREAD_S
from easyrider_policy.core.records import Decision
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.stages import Returned, Stage, TakenBack, scopes_of
from easyrider_policy.core.tidings import Tiding
from easyrider_policy.core.trust import TRUSTED
from easyrider_policy.picture import Picture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_S = 0.95
LONGEST_S = 5.0
"""Time between two plans that counts at most: of a longer pause nothing is known."""
BACK_TO: Mode = "shadow"
"""Nothing is written there, and what would be written is scored."""


@dataclass(frozen=True, eq=False, slots=True)
class _Before:
    """The plan before: when, on which layout, its limits and the slowdown foretold for them."""

    now_s: float
    layout: Layout
    limit_w: Floats
    slowdown: Floats


class Staging:
    """Follows the plans of one coordinator; `tell` is handed an event where something changed."""

    def __init__(self, picture: Picture, tell: Callable[[Tiding], None]) -> None:
        self._picture, self._tell = picture, tell
        self._before: _Before | None = None
        self._as_if = AsIf(0, np.zeros(0))
        self._fleet: object = None
        self._beyond_s: dict[str, float] = {}  # since when a job is slowed beyond what was foretold
        self._trusted_s = -np.inf  # when forecasts were trusted last
        self._met: set[tuple[str, Mode]] = set()  # gates that were told to be met

    def planned(self, now_s: float, decision: Decision, situation: Situation) -> None:
        """A plan was made. One that is not the product's own shows nothing about it."""
        picture, seen = self._picture, self._picture.observation
        if picture.fleet is not self._fleet:
            windows_s = np.array([domain.target_window_s for domain in picture.fleet.domain_records])
            self._as_if, self._fleet, self._before = AsIf(len(windows_s), windows_s), picture.fleet, None
        before = self._before
        if before is not None and before.layout is seen.layout and now_s - before.now_s < LEAST_S:
            return  # an urgent plan: the one before is judged by a whole second
        self._before = None
        if decision.memory.solution is None or len(picture.governs) != len(picture.fleet.gpus):
            return
        if before is not None and before.layout is seen.layout:
            elapsed_s = min(now_s - before.now_s, LONGEST_S)
            self._score(now_s, elapsed_s, before, situation)
            self._take_back(now_s, before)
            self._tell_gates()
        elif before is not None:
            self._as_if.passed()
        demand_w = np.maximum(seen.peak_w, 1.0)
        speed = curves.speed(np.minimum(decision.job_limit_w, demand_w) / demand_w, seen.curve_classes)
        slowdown = np.where(seen.stalls.stalled, 0.0, 1.0 - speed)
        self._before = _Before(now_s, seen.layout, decision.job_limit_w, slowdown)

    def _score(self, now_s: float, elapsed_s: float, before: _Before, situation: Situation) -> None:
        picture, seen = self._picture, self._picture.observation
        layout, walls, groups = seen.layout, self._picture.walls, self._job_groups()
        stages = [picture.stages.scopes[name].now() for name in self._names()]
        trusts = self._trusts(now_s, situation.confidence)
        for group in self._watched():
            stages[group].add(watched_s=elapsed_s, trusted_s=elapsed_s if trusts else 0.0)
        standing_w = walls.standing_w(situation.unmanaged_target_w)
        self._take(
            stages,
            self._as_if.add(
                Moment(
                    now_s=now_s,
                    elapsed_s=elapsed_s,
                    layout=layout,
                    draw_w=seen.draw_w,
                    demand_w=seen.peak_w,
                    limit_w=before.limit_w,
                    mean_w=walls.target_means_w() + standing_w,
                    peak_w=walls.peak_part_w + standing_w,
                    target_w=situation.target_w,
                    hard_w=situation.hard_w,
                    idle_over_w=self._idle_over_w(),
                    group=np.where(layout.controlled, -1, groups),
                )
            ),
        )
        foretold, happened = before.slowdown, seen.paces.happened
        read = np.isfinite(seen.draw_w) & np.isfinite(foretold)
        known = read & layout.controlled & np.isfinite(happened)
        for name, value in (
            ("job_s", read * 1.0),
            ("foretold", np.where(read, foretold, 0.0)),
            ("compared_s", known * 1.0),
            ("happened", np.where(known, happened, 0.0)),
            ("error", np.where(known, np.abs(happened - foretold), 0.0)),
        ):
            sums = np.bincount(groups, weights=value, minlength=len(stages)).tolist()
            for stage, total in zip(stages, sums, strict=True):
                stage.add(**{name: elapsed_s * total})

    def _take(self, stages: list[Stage], found: Findings) -> None:
        for group, seconds in found.capped_s.items():
            stages[group].add(capped_s=seconds)
        for group, seconds in found.false_s.items():
            stages[group].add(false_s=seconds)
        for peak in found.peaks:
            for group in peak.groups:
                stage = stages[group]
                stage.peaks += 1
                if peak.lead_s is not None:
                    stage.leads += 1
                    stage.add(lead_s=peak.lead_s)
        for peak in found.missed:
            for group in peak.groups:
                stages[group].missed += 1

    def _take_back(self, now_s: float, before: _Before) -> None:
        """Scopes that cost more than was foretold, or lost the forecasts that their gate asks for."""
        picture, gates = self._picture, self._picture.rules.gates
        layout, groups, names = before.layout, self._job_groups(), self._names()
        over = picture.observation.paces.happened - before.slowdown
        beyond = layout.controlled & (over > gates.slowdown_beyond)
        jobs = {layout.jobs[row].id: row for row in np.flatnonzero(beyond).tolist()}
        self._beyond_s = {job: self._beyond_s.get(job, now_s) for job in jobs}
        for job, row in jobs.items():
            if now_s - self._beyond_s[job] >= gates.beyond_s:
                foretold, happened = before.slowdown[row], before.slowdown[row] + over[row]
                detail = f"job {job} was slowed by {happened:.0%} where {foretold:.0%} was foretold"
                self._return(names[groups[row]], "slowdown", f"{detail}, for {gates.beyond_s:.0f} s")
        if gates.forecasts and now_s - self._trusted_s >= gates.collapse_s:
            why = picture.why_reactive(now_s)
            for group in np.unique(groups[layout.controlled]).tolist():
                detail = f"no trusted forecast for {gates.collapse_s:.0f} s: {why}"
                self._return(names[group], "forecast", detail)

    def _return(self, name: str, cause: TakenBack, detail: str) -> None:
        picture = self._picture
        scope = picture.stages.scopes[name]
        evidence = shown(scope, picture.rules.gates).evidence
        back = Returned(scope=name, mode=BACK_TO, cause=cause, detail=detail, version=picture.rules.version)
        if not picture.stages.take_back(back):
            return
        picture.modes_moved = True
        data = {"scope": name, "from": scope.mode, "to": BACK_TO, "cause": cause, "detail": detail}
        self._tell(Tiding("trust_lost", {**data, "evidence": evidence, "gpus": self._boards(name)}))

    def _tell_gates(self) -> None:
        """Scopes that could rise by what was seen of them, each told once for each mode."""
        gates = self._picture.rules.gates
        for name, scope in self._picture.stages.scopes.items():
            key, last = (name, scope.mode), scope.mode == MODES[-1]
            verdict = None if last else weighed(scope, scope.mode, _next(scope.mode), gates)
            if verdict is None or not verdict.met:
                self._met.discard(key)
            elif key not in self._met and scope.now().watched_s > 0:
                self._met.add(key)
                told = {"scope": name, "mode": scope.mode, "next": _next(scope.mode)}
                self._tell(Tiding("gate_met", {**told, "evidence": verdict.evidence}))

    def _trusts(self, now_s: float, confidence: float | None) -> bool:
        trusts = confidence is not None and confidence >= TRUSTED
        if trusts or not np.isfinite(
            self._trusted_s
        ):  # as long as nobody has spoken, the wait has only begun
            self._trusted_s = now_s
        return trusts

    def _idle_over_w(self) -> Floats:
        """(G,) what boards in no job draw that, if they were ours, would be held at their minimum."""
        picture, fleet = self._picture, self._picture.fleet
        free = (picture.observation.layout.job_of < 0) & ~picture.managed
        over_w = np.nan_to_num(picture.observation.gpu_w) - fleet.min_w
        return np.where(free, np.maximum(over_w, 0.0), 0.0)

    def _names(self) -> list[str]:
        return scopes_of(self._picture.rules.modes)

    def _job_groups(self) -> Ints:
        """(J,) place in `_names` of each job's scope."""
        layout = self._picture.observation.layout
        if not layout.job_count:
            return np.zeros(0, dtype=np.int64)
        return self._picture.governs[layout.seat[layout.job_start]] % len(self._names())

    def _watched(self) -> list[int]:
        """Scopes with a board that is read."""
        fresh = self._picture.observation.unread_s <= UNREAD_S
        names = len(self._names())
        counts = np.bincount(self._picture.governs[fresh] % names, minlength=names)
        return [int(group) for group in np.flatnonzero(counts)]

    def _boards(self, name: str) -> int:
        names = self._names()
        return int(np.count_nonzero(self._picture.governs % len(names) == names.index(name)))


def _next(mode: Mode) -> Mode:
    return MODES[MODES.index(mode) + 1]
