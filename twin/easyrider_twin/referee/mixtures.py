"""Every mixture of limits that ever was, held against the hard limits of its time.

A mixture lasts from one change (of a limit, of a hard limit, of what is excused) to the next. It breaks the
sum rule where its sum exceeds a domain's hard limit by more than the tolerance. After a hard limit itself
drops nobody can follow at once: until the window after the drop ends, breaches there are kept apart.
"""

from dataclasses import dataclass, field

from easyrider_twin.referee.site import Site

TOLERANCE_W = 1.0
ROUNDING_W = 0.01
WINDOW_NS = 2_500_000_000
"""Longest window after a drop of a limit."""
AFTER_RECEIPT_NS = 500_000_000
"""The window ends so long after the policy had heard of the drop."""


@dataclass(slots=True)
class Breach:
    """One mixture over one hard limit; `end_ns` None while it lasts."""

    domain: str
    begin_ns: int
    sum_w: float
    hard_w: float
    in_window: bool
    end_ns: int | None = None

    def counts_from(self, from_ns: int) -> bool:
        """Whether any of it lay after that moment."""
        return self.end_ns is None or self.end_ns > from_ns


@dataclass
class Mixtures:
    """Limits in force per node (W, by board), in order of stamps."""

    site: Site
    limits_w: dict[str, list[float]]
    hard_w: dict[str, float] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)
    _open: dict[str, Breach] = field(default_factory=dict)
    _windows: dict[str, tuple[int, int]] = field(default_factory=dict)
    _heard_ns: list[int] = field(default_factory=list)
    dropped_at_ns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Windows after drops, (begin, end), by domain."""

    def __post_init__(self) -> None:
        self.hard_w = dict(self.site.hard_w)

    def begin(self, stamp_ns: int) -> None:
        """The first mixture, as it was found."""
        self._judge(stamp_ns, list(self.hard_w))

    def write(self, stamp_ns: int, node: str, gpu: int, limit_w: float) -> bool:
        """One board's limit changed; True if it is another than before."""
        self.close_windows(stamp_ns)
        changed = self.limits_w[node][gpu] != limit_w
        self.limits_w[node][gpu] = limit_w
        self._judge(stamp_ns, [d for d, nodes in self.site.nodes_below.items() if node in nodes])
        return changed

    def set_hard(self, stamp_ns: int, hard_w: dict[str, float]) -> None:
        """Hard limits changed; a drop opens a window."""
        self.close_windows(stamp_ns)
        changed = [d for d, w in hard_w.items() if abs(w - self.hard_w[d]) > ROUNDING_W]
        for domain in changed:
            if hard_w[domain] < self.hard_w[domain]:
                heard_ns = [at_ns for at_ns in self._heard_ns if at_ns >= stamp_ns]
                ends_ns = [stamp_ns + WINDOW_NS, *(at_ns + AFTER_RECEIPT_NS for at_ns in heard_ns)]
                self._windows[domain] = (stamp_ns, min(ends_ns))
                self.dropped_at_ns.setdefault(domain, []).append(self._windows[domain])
        self.hard_w |= hard_w
        self._judge(stamp_ns, changed)

    def heard(self, received_ns: int) -> None:
        """The policy heard of a drop: its window, open or not yet seen, ends the sooner."""
        self._heard_ns.append(received_ns)
        for domain, (begin_ns, end_ns) in self._windows.items():
            if received_ns >= begin_ns:
                earlier = (begin_ns, min(end_ns, received_ns + AFTER_RECEIPT_NS))
                self._windows[domain] = earlier
                self.dropped_at_ns[domain][-1] = earlier

    def close_windows(self, stamp_ns: int) -> None:
        """End the windows that are over by then, and judge what stands at their ends."""
        over = sorted((end_ns, d) for d, (_, end_ns) in self._windows.items() if end_ns <= stamp_ns)
        for end_ns, domain in over:
            del self._windows[domain]
            self._judge(end_ns, [domain])

    def in_window(self, domain: str, stamp_ns: int) -> bool:
        """Whether the domain's limit had just dropped at that moment."""
        return any(begin <= stamp_ns < end for begin, end in self.dropped_at_ns.get(domain, ()))

    def _judge(self, stamp_ns: int, domains: list[str]) -> None:
        for domain in domains:
            if (before := self._open.pop(domain, None)) is not None:
                before.end_ns = stamp_ns
            sum_w = self.site.sum_w(domain, self.limits_w)
            if sum_w > self.hard_w[domain] + TOLERANCE_W:
                breach = Breach(domain, stamp_ns, sum_w, self.hard_w[domain], domain in self._windows)
                self._open[domain] = breach
                self.breaches.append(breach)
