"""Newer rules held against what was seen of each scope: what rises, by what right, and what may not yet."""

from easyrider.tree import Rules
from easyrider_policy.core import promotions
from easyrider_policy.core.promotions import Move
from easyrider_policy.picture import Picture


def faults(picture: Picture, rules: Rules) -> list[str]:
    """Why these rules may not be put in force yet, with the numbers; empty: they may."""
    return promotions.faults(_moves(picture, rules))


def may_raise(picture: Picture, rules: Rules) -> bool:
    """Whether these rules could bring any board into a higher mode, those of jobs that are yet to be heard included."""
    return promotions.may_raise(picture.rules.modes, rules.modes) or any(
        move.verdict is not None for move in _moves(picture, rules)
    )


def changes(picture: Picture, rules: Rules) -> list[dict[str, object]]:
    """Data of a `mode_change` for each scope whose boards they move, and for each that rises before any is there."""
    found = _moves(picture, rules)
    return [_told(move, rules.version) for move in found if move.gpus or move.verdict is not None]


def lift(picture: Picture, rules: Rules) -> None:
    """Scopes that were taken back, and have earned or been given their mode again, are so no more."""
    for name in promotions.lifted(picture.stages, picture.rules, rules):
        del picture.stages.returned[name]
        picture.modes_moved = True


def _moves(picture: Picture, rules: Rules) -> list[Move]:
    labels = picture.jobs.labels(picture.fleet)
    return promotions.moves(picture.rules, rules, picture.stages, picture.fleet, labels)


def _told(move: Move, version: int) -> dict[str, object]:
    verdict = move.verdict
    return {
        "version": version,
        "from": move.before,
        "to": move.after,
        "gpus": move.gpus,
        "scope": move.scope,
        "gate": move.gate,
        "evidence": "" if verdict is None else verdict.evidence,
        "override": move.override if move.gate == "overridden" else "",
    }
