"""What a scope must have shown before its mode may rise, and what takes it back: records of the rules document."""

from dataclasses import dataclass, fields

from easyrider.records import Faults

DAY_S = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Days that a scope was watched in each mode, and how good what was said of it had to be. The defaults wait weeks.

    The gates of the rules in force judge newer rules: who loosens them promotes by the next version.
    """

    observe_days: float = 14.0
    shadow_days: float = 7.0
    pilot_days: float = 7.0
    false_cap_ratio: float = (
        0.05  # most of the caps that would have slowed a job while no domain was near its target
    )
    missed_peaks: int = 0  # most peaks above a target that the limits said would not have kept
    least_lead_s: float = 0.0  # on the mean, from the first cap that binds to the peak
    slowdown_error: float = 0.05  # most, on the mean, between the slowdown foretold and what happened
    slowdown_beyond: float = (
        0.15  # a job slowed by so much more than foretold, for `beyond_s`, demotes its scope
    )
    beyond_s: float = 600.0
    forecasts: bool = False  # whether promotion, and staying there, asks for forecasts that are trusted
    trusted_ratio: float = 0.9  # least of the time
    collapse_s: float = 900.0  # without trusted forecasts for so long, a scope that needs them is demoted


def check_gates(gates: Gates, faults: Faults) -> None:
    """Adds every fault of the section `gates`."""
    for field in fields(Gates):
        value, place = getattr(gates, field.name), f"gates.{field.name}"
        if field.name == "forecasts":
            continue
        if value < 0:
            faults.add(place, f"is {value:g}, below 0")
        elif field.name.endswith("_ratio") and value > 1:
            faults.add(place, f"is {value:g}, above 1")
    for name in ("slowdown_beyond", "beyond_s", "collapse_s"):
        if getattr(gates, name) == 0:
            faults.add(f"gates.{name}", "is 0: every scope would be demoted at once")
