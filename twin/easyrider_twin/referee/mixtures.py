"""Every mixture of limits that ever was, held against the hard limits of its time.

A mixture lasts from one change (of a limit, of a hard limit, of what is excused) to the next. It breaks the
sum rule where its sum exceeds a domain's hard limit by more than the tolerance. After a hard limit itself
drops nobody can follow at once: until the window after the drop ends, mixtures that fitted before it are kept
apart.
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
    end_ns: int | None = None

    def counts_from(self, from_ns: int) -> bool:
        """Whether any of it lay after that moment."""
        return self.end_ns is None or self.end_ns > from_ns


@dataclass(slots=True)
class Window:
    """Time after a drop of a hard limit; it excuses what fitted the limit before the drop, and no more."""

    begin_ns: int
    end_ns: int
    before_w: float


@dataclass
class Mixtures:
    """Limits in force per node (W, by board), in order of stamps."""

    site: Site
    limits_w: dict[str, list[float]]
    hard_w: dict[str, float] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)
    windows: dict[str, list[Window]] = field(default_factory=dict)
    """Windows after drops, by domain."""
    judged_ns: int = 0
    _open: dict[str, Breach] = field(default_factory=dict)
    _lasting: list[tuple[str, Window]] = field(default_factory=list)
    _heard_ns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hard_w = dict(self.site.hard_w)

    def begin(self, stamp_ns: int) -> None:
        """The first mixture, as it was found."""
        self._judge(stamp_ns, list(self.hard_w))

    def write(self, stamp_ns: int, node: str, gpu: int, limit_w: float) -> None:
        """One board may enforce this limit from now on."""
        self.close_windows(stamp_ns)
        self.limits_w[node][gpu] = limit_w
        self._judge(stamp_ns, [d for d, nodes in self.site.nodes_below.items() if node in nodes])

    def set_hard(self, stamp_ns: int, hard_w: dict[str, float]) -> None:
        """Hard limits changed; a drop opens a window."""
        self.close_windows(stamp_ns)
        changed = [d for d, w in hard_w.items() if abs(w - self.hard_w[d]) > ROUNDING_W]
        for domain in changed:
            if hard_w[domain] < self.hard_w[domain]:
                heard_ns = [at_ns for at_ns in self._heard_ns if at_ns >= stamp_ns]
                ends_ns = [stamp_ns + WINDOW_NS, *(at_ns + AFTER_RECEIPT_NS for at_ns in heard_ns)]
                window = Window(stamp_ns, min(ends_ns), self.hard_w[domain])
                self.windows.setdefault(domain, []).append(window)
                self._lasting.append((domain, window))
        self.hard_w |= hard_w
        self._judge(stamp_ns, changed)

    def heard(self, received_ns: int) -> None:
        """The policy heard of a drop: its window, open, over or not yet seen, ends the sooner."""
        self._heard_ns.append(received_ns)
        for windows in self.windows.values():
            for window in windows:
                if received_ns >= window.begin_ns:
                    window.end_ns = min(window.end_ns, received_ns + AFTER_RECEIPT_NS)

    def close_windows(self, stamp_ns: int) -> None:
        """End the windows that are over by then, and judge what stands at their ends."""
        for domain, window in sorted(self._lasting, key=lambda each: each[1].end_ns):
            if window.end_ns <= stamp_ns:
                self._lasting.remove((domain, window))
                self._judge(window.end_ns, [domain])
        self.judged_ns = max(self.judged_ns, stamp_ns)

    def in_window(self, domain: str, stamp_ns: int) -> bool:
        """Whether the domain's limit had just dropped at that moment."""
        return any(window.begin_ns <= stamp_ns < window.end_ns for window in self.windows.get(domain, ()))

    def excused(self, breach: Breach) -> bool:
        """Whether all of it lies in a window after a drop, under the limit from before.

        Decided when asked: that the policy had heard may become known later than the breach.
        """
        end_ns = self.judged_ns if breach.end_ns is None else breach.end_ns
        return any(
            window.begin_ns <= breach.begin_ns
            and end_ns <= window.end_ns
            and breach.sum_w <= window.before_w + TOLERANCE_W
            for window in self.windows.get(breach.domain, ())
        )

    def _judge(self, stamp_ns: int, domains: list[str]) -> None:
        for domain in domains:
            if (before := self._open.pop(domain, None)) is not None:
                before.end_ns = max(stamp_ns, before.begin_ns)
            sum_w = self.site.sum_w(domain, self.limits_w)
            if sum_w > self.hard_w[domain] + TOLERANCE_W:
                self._open[domain] = breach = Breach(domain, stamp_ns, sum_w, self.hard_w[domain])
                self.breaches.append(breach)
