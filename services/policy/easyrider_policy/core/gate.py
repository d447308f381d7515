"""Whether a scope has shown what a higher mode asks for, number by number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from easyrider.gates import DAY_S, Gates
from easyrider.tree import MODES, Mode
from easyrider_policy.core.stages import Scope, Stage


class Check(NamedTuple):
    """One number. `seen` None: nothing was there to judge, which is no fault where `met`."""

    name: str
    seen: float | None
    wanted: float
    met: bool

    @property
    def says(self) -> str:
        """In a few words."""
        digits = ".2f" if self.name.endswith("_days") else ".3g"
        seen = "unknown" if self.seen is None else f"{self.seen:{digits}}"
        return f"{self.name.replace('_', ' ')} {seen} of {self.wanted:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Every check of the modes that are left behind."""

    checks: tuple[Check, ...]

    @property
    def met(self) -> bool:
        """Nothing is missing."""
        return all(check.met for check in self.checks)

    @property
    def missing(self) -> str:
        """What is, in one line."""
        return "; ".join(check.says for check in self.checks if not check.met)

    @property
    def evidence(self) -> str:
        """Every number, in one line."""
        return "; ".join(check.says for check in self.checks)


def weighed(scope: Scope | None, before: Mode, after: Mode, gates: Gates) -> Verdict:
    """Whether what was seen in `before`, and in every mode up to below `after`, lets a scope rise so far."""
    found: list[Check] = []
    for mode in MODES[MODES.index(before) : MODES.index(after)]:
        stage = None if scope is None else scope.stages.get(mode)
        found += _of(mode, stage or Stage(), gates)
    return Verdict(checks=tuple(found))


def shown(scope: Scope, gates: Gates) -> Verdict:
    """The numbers of the present mode."""
    return Verdict(checks=tuple(_of(scope.mode, scope.stages.get(scope.mode) or Stage(), gates)))


def _of(mode: Mode, stage: Stage, gates: Gates) -> Sequence[Check]:
    match mode:
        case "observe":
            checks = [_days("observe_days", stage, gates.observe_days)]
        case "shadow":
            checks = [_days("shadow_days", stage, gates.shadow_days), *_shadow(stage, gates)]
        case "pilot":
            checks = [_days("pilot_days", stage, gates.pilot_days), *_pilot(stage, gates)]
        case "enforce":
            checks = [*_pilot(stage, gates)]
    if gates.forecasts and mode != "observe":
        trusted = stage.trusted_s / stage.watched_s if stage.watched_s else None
        checks.append(_least(f"{mode}_trusted_ratio", trusted, gates.trusted_ratio, unknown=False))
    return checks


def _shadow(stage: Stage, gates: Gates) -> Sequence[Check]:
    false = stage.false_s / stage.capped_s if stage.capped_s else None  # no cap: none was false
    lead_s = stage.lead_s / stage.peaks if stage.peaks else None  # no peak: nothing to come before
    return (
        _most("false_cap_ratio", false, gates.false_cap_ratio),
        _most("missed_peaks", float(stage.missed), float(gates.missed_peaks)),
        _least("least_lead_s", lead_s, gates.least_lead_s, unknown=True),
    )


def _pilot(stage: Stage, gates: Gates) -> Sequence[Check]:
    error = stage.error / stage.compared_s if stage.compared_s else None
    return (_most("slowdown_error", error, gates.slowdown_error),)


def _days(name: str, stage: Stage, wanted: float) -> Check:
    return _least(name, stage.watched_s / DAY_S, wanted, unknown=False)


def _least(name: str, seen: float | None, wanted: float, *, unknown: bool) -> Check:
    return Check(name, seen, wanted, unknown if seen is None else seen >= wanted)


def _most(name: str, seen: float | None, wanted: float) -> Check:
    return Check(name, seen, wanted, seen is None or seen <= wanted)
