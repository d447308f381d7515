"""A fingerprint written into a job's row, so that it is forecast as if it had been seen for minutes."""

import numpy as np

from easyrider.fingerprints import Fingerprint
from easyrider_forecaster.core import experts
from easyrider_forecaster.core.arrays import HORIZONS_S, SLOT_S
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.fingerprints_match import Fit
from easyrider_forecaster.core.mix import CONTEXTS, Mix
from easyrider_forecaster.core.outlook import Outlook, Rows
from easyrider_forecaster.core.pulse import BINS, RUNS

_PLATEAU = 0.7
"""The plateau is a running 70 % point."""
_RUNS = 8
_MOST_BEHIND = 4.0
"""In the mix's loss: a rival so far behind weighs a few ten-thousandths, and needs seconds to come back."""
_VISITS = 12.0
_BEGINS_ANEW = frozenset(
    (
        "last",
        "mean_1s",
        "template",
        "events",
        "clean",
        "changed",
        "top_h",
        "top_10s",
        "top_30s",
        "top_60s",
        "arc",
        "arc_events",
    )
)
"""Rivals that hold no idle or start-up samples once their job works: what is planted, what is short, and maxima.
Whatever did well in the steady state by a longer memory has to do so again in this run."""


def plant(known: Fingerprint, fit: Fit, row: int, outlook: Outlook, detector: Detector, ranges: Rows) -> None:
    """Shape, period, phase, plateau, usual runs, pauses and weights, as if learned in this run.

    The detector is held: its two minutes still hold idle and start-up samples, which draw no rhythm.
    """
    pulse, dips, max_w = outlook.pulse, outlook.dips, float(ranges.max_w[row])
    floor_w = float(ranges.floor_w[row])
    if known.period_s is not None and known.shape_w:
        shape_w = np.minimum(np.asarray(known.shape_w), max_w)
        pulse.shape_w[row], pulse.visits[row] = shape_w, _VISITS
        pulse.period[row] = known.period_s / SLOT_S
        pulse.held[row] = 0.0
        detector.periods.period_s[row] = known.period_s
        detector.periods.held[row] = True
        place(fit, row, outlook)
        pulse.plateau_w[row] = max(float(np.quantile(shape_w, _PLATEAU)) + fit.level_w, floor_w)
    else:
        pulse.plateau_w[row] = np.clip(known.mean_w, floor_w, max_w)
    if known.usual_low_s is not None:
        at = np.arange(_RUNS) % RUNS
        pulse.runs[row, at] = max(known.usual_low_s / SLOT_S, 1.0)
        pulse.run_ends[row, at] = pulse.heard[row]
        pulse.run_at[row] = _RUNS % RUNS
        pulse.usual_run[row] = known.usual_low_s / SLOT_S
    usual_w = float(np.clip(known.mean_w if known.calm_w is None else known.calm_w, floor_w, max_w))
    outlook.recent.clean_w[row] = outlook.recent.changed_w[row] = usual_w + fit.level_w
    outlook.recent.clean[row] = False
    pauses = known.pauses
    lengths_s = pauses.lengths_s[-dips.lengths_s.shape[1] :]
    if lengths_s:
        dips.lengths_s[row, -len(lengths_s) :] = lengths_s
    if pauses.long_s is not None and pauses.depth_w is not None:
        dips.long_s[row], dips.depth_w[row] = pauses.long_s, min(pauses.depth_w, max_w)
        if pauses.cadence_s is not None:  # checkpoints come by count of iterations, and the count begins here
            dips.cadence_s[row], dips.anchor_s[row] = pauses.cadence_s, float(pulse.clock[row]) * SLOT_S
    for of, mix, names in (
        ("mean", outlook.means, experts.MEAN_EXPERTS),
        ("peak", outlook.peaks, experts.PEAK_EXPERTS),
    ):
        _weigh(known, of, mix, names, row)


def place(fit: Fit, row: int, outlook: Outlook) -> None:
    """Where in its iteration the row is."""
    outlook.pulse.phase[row] = fit.phase % 1.0
    outlook.pulse.level_w[row] = fit.level_w


def release(row: int, detector: Detector) -> None:
    """From here on the rhythm is what is found."""
    detector.periods.held[row] = False


def uproot(row: int, outlook: Outlook, detector: Detector) -> None:
    """The fingerprint was another's: nothing of it is believed any more, what was seen stays."""
    release(row, detector)
    detector.periods.period_s[row] = np.nan
    pulse, dips = outlook.pulse, outlook.dips
    pulse.period[row], pulse.visits[row] = np.nan, 0.0
    dips.cadence_s[row], dips.anchor_s[row] = np.nan, np.nan
    for mix in (outlook.means, outlook.peaks):
        mix.afresh("loss", row)


def follow_cadence(row: int, outlook: Outlook) -> None:
    """After the first checkpoint of this run its start is what the next ones are counted from."""
    dips = outlook.dips
    starts_s = dips.starts_s[row][np.isfinite(dips.starts_s[row])]
    if len(starts_s) == 1 and np.isfinite(dips.cadence_s[row]):
        dips.anchor_s[row] = starts_s[-1]


def _weigh(known: Fingerprint, of: str, mix: Mix, names: tuple[str, ...], row: int) -> None:
    """Losses by the names of rivals; one that begins anew and that the fingerprint does not name keeps its first."""
    behind = {trust.model: trust.behind for trust in known.trust if trust.of == of}
    for column, name in enumerate(names):
        values = behind.get(name, ())
        if name not in _BEGINS_ANEW:
            mix.loss[row, :CONTEXTS, :, column] = _MOST_BEHIND
        elif len(values) == len(HORIZONS_S):
            mix.loss[row, :CONTEXTS, :, column] = np.minimum(np.asarray(values), _MOST_BEHIND)


assert BINS == 64  # as in `easyrider.fingerprints`, whose shapes are planted here
