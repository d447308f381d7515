"""Mean power from an energy counter, divided by the counter's own elapsed time.

A counter that steps every 100 ms, read every 100 ms give or take one, moved by 0, 1 or 2 steps: dividing by the
time between *reads* shows 0, 500 or 1000 W on a constant 500 W. Dividing by what the counter itself spent does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from easyrider import quality
from easyrider_telemetry.core.pace import CounterRead, Pace, learn_pace
from easyrider_telemetry.core.steps import StepCount

MAX_SHARE = 1.5
"""Above so many times its highest limit a board's power is no reading."""
_NEAR_ZERO_W = 20.0
_HELD_LOOKS = 2
_FROZEN_LOOKS = 3
_GAP_LOOKS = 3.5
_RELEARN_LOOKS = 64
_NEW = tuple.__new__  # of a named tuple, without the detour through its own constructor
_GAIN_ERROR = 0.05
"""So far may the power field be off; within it, two counts of steps are told apart by the clock alone."""


class Mean(NamedTuple):
    """Mean power since the look before; `ok` as in `easyrider.quality`, `energy_ok` that of the counter."""

    power_w: float
    ok: int
    energy_ok: int


@dataclass
class EnergyMeter:
    """One board's counter. `look_s` is the time between looks, `max_w` the board's highest limit.

    `total_j` never falls and never jumps: it counts the counter's differences, and integrated power where the
    counter is missing or frozen (`method`). Time that nobody saw is in `gap_s` and is never filled.
    """

    look_s: float
    max_w: float
    pace: Pace | None = None
    method: Literal["counter", "integrated"] = "integrated"
    is_stamped: bool = False
    total_j: float = 0.0
    gap_s: float = 0.0
    resets: int = 0
    _steps: StepCount | None = None
    _base: CounterRead | None = None  # where the counter last moved
    _look_ns: int = 0
    _power: float | None = None  # power field at the last look
    _held: Mean | None = None
    _frozen: bool = False
    _unlearned: list[CounterRead] = field(default_factory=list)
    _usual_s: float = 0.0  # a difference over a longer time is looked at closely
    _ceiling_w: float = 0.0

    def __post_init__(self) -> None:
        self._ceiling_w = MAX_SHARE * self.max_w

    def learn(self, burst: Sequence[CounterRead]) -> Pace | None:
        """The counter's pace from a burst of fast reads; None, and the power field instead, where it shows none."""
        pace = learn_pace(burst)
        if pace is not None:
            self.start(pace)
        return pace

    def look(self, mono_ns: int, energy_mj: int | None, stamp_us: int, power_w: float | None) -> Mean:
        """What one look says. None for a counter or power field that gave nothing valid."""
        if energy_mj is not None:
            watts = self.usual(mono_ns, energy_mj, stamp_us, power_w)
            if watts is not None:
                return Mean(watts, quality.VALID, quality.VALID)
        elapsed_s = (mono_ns - self._look_ns) / 1e9 if self._look_ns else None
        before_w, self._look_ns, self._power = self._power, mono_ns, power_w
        if elapsed_s is not None and elapsed_s > _GAP_LOOKS * self.look_s:
            return self._after_gap(elapsed_s, mono_ns, energy_mj, stamp_us)
        if energy_mj is None:
            self._forget()
            return self._integrate(elapsed_s, before_w, power_w, quality.MISSING)
        read = CounterRead(mono_ns, energy_mj, stamp_us)
        if self.pace is None:
            self._learn_slowly(read)
            return self._integrate(elapsed_s, before_w, power_w, quality.VALID)
        if self._base is None:
            return self._rebase(read)
        if energy_mj == self._base.energy_mj:
            return self._rest(read, elapsed_s, before_w, power_w)
        return self._move(self._base, read, before_w)

    def usual(self, mono_ns: int, energy_mj: int, stamp_us: int, power_w: float | None) -> float | None:
        """The watts of what nearly every look at nearly every board is: a stamped counter that moved as expected.

        None where it is anything else; nothing is remembered then, and `look` is to judge it.
        """
        base = self._base
        if base is None or not self.is_stamped or self._frozen:
            return None
        base_ns, base_mj, base_us = base
        spent_mj, spent_s = energy_mj - base_mj, (stamp_us - base_us) / 1e6
        between_s = (mono_ns - base_ns) / 1e9
        if spent_mj <= 0 or between_s > self._usual_s or not 0 < spent_s <= between_s + self._usual_s:
            return None
        spent_j = spent_mj / 1000.0
        watts = spent_j / spent_s
        if watts > self._ceiling_w:
            return None
        self._look_ns, self._power, self.method = mono_ns, power_w, "counter"
        self.total_j += spent_j
        self._base = _NEW(CounterRead, (mono_ns, energy_mj, stamp_us))
        self._held = _NEW(Mean, (watts, 0, 0))
        return watts

    def _rest(
        self, read: CounterRead, elapsed_s: float | None, before_w: float | None, now_w: float | None
    ) -> Mean:
        assert self._base is not None
        assert self.pace is not None
        if self._steps is not None:
            self._steps.rested(read.mono_ns / 1e9)
        rest_s = (read.mono_ns - self._base.mono_ns) / 1e9
        usual_s = max(self.look_s, self.pace.period_s)
        if rest_s > (_FROZEN_LOOKS + 0.5) * usual_s and now_w is not None and now_w > _NEAR_ZERO_W:
            if not self._frozen and self._steps is not None:
                self._steps.lost(read.mono_ns / 1e9)
            missed_s = elapsed_s if self._frozen else rest_s  # none of it is in the total yet
            self._frozen = True
            return self._integrate(missed_s, before_w, now_w, quality.STUCK)
        if self._held is None or rest_s > (_HELD_LOOKS + 0.5) * usual_s:
            return Mean(0.0, quality.MISSING, quality.VALID)
        return self._held

    def _move(self, base: CounterRead, read: CounterRead, before_w: float | None) -> Mean:
        spent_j = (read.energy_mj - base.energy_mj) / 1000
        if self._frozen or spent_j < 0:
            # what the counter did meanwhile is counted already, or it began anew
            self.resets += spent_j < 0
            self._frozen = False
            return self._rebase(read)
        spent_s = self._spent_s(base, read, spent_j, before_w)
        if spent_s is None:
            return self._rebase(read)
        power_w = spent_j / spent_s
        if power_w > self._ceiling_w:
            self.resets += 1
            return self._rebase(read)._replace(ok=quality.OUT_OF_RANGE, energy_ok=quality.OUT_OF_RANGE)
        self.method = "counter"
        self.total_j += spent_j
        self._base = read
        self._held = Mean(power_w, quality.VALID, quality.VALID)
        return self._held

    def _spent_s(
        self, base: CounterRead, read: CounterRead, spent_j: float, before_w: float | None
    ) -> float | None:
        """The counter's own elapsed time; None where it makes no sense."""
        between_s = (read.mono_ns - base.mono_ns) / 1e9
        pace = self.pace
        assert pace is not None
        if pace.kind == "continuous":
            return between_s
        if pace.kind == "stamped":
            spent_s = (read.stamp_us - base.stamp_us) / 1e6
            return spent_s if 0 < spent_s <= between_s + 2 * pace.period_s + 0.05 else None
        assert self._steps is not None
        look_s = read.mono_ns / 1e9
        fewest, most = self._steps.choices(look_s)
        steps = fewest if fewest == most else self._likeliest(fewest, most, spent_j, read, before_w)
        self._steps.moved(look_s, steps)
        return steps * self._steps.period_s

    def _likeliest(
        self, fewest: int, most: int, spent_j: float, read: CounterRead, before_w: float | None
    ) -> int:
        """Of several counts that the clock allows, the one that fits what the power field did since."""
        assert self._steps is not None
        if self._power is None and self._held is None:
            return fewest
        seen_w = [watts for watts in (before_w, self._power) if watts is not None]
        if self._held is not None:
            seen_w.append(self._held.power_w)
        low_w, high_w = min(seen_w) * (1 - _GAIN_ERROR), max(seen_w) * (1 + _GAIN_ERROR)
        likely, period_s = self._steps.likely(read.mono_ns / 1e9), self._steps.period_s

        def unlikeliness(steps: int) -> tuple[float, float]:
            watts = spent_j / (steps * period_s)
            return max(low_w - watts, watts - high_w, 0.0), abs(steps + 0.5 - likely)

        return min(range(fewest, most + 1), key=unlikeliness)

    def _integrate(
        self, elapsed_s: float | None, before_w: float | None, now_w: float | None, energy_ok: int
    ) -> Mean:
        if now_w is None:
            return Mean(0.0, quality.MISSING, energy_ok)
        mean_w = now_w if before_w is None else (before_w + now_w) / 2
        if elapsed_s is not None:
            self.total_j += mean_w * elapsed_s
        self.method = "integrated"
        return Mean(mean_w, quality.VALID, energy_ok)

    def _after_gap(self, elapsed_s: float, mono_ns: int, energy_mj: int | None, stamp_us: int) -> Mean:
        """Nobody looked for a while: the counter knows the energy, nobody knows the power in between."""
        if energy_mj is None:
            self.gap_s += elapsed_s
            self._forget()
            return Mean(0.0, quality.MISSING, quality.MISSING)
        base, read = self._base, CounterRead(mono_ns, energy_mj, stamp_us)
        spent_j = 0.0 if base is None or self._frozen else (energy_mj - base.energy_mj) / 1000
        between_s = 0.0 if base is None else (mono_ns - base.mono_ns) / 1e9
        if 0 < spent_j <= self._ceiling_w * (between_s + 1):
            self.total_j += spent_j
        else:
            self.gap_s += elapsed_s
            self.resets += spent_j < 0
        self._frozen = False
        if self._steps is not None:
            self._steps.lost(mono_ns / 1e9)
        return self._rebase(read)

    def _rebase(self, read: CounterRead) -> Mean:
        """Begin anew from here: no difference can be told for this look."""
        first, self._base, self._held = self._base is None, read, None
        if self._steps is not None:
            (self._steps.advance if first else self._steps.lost)(read.mono_ns / 1e9)
        return Mean(0.0, quality.MISSING, quality.VALID)

    def _forget(self) -> None:
        self._base, self._held, self._frozen = None, None, False

    def start(self, pace: Pace) -> None:
        """Differences are believed from here on, at this pace."""
        self.pace, self.is_stamped = pace, pace.kind == "stamped"
        self._usual_s = 2.5 * max(self.look_s, pace.period_s)
        self._steps = StepCount(pace) if pace.kind == "paced" else None
        self._unlearned.clear()
        self._forget()

    def _learn_slowly(self, read: CounterRead) -> None:
        """A counter slower than the burst shows its pace to the ordinary looks."""
        self._unlearned.append(read)
        if len(self._unlearned) >= _RELEARN_LOOKS:
            pace = learn_pace(self._unlearned)
            self._unlearned.clear()
            if pace is not None and pace.kind != "continuous":
                self.start(pace)
