"""What a person sees while a rack runs: bars of power against limits in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

_PLAIN_EVERY_S = 5.0
_BAR_CELLS = 40
_BESIDE_CELLS = 56
"""What stands beside a bar: name, power, both limits, verdict."""
_SCALE = 1.15
"""The bar ends so far above the highest hard limit seen, so that an overload has room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainNow:
    """One domain at this moment; wall watts."""

    domain: str
    wall_w: float
    hard_w: float
    target_w: float

    @property
    def verdict(self) -> str:
        """How it stands in words: colour alone says nothing to some."""
        if self.wall_w > self.hard_w:
            return "OVER HARD LIMIT"
        return "over target" if self.wall_w > self.target_w else "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Everything shown at one time. `total_s` None: without an end. Counts None: not known."""

    phase: str
    elapsed_s: float
    total_s: float | None = None
    domains: tuple[DomainNow, ...] = ()
    acks: int | None = None
    raises_waited: int | None = None
    jobs: int | None = None
    tripped: tuple[str, ...] = ()


class Progress:
    """Shows the newest moment until it is closed; in a terminal in place, else one line every 5 s.

    A new phase or a trip is always told at once.
    """

    def __init__(self, console: Console, now_s: Callable[[], float] = time.monotonic) -> None:
        self._console, self._now_s = console, now_s
        self._live: Live | None = None
        self._said_s: float | None = None
        self._said: tuple[str, tuple[str, ...]] = ("", ())
        self._widest_w: dict[str, float] = {}

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, moment: Moment) -> None:
        """This is how things stand."""
        for domain in moment.domains:
            widest_w = max(domain.hard_w, self._widest_w.get(domain.domain, 0.0))
            self._widest_w[domain.domain] = widest_w
        if self._live is not None:
            self._live.update(self._picture(moment), refresh=True)
            return
        now_s, news = self._now_s(), (moment.phase, moment.tripped)
        if self._said_s is None or news != self._said or now_s - self._said_s >= _PLAIN_EVERY_S:
            self._console.print(plain_line(moment), highlight=False, markup=False, soft_wrap=True)
            self._said_s, self._said = now_s, news

    def _picture(self, moment: Moment) -> Group:
        ascii_only = self._console.options.ascii_only
        cells = max(10, min(_BAR_CELLS, self._console.width - _BESIDE_CELLS))
        bars = Table.grid(padding=(0, 1))
        for domain in moment.domains:
            full_w = _SCALE * self._widest_w[domain.domain]
            style = _STYLES[domain.verdict]
            bars.add_row(
                Text(domain.domain, style="bold"),
                bar(domain, full_w, cells=cells, ascii_only=ascii_only),
                Text(f"{domain.wall_w / 1e3:6.1f} kW", style=style),
                Text(f"target {domain.target_w / 1e3:.1f}, hard {domain.hard_w / 1e3:.1f}"),
                Text(domain.verdict, style=style),
            )
        lines: list[Text | Table] = [
            Text(f"{_time(moment)}  {moment.phase}", style="bold"),
            bars,
            Text(_counts(moment)),
        ]
        if moment.tripped:
            lines.append(Text("TRIPPED: " + ", ".join(moment.tripped), style="bold white on red"))
        return Group(*lines)


_STYLES = {"ok": "cyan", "over target": "yellow", "OVER HARD LIMIT": "bold red"}


def bar(domain: DomainNow, full_w: float, *, cells: int = _BAR_CELLS, ascii_only: bool = False) -> Text:
    """Power as a filled bar of `cells`, with a mark where the target lies and one where the hard limit does."""
    full, empty, target, hard = ("#", ".", "t", "H") if ascii_only else ("█", "░", "┊", "┃")
    shown = [full if (cell + 0.5) / cells * full_w <= domain.wall_w else empty for cell in range(cells)]
    for limit_w, mark in ((domain.target_w, target), (domain.hard_w, hard)):
        shown[min(cells - 1, max(0, int(limit_w / full_w * cells)))] = mark
    text = Text()
    for cell in shown:
        style = _STYLES[domain.verdict] if cell == full else "bold" if cell in (target, hard) else "dim"
        text.append(cell, style=style)
    return text


def plain_line(moment: Moment) -> str:
    """The moment on one line, for logs and pipes."""
    domains = "; ".join(
        f"{d.domain} {d.wall_w / 1e3:.1f} kW of target {d.target_w / 1e3:.1f}, hard {d.hard_w / 1e3:.1f} ({d.verdict})"
        for d in moment.domains
    )
    tripped = "TRIPPED: " + ", ".join(moment.tripped) if moment.tripped else ""
    return "  ".join(
        part for part in (_time(moment), moment.phase, domains, _counts(moment), tripped) if part
    )


def _time(moment: Moment) -> str:
    end = "" if moment.total_s is None else f" of {moment.total_s:.0f}"
    return f"{moment.elapsed_s:.0f}{end} s"


def _counts(moment: Moment) -> str:
    named = (
        ("acks", moment.acks),
        ("raises that waited", moment.raises_waited),
        ("jobs running", moment.jobs),
    )
    return ", ".join(f"{name} {count}" for name, count in named if count is not None)
