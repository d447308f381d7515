"""How far each scope has come, as people ask: its mode, what was seen of it, what the next mode asks for."""

from typing import Any

import msgspec
import numpy as np

from easyrider.gates import DAY_S
from easyrider.tree import MODES, SELECTOR_KEYS, Mode
from easyrider_policy.core.gate import shown, weighed
from easyrider_policy.core.stages import NONE, Scope, Stage, scopes_of
from easyrider_policy.picture import Picture


def trust(picture: Picture) -> bytes:
    """Every scope of one coordinator, as JSON; what is not known is null."""
    return msgspec.json.encode(
        {
            "region": picture.region,
            "version": picture.rules.version,
            "gates": picture.rules.gates,
            "scopes": _scopes(picture),
        }
    )


def _scopes(picture: Picture) -> list[dict[str, Any]]:
    names, rules = scopes_of(picture.rules.modes), picture.rules.modes
    boards = np.bincount(picture.governs % len(names), minlength=len(names))
    found = []
    for row, name in enumerate(names):
        scope = picture.stages.scopes.get(name)
        if scope is None or (name == NONE and not boards[row]):
            continue
        rule = rules[row] if row < len(rules) else None
        back = picture.stages.returned.get(name)
        found.append(
            {
                "scope": name,
                "selector": None
                if rule is None
                else {k: rule.selector[k] for k in SELECTOR_KEYS if k in rule.selector},
                "declared": MODES[0] if rule is None else rule.mode,
                "gpus": int(boards[row]),
                "taken_back": None if back is None else {"cause": back.cause, "detail": back.detail},
                **_seen(scope, picture),
            }
        )
    return found


def _seen(scope: Scope, picture: Picture) -> dict[str, Any]:
    gates, last = picture.rules.gates, scope.mode == MODES[-1]
    following: Mode | None = None if last else MODES[MODES.index(scope.mode) + 1]
    verdict = shown(scope, gates) if following is None else weighed(scope, scope.mode, following, gates)
    return {
        "mode": scope.mode,
        "next": following,
        "met": None if following is None else verdict.met,
        "checks": [
            {"name": check.name, "seen": _known(check.seen), "wanted": check.wanted, "met": check.met}
            for check in verdict.checks
        ],
        "stages": {mode: _stage(scope.stages[mode]) for mode in MODES if mode in scope.stages},
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "days": round(stage.watched_s / DAY_S, 4),
        "trusted_ratio": _share(stage.trusted_s, stage.watched_s),
        "job_hours": round(stage.job_s / 3600.0, 3),
        "capped_job_hours": round(stage.capped_s / 3600.0, 3),
        "false_cap_ratio": _share(stage.false_s, stage.capped_s),
        "peaks": stage.peaks,
        "missed_peaks": stage.missed,
        "lead_s": _share(stage.lead_s, stage.leads),
        "foretold_slowdown": _share(stage.foretold, stage.job_s),
        "compared_job_hours": round(stage.compared_s / 3600.0, 3),
        "happened_slowdown": _share(stage.happened, stage.compared_s),
        "slowdown_error": _share(stage.error, stage.compared_s),
    }


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _known(seen: float | None) -> float | None:
    return None if seen is None else round(seen, 4)
