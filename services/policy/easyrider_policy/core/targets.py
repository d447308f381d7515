"""Load targets: what domains may draw between two times of day, ramped down to so that each is met when it begins.

Times are Unix seconds, since they are appointments with people and grids; nothing that decides on safety hangs on
them. A load target lowers the target of its domain, never its hard limit and never raises either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from easyrider.moments import unix_s
from easyrider.tree import Leases, LoadTarget
from easyrider_policy.core.emergency import OVER_TARGET
from easyrider_policy.core.fleet import Fleet, Floats

FAR_S: Final = 366 * 86400.0
"""One that begins later than this from now is more likely a mistyped year than an appointment."""
Phase = Literal["waits", "ramps", "holds", "ended"]
Change = Literal["begins", "short", "kept", "ends"]


class TargetChange(NamedTuple):
    """What happened to a load target, once."""

    target: LoadTarget
    change: Change
    observed_w: float | None
    short_w: float
    kept: float | None  # share of the time since it began in which it was kept
    worst_w: float


@dataclass(slots=True)
class Standing:
    """One load target on this fleet, and how it was kept so far."""

    target: LoadTarget
    row: int  # of its domain
    begins_s: float
    ends_s: float
    lead_s: float  # how long before its beginning the domain begins to come down
    phase: Phase = "waits"
    held_s: float = 0.0  # since it began, while it was looked at
    over_s: float = 0.0  # of them above it
    worst_w: float = 0.0  # the highest excess
    observed_w: float | None = None  # mean over the domain's window; None: not known
    short_w: float = 0.0  # what is drawn above it now
    missing_w: float = 0.0  # what no limits could take away, or none that a soft target may ask for
    kept_back_w: float = 0.0  # of it, what a soft target leaves to jobs at their `max_slowdown`
    short: bool = False

    @property
    def kept(self) -> float | None:
        """Share of the time since it began in which it was kept; None before that."""
        return None if self.held_s <= 0 else max(0.0, 1.0 - self.over_s / self.held_s)

    def phase_at(self, now_s: float) -> Phase:
        """Where it stands at this time of day."""
        if now_s >= self.ends_s:
            return "ended"
        if now_s >= self.begins_s:
            return "holds"
        return "ramps" if now_s >= self.begins_s - self.lead_s else "waits"

    def ceiling_w(self, own_w: float, now_s: float, soft_w: float = float("nan")) -> float:
        """What the domain may draw now for its sake; infinite while it says nothing.

        `soft_w`: what it draws with every job at its `max_slowdown`, NaN unknown; a soft target goes no lower.
        """
        if self.phase_at(now_s) in ("waits", "ended"):
            self.kept_back_w = 0.0
            return float("inf")
        gone_s = now_s - (self.begins_s - self.lead_s)
        part = 1.0 if self.target.strategy == "step" else min(1.0, max(0.0, gone_s / self.target.ramp_s))
        aim_w = self.target.target_w
        if self.target.strategy == "soft" and soft_w > aim_w:  # NaN is not
            self.kept_back_w = min(soft_w, own_w) - aim_w if own_w > aim_w else 0.0
            aim_w += self.kept_back_w
        else:
            self.kept_back_w = 0.0
        return max(aim_w, own_w + part * (aim_w - own_w))


class LoadTargets:
    """The load targets of one fleet."""

    def __init__(self, fleet: Fleet, targets: Iterable[LoadTarget], leases: Leases) -> None:
        self.every = [_standing(fleet, leases, t) for t in targets if t.domain in fleet.domain_index]
        self.ceiling_w: Floats = np.full(len(fleet.domains), np.inf)  # (D,)
        self.changes: list[TargetChange] = []  # not told yet
        self._now_s: float | None = None

    @property
    def names(self) -> dict[int, str]:
        """Which load target has lowered the target of a domain (row) most."""
        found: dict[int, str] = {}
        for one in sorted(self.every, key=lambda one: -one.target.target_w):
            if one.phase in ("ramps", "holds"):
                found[one.row] = one.target.id
        return found

    def pass_to(self, now_s: float, own_w: Floats, soft_w: Floats | None = None) -> bool:
        """Time passes; `own_w` (D,): targets without any of these. Whether one began to matter or ended.

        `soft_w` (D,): what is drawn with every job at its `max_slowdown`; None: not known, soft ones go all the way.
        """
        moved = False
        floor_w = np.full_like(own_w, np.nan) if soft_w is None else soft_w
        self.ceiling_w = np.full_like(own_w, np.inf)
        for one in self.every:
            phase = one.phase_at(now_s)
            if phase != one.phase:
                moved = True
                if phase == "holds":
                    self._tell(one, "begins")
                elif phase == "ended" and one.phase == "holds":
                    self._tell(one, "ends")
                one.phase = phase
            self.ceiling_w[one.row] = min(
                self.ceiling_w[one.row],
                one.ceiling_w(float(own_w[one.row]), now_s, float(floor_w[one.row])),
            )
        return moved

    def observed(self, mean_w: Floats, missing_w: Floats, now_s: float) -> None:
        """How they are kept: `mean_w` (D,) over each domain's window, NaN unknown; `missing_w` (D,) at minimum."""
        passed_s = 0.0 if self._now_s is None else min(max(0.0, now_s - self._now_s), 5.0)
        self._now_s = now_s
        for one in self.every:
            mean = float(mean_w[one.row])
            one.observed_w = mean if np.isfinite(mean) else None
            matters = one.phase in ("ramps", "holds")
            one.missing_w = max(float(missing_w[one.row]), one.kept_back_w) if matters else 0.0
            if one.phase != "holds":
                one.short_w, one.short = 0.0, False
                continue
            over = one.observed_w is not None and one.observed_w > OVER_TARGET * one.target.target_w
            one.short_w = max(0.0, mean - one.target.target_w) if over else 0.0
            one.held_s += passed_s
            one.over_s += passed_s if over or one.observed_w is None else 0.0  # unknown is not kept
            one.worst_w = max(one.worst_w, one.short_w)
            short = over or one.missing_w > 0
            if short != one.short:
                one.short = short
                self._tell(one, "short" if short else "kept")

    def moved_to(self, fleet: Fleet, targets: Iterable[LoadTarget], leases: Leases) -> "LoadTargets":
        """Of newer rules or another fleet; one that stands there unchanged keeps its record."""
        moved = LoadTargets(fleet, targets, leases)
        before = {one.target: one for one in self.every}
        for one in moved.every:
            if (known := before.get(one.target)) is not None:
                for name in ("phase", "held_s", "over_s", "worst_w", "observed_w", "short_w", "short"):
                    setattr(one, name, getattr(known, name))
        kept = {one.target for one in moved.every}
        moved.changes, moved._now_s = list(self.changes), self._now_s
        for one in self.every:
            if one.phase == "holds" and one.target not in kept:
                moved._tell(one, "ends")
        return moved

    def take_changes(self) -> list[TargetChange]:
        """What happened since the last time, each once."""
        taken, self.changes = self.changes, []
        return taken

    def _tell(self, one: Standing, change: Change) -> None:
        short_w = max(one.short_w, one.missing_w)
        self.changes.append(TargetChange(one.target, change, one.observed_w, short_w, one.kept, one.worst_w))


def ended(targets: Iterable[LoadTarget], now_s: float) -> list[LoadTarget]:
    """Those that say nothing any more. Raises `BadMoment`; rules that were read hold none."""
    return [target for target in targets if unix_s(target.ends) <= now_s]


def far_ahead(targets: Iterable[LoadTarget], now_s: float) -> list[LoadTarget]:
    """Those that begin in more than a year. Raises `BadMoment`."""
    return [target for target in targets if unix_s(target.begins) > now_s + FAR_S]


def _standing(fleet: Fleet, leases: Leases, target: LoadTarget) -> Standing:
    row = fleet.domain_index[target.domain]
    # Lowers go at once; the mean over the window is there a window later.
    settle_s = fleet.domain_records[row].target_window_s + leases.control_period_s + leases.actuation_s
    return Standing(
        target=target,
        row=row,
        begins_s=unix_s(target.begins),
        ends_s=unix_s(target.ends),
        lead_s=settle_s if target.strategy == "step" else target.ramp_s + settle_s,
    )
