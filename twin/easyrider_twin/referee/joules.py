"""Energy over limits, from the twin's own record of power."""

from collections import deque
from dataclasses import dataclass, field

from easyrider_twin.referee.mixtures import Mixtures

TARGET_WINDOW_NS = 10_000_000_000


@dataclass
class Joules:
    """Over the hard limit as drawn, over the target as a mean of 10 s; apart: in windows after drops.

    Domains that hang below each other carry the same watts, so the worst one counts, not their sum. A mean
    begins anew where a window after a drop ends, or watts drawn before the drop would count against it.
    """

    over_hard_j: float = 0.0
    over_target_j: float = 0.0
    in_window_j: float = 0.0
    by_domain_j: dict[str, float] = field(default_factory=dict)
    highest_w: dict[str, float] = field(default_factory=dict)
    _last_ns: int | None = None
    _recent: dict[str, deque[tuple[int, float]]] = field(default_factory=dict)

    def sample(
        self, stamp_ns: int, wall_w: dict[str, float], hard_w: dict[str, float], target_w: dict[str, float],
        mixtures: Mixtures, counting: bool,
    ) -> None:  # fmt: skip
        """Take in one sample, which lasts since the one before (at most 1 s, lest a gap weigh)."""
        step_s = 0.0 if self._last_ns is None else min((stamp_ns - self._last_ns) / 1e9, 1.0)
        self._last_ns = stamp_ns
        over_w = {"hard": 0.0, "target": 0.0, "window": 0.0}
        for domain, drawn_w in wall_w.items():
            mean_w = self._mean_w(domain, stamp_ns, drawn_w, mixtures)
            above_w = max(drawn_w - hard_w[domain], 0.0)
            if mixtures.in_window(domain, stamp_ns):
                over_w["window"] = max(over_w["window"], above_w)
                continue
            if not counting:
                continue
            self.highest_w[domain] = max(self.highest_w.get(domain, 0.0), drawn_w)
            over_w["hard"] = max(over_w["hard"], above_w)
            over_w["target"] = max(over_w["target"], mean_w - target_w[domain])
            self.by_domain_j[domain] = self.by_domain_j.get(domain, 0.0) + above_w * step_s
        self.over_hard_j += over_w["hard"] * step_s
        self.over_target_j += over_w["target"] * step_s
        self.in_window_j += over_w["window"] * step_s if counting else 0.0

    def _mean_w(self, domain: str, stamp_ns: int, drawn_w: float, mixtures: Mixtures) -> float:
        recent = self._recent.setdefault(domain, deque())
        if mixtures.in_window(domain, stamp_ns):
            recent.clear()
            return 0.0
        recent.append((stamp_ns, drawn_w))
        while recent[0][0] <= stamp_ns - TARGET_WINDOW_NS:
            recent.popleft()
        return sum(w for _, w in recent) / len(recent)
