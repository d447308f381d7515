"""What all answers of one moment share: made once, and standing for as long as what they cost together allows."""

from dataclasses import dataclass, field

from easyrider.tree import Rules
from easyrider_policy.core.fleet import Fleet

STANDS_S = 0.25
SHARE = 0.02
"""Of this process's time, the most that answers together may take: what was dear to make stands longer."""
LONGEST_S = 2.0


@dataclass(slots=True, eq=False)
class Moment:
    """Begun at `began_s`, monotonic; over once other `rules` or another `fleet` are in force.

    `spent_s`: on all its answers. `rest`: JSON of the state without what depends on whose boards are asked for, its
    brace left open, and `left_out` how many rows of it had no room. `made`: answers by what was asked about; of one
    node only what comes after `rest`.
    """

    began_s: float
    rules: Rules
    fleet: Fleet
    spent_s: float = 0.0
    rest: bytes = b""
    left_out: dict[str, int] = field(default_factory=dict)
    made: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def stands(self, now_s: float, rules: Rules, fleet: Fleet) -> bool:
        """Whether what was made is good enough still."""
        lasts_s = max(STANDS_S, min(self.spent_s / SHARE, LONGEST_S))
        return now_s < self.began_s + lasts_s and self.rules is rules and self.fleet is fleet
