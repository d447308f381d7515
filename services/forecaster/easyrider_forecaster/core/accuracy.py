"""The ledger: what was forecast is kept until its window has passed, then held against what was measured.

    ledger = Ledger(rows)
    ledger.judge(block, raw, hidden, limit_w)  # each closed second: (rows, 10), (rows, 10), (rows,)
    ledger.note(block, draw, demand, rise_s, line_w)  # then what is said from its end on

Nothing that came after an origin reaches what is kept of it: a verdict reads forecasts, it changes none. Every row has
the same fixed room, about 3 kB, however long it runs. Watts are of one GPU.
"""

from dataclasses import dataclass, replace

import numpy as np

from easyrider_forecaster.core.accuracy_origins import Origins
from easyrider_forecaster.core.accuracy_rises import Rises
from easyrider_forecaster.core.accuracy_scores import TRAIL_STEP_S, Came, Scores, Trail
from easyrider_forecaster.core.accuracy_seen import Seen
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.capped import as_limited_w
from easyrider_forecaster.core.lanes import Lanes
from easyrider_forecaster.core.mix import ORIGINS
from easyrider_forecaster.core.outlook import View


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of one side, and where it comes from what was seen, of this job or of its type, (rows,)."""

    view: View
    known: Array


class Ledger(Lanes):
    """One row a group. `draw` is judged as measured, `demand` where no limit hid a sample of the window."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.seen, self.draw, self.demand = Seen(rows), Scores(rows), Scores(rows)
        self.rises, self.trail = Rises(rows), Trail(rows)
        self.seconds = self.lane("seconds", (), np.uint32, 0)
        self._rival_w = self.lane("_rival_w", (ORIGINS,), np.float32, np.nan)
        self._origins = Origins()
        self.block = -1  # the last that was judged
        self._parts = (self.seen, self.draw, self.demand, self.rises, self.trail)

    def grow(self, rows: int) -> None:
        """At least `rows` rows."""
        for part in self._parts:
            part.grow(rows)
        super().grow(rows)

    def clear(self, row: int) -> None:
        """Forget a group: another one begins here."""
        for part in self._parts:
            part.clear(row)
        super().clear(row)

    def pass_over(self) -> None:
        """Seconds were never closed: what waits cannot be judged, and is forgotten."""
        self._origins = Origins()
        self.rises.pass_over()

    def judge(self, block: int, raw: Array, hidden: Array, limit_w: Array) -> None:
        """One closed block: watts (rows, 10), NaN is a gap, which of them a limit hid, and limits (rows,)."""
        self.block = block
        self.seen.take(block, raw, hidden, limit_w)
        self.rises.judge(block, raw, self.seen.whole(block) & ~self.seen.hidden(block))
        self.seconds += 1
        a_point = self.trail.begin(block)
        for place, window in self.seen.windows(block, self._origins.due(block)):
            origin, horizon_s = place.origin, HORIZONS_S[place.column]
            bound_w = self.demand.forecast_w(place)[3]
            with np.errstate(invalid="ignore"):
                rival_error_w = np.abs(self._rival_w[origin % ORIGINS] - window.mean_w)
                touched = window.moved & (window.hidden | ~(bound_w <= self.seen.limit_w))
            lived = (self.seconds > horizon_s) & np.isfinite(rival_error_w)
            came = Came(window.mean_w, window.peak_w, rival_error_w, lived)
            drawn = replace(came, peak_w=as_limited_w(window.peak_w, self.seen.limit_w))
            self.draw.judge(place, drawn, ~touched)
            self.demand.judge(place, came, ~(window.hidden | self.seen.hidden(origin)))
            if a_point and horizon_s == TRAIL_STEP_S:
                self.trail.take(self.draw.forecast_w(place), window.mean_w, window.peak_w, lived)

    def note(self, block: int, draw: Said, demand: Said, rise_s: Array, line_w: Array) -> None:
        """What is said at the end of `block`; seconds to the next rise and the line that it crosses, (rows,)."""
        places = self._origins.begin(block)
        self.draw.note(places, draw.view, draw.known)
        self.demand.note(places, demand.view, demand.known)
        self.rises.note(block, rise_s, line_w)
        self._rival_w[block % ORIGINS] = self.seen.second_w(block)
