"""What a job's owner wants to know: capped by how much, why, at what cost."""

from typing import Any

_KINDS = {
    "natural": "It has all it asks for; no limit binds it.",
    "start": "It has just begun and is given room until its draw is known.",
    "stalled": "It waits for something else, so its watts are lent to others and come back at once when it wakes.",
    "floor": "It is at the lowest speed its priority class accepts, so that others fit too.",
    "pacing": "Its limit is on its way: limits move in small steps.",
    "held": "Its boards are held lower by something else, such as their temperature.",
    "unplanned": "It has just appeared, and no plan has counted it yet.",
    "not_ours": "Its boards are not limited by this coordinator in their present mode.",
}


def why(reason: str) -> str:
    """A binding reason as a sentence."""
    kind, _, place = reason.partition(":")
    match kind:
        case "target":
            return f"{place} is at the power it may draw (its target), and this job shares it."
        case "hard":
            return f"{place} could not carry more if everything drew what it is allowed (its hard limit)."
        case "infeasible":
            return f"{place} cannot be kept even at the lowest limits; everything below it is at its minimum."
        case "ramp":
            return (
                f"Limits below {place} open along its ramp, so that load there grows no faster than it may."
            )
        case "silent":
            return f"{place} says nothing, so it is counted at its worst until it speaks."
        case "load_target":
            return f"The load target {place} is in force, and this job shares what it leaves."
        case "lent":
            return f"Region {place} lends no more here, and this job shares what it lends."
        case "share":
            return f"Region {place} is not heard, so that only its guaranteed share may be drawn here."
        case "hold":
            return f"An operator stopped every raise (hold {place})."
        case "guardian_hold":
            return f"Somebody stopped every raise on the node {place} itself."
        case _:
            return _KINDS.get(kind, f"The coordinator says: {reason}.")


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """The owner's answer, beside what the coordinator knows of the job. Watts are per GPU; unknown is null."""
    limit_w, demand_w = _number(job.get("limit_w")), _number(job.get("demand_w"))
    slowdown, reason = _number(job.get("slowdown")), str(job.get("reason") or "not_ours")
    capped_w = None if limit_w is None or demand_w is None else max(0.0, demand_w - limit_w)
    share = None if capped_w is None or not demand_w else capped_w / demand_w
    return {
        "capped": None if capped_w is None else capped_w > 0.5,
        "capped_by_w": capped_w,
        "capped_by_ratio": share,
        "why": why(reason),
        "reason": reason,
        "slowdown": slowdown,
        "sentence": _sentence(limit_w, demand_w, share, slowdown, reason),
    }


def _sentence(
    limit_w: float | None, demand_w: float | None, share: float | None, slowdown: float | None, reason: str
) -> str:
    if limit_w is None or demand_w is None or share is None:
        return f"Its draw is not known yet. {why(reason)}"
    cost = "" if slowdown is None else f", and it is expected to run {slowdown * 100:.1f} % slower"
    if share * demand_w <= 0.5:
        return f"Not capped: it would draw {demand_w:.0f} W per GPU and may draw that{cost}. {why(reason)}"
    return (
        f"Capped at {limit_w:.0f} W of the {demand_w:.0f} W per GPU it would draw "
        f"({share * 100:.0f} % less){cost}. {why(reason)}"
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
