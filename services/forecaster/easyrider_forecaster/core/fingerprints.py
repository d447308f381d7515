"""Fingerprints at work: which job has which, whether it fits, what a run adds, and what is to be kept.

Pure; `core/fingerprints_kept.py` says what is to be stored.
"""

import numpy as np

from easyrider.job_types import JobType
from easyrider_forecaster.core import fingerprints_match, fingerprints_seed, fingerprints_start
from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.fingerprints_kept import Memory, Track
from easyrider_forecaster.core.fingerprints_learned import learned
from easyrider_forecaster.core.fingerprints_match import FITS, Fit
from easyrider_forecaster.core.fingerprints_run import LOADED_S, Runs
from easyrider_forecaster.core.fingerprints_start import Start
from easyrider_forecaster.core.outlook import Outlook, Rows
from easyrider_forecaster.core.priors import Prior

HELD_S = 85
"""The detector is held so long after load: then its two minutes hold mostly work."""
SEARCH_S = 30
_WINDOW_SLOTS = 100
_UNLIKE_S = 8
"""Seconds in a row in which a fingerprint that was believed does not fit before it is dropped."""
_KEEP_FIRST_S, _KEEP_EVERY_S = 300, 900
_LOOK_EVERY_S, _MOST_A_SECOND = 30, 6
_OVER = 1.05


class Shelf:
    """All runs of a region, and the fingerprints of their types as far as they are known."""

    def __init__(self) -> None:
        self.runs = Runs(0)
        self.tracks: dict[str, Track] = {}
        self.memory = Memory()
        self._young: dict[str, Track] = {}
        self._queue: list[str] = []
        self._due: list[Track] = []
        self._a_second = 1
        self._rows: Array = np.empty(0, np.int64)

    def track(self, job: str, row: int, of: JobType, *, fresh: bool) -> None:
        """This job runs in this row and is of this type; `fresh`: it was heard of as it began."""
        before = self.tracks.get(job)
        if before is not None and before.row == row and before.of.id == of.id:
            return
        self.tracks[job] = self._young[job] = Track(job, row, of, fresh)
        if before is not None:
            before.over = True  # it says more of itself by now: what was seen under half a type is no lesson
            self.memory.leave(self.tracks.values())
        self._rows = np.empty(0, np.int64)

    def end(self, job: str, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
        """The job is over: what its run taught waits to be kept. Call before its row is cleared."""
        track = self.tracks.pop(job, None)
        if track is None:
            return
        self._young.pop(job, None)
        self._rows = np.empty(0, np.int64)
        fingerprints_seed.release(track.row, detector)
        track.over = True
        self._show(track, outlook, ranges)
        self.memory.leave(self.tracks.values())

    def drop(self, job: str) -> None:
        """The job is over before it showed anything."""
        track = self.tracks.pop(job, None)
        if track is not None:
            track.over = True
            self.memory.leave(self.tracks.values())
        self._young.pop(job, None)
        self._rows = np.empty(0, np.int64)

    def see(self, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
        """One closed block: count it, and hold what is believed against what is seen."""
        if not self.tracks:
            return
        if len(self._rows) == 0:
            self._rows = np.fromiter(
                (track.row for track in self.tracks.values()), np.int64, len(self.tracks)
            )
        self.runs.see(outlook, detector, ranges, self._rows)
        for job, track in list(self._young.items()):
            self._begin(track, outlook, detector, ranges)
            if track.work_s > HELD_S:
                del self._young[job]
        self._due = self._turn()

    def think(self, outlook: Outlook, detector: Detector, ranges: Rows) -> bool:
        """Draw the shape of one run whose turn it is in this second, some ms; False where none waits."""
        if not self._due:
            return False
        track = self._due.pop()
        if not track.over:
            self._go_on(track, outlook, detector, ranges)
        return True

    def wanted(self) -> list[JobType]:
        """Types whose fingerprints were not read yet."""
        return self.memory.wanted(self.tracks.values())

    def prior(self, job: str, max_w: float) -> Prior:
        """The peak that is remembered, until the job shows that it is another; else the device maximum."""
        track = self.tracks.get(job)
        if track is None or track.state == "unlike":
            return Prior(max_w, "nameplate")
        known = [track.known] if track.known is not None else self.memory.of(track.of)
        peaks_w = [max(one.peak_w, one.p99_w, one.mean_w) for one in known if one.peak_w is not None]
        if not known or len(peaks_w) < len(known):
            return Prior(max_w, "nameplate")
        return Prior(min(max(peaks_w), max_w), "fingerprint")

    def start(self, job: str, age_s: float) -> Start | None:
        """The start of earlier runs, until this one draws what work draws; the soonest, where they differ."""
        track = self.tracks.get(job)
        if track is None or not track.fresh or track.state != "waiting" or track.work_s:
            return None
        found = [fingerprints_start.ahead(one, age_s) for one in self.memory.of(track.of)]
        return min((one for one in found if one is not None), key=lambda one: one.rise_s, default=None)

    def match(self, rows: int) -> Array:
        """How far what is seen fits what is remembered, (rows,): NaN nothing is, 0.5 not seen yet, 0 unlike."""
        found = np.full(rows, np.nan)
        for track in self.tracks.values():
            if track.state == "unlike":
                found[track.row] = 0.0
            elif track.known is not None:
                found[track.row] = track.score
            elif self.memory.of(track.of):
                found[track.row] = FITS
        return found

    def _begin(self, track: Track, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
        """A second of a job's first minutes."""
        works = bool(self.runs.loaded_s[track.row] > 0)
        track.work_s += works
        if track.work_s > HELD_S:
            fingerprints_seed.release(track.row, detector)
        elif track.state == "waiting" and works:
            self._try(track, outlook, detector, ranges)
        elif track.state == "believed":
            self._doubt(track, outlook, detector)

    def _turn(self) -> list[Track]:
        """The runs that are looked at in this second: each after half a minute, or later where there are many."""
        if not self._queue:
            self._queue = list(self.tracks)
            self._a_second = min(-(-len(self._queue) // _LOOK_EVERY_S), _MOST_A_SECOND)
        names = [self._queue.pop() for _ in range(min(self._a_second, len(self._queue)))]
        return [self.tracks[name] for name in names if name in self.tracks]

    def _go_on(self, track: Track, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
        """Now and then: what is worth keeping although the job goes on, so that a crash does not lose it."""
        if not detector.periods.held[track.row]:
            self.runs.draw_shape(track.row, outlook, detector, float(ranges.max_w[track.row]))
        if track.state == "believed":
            fingerprints_seed.follow_cadence(track.row, outlook)
        since_s = int(self.runs.seconds[track.row]) - track.kept_at_s
        if since_s >= (_KEEP_EVERY_S if track.kept_at_s else _KEEP_FIRST_S):
            track.kept_at_s += since_s
            self._show(track, outlook, ranges)

    def _try(self, track: Track, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
        known = self.memory.of(track.of)
        if not known:
            return
        values_w = _newest(outlook, track, track.work_s - 1)  # the first second is half start-up
        tried = [(one, fit) for one in known if (fit := fingerprints_match.early(one, values_w)) is not None]
        if not tried:
            return
        best, fit = max(tried, key=lambda pair: pair[1].score)
        longest_s = min(best.period_s or 0.0, SEARCH_S) + LOADED_S
        if fit.score >= FITS and not fit.placed and track.work_s < longest_s:
            return  # a forecast by its shape would be out of step: the last value knows better
        if fit.score >= FITS:
            fingerprints_seed.plant(best, fit, track.row, outlook, detector, ranges)
            track.state, track.known, track.score = "believed", best, fit.score
            self._mend_past(track, outlook)
        elif track.work_s >= LOADED_S + _UNLIKE_S:
            track.state = "unlike"

    def _mend_past(self, track: Track, outlook: Outlook) -> None:
        """Start-up is no part of the work: a dip that it looked like is none."""
        outlook.pulse.in_dip[track.row] = False
        outlook.pulse.dip_age[track.row] = 0

    def _doubt(self, track: Track, outlook: Outlook, detector: Detector) -> None:
        known, row = track.known, track.row
        assert known is not None
        top_w, peak_w = float(self.runs.top_w[row]), known.peak_w
        if outlook.pulse.in_dip[row] or outlook.pulse.quiet[row] < BLOCK_SLOTS:
            return
        calm_s = min(track.work_s - 1, int(outlook.pulse.quiet[row]) // BLOCK_SLOTS)
        fit = fingerprints_match.early(known, _newest(outlook, track, calm_s))
        if fit is None:
            return
        track.score += 0.3 * (fit.score - track.score)
        too_high = peak_w is not None and top_w > _OVER * peak_w + 0.02 * known.max_w
        track.unlike_s = track.unlike_s + 1 if fit.score < FITS or too_high else 0
        if track.unlike_s >= _UNLIKE_S:
            fingerprints_seed.uproot(row, outlook, detector)
            track.state, track.known, track.score = "unlike", None, 0.0
        elif track.work_s <= SEARCH_S and fit.score >= FITS and _elsewhere(fit, outlook, row):
            fingerprints_seed.place(fit, row, outlook)

    def _show(self, track: Track, outlook: Outlook, ranges: Rows) -> None:
        shown = learned(track.of, track.row, self.runs, outlook, ranges, fresh=track.fresh)
        if shown is None:
            return
        track.shown = shown
        self.memory.add(track)


def _newest(outlook: Outlook, track: Track, seconds: int) -> Array:
    """The last samples of the work, 10 s at most (an iteration's length, where it is longer and believed)."""
    period = track.known.period_s if track.known is not None and track.known.period_s else 0.0
    slots = min(max(_WINDOW_SLOTS, int(BLOCK_SLOTS * min(period, 40.0))), BLOCK_SLOTS * max(seconds, 0))
    history = outlook.history
    return np.asarray(history.last(history.demand.value, np.array([track.row]), slots)[0])


def _elsewhere(fit: Fit, outlook: Outlook, row: int) -> bool:
    """The phase lies farther off than what the search around it would find."""
    off = abs(float(outlook.pulse.phase[row]) - fit.phase) % 1.0
    return min(off, 1.0 - off) > 0.1
