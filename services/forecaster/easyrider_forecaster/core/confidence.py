"""How far a forecast deserves belief, in [0, 1], with every reason that it is not 1."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import Array

UNTRIED = 0.5
_YOUNG_S = 60
_FORETOLD_AT_MOST = 0.7
_UNLIKE = 0.8
_ALIAS_AT_MOST = 0.3
_NAMEPLATE_AT_MOST = 0.3
_SILENT_S = 3
_SETTLES_S = 60.0
_FITS_WELL = 0.8
_MOVED = 0.3
_ONE_ALONE = 0.25
"""A period that the second estimator does not confirm is right in three cases of four, else in 99 of 100."""
_AGREED = 0.5
_COVERAGE_SCORES = 200
_COVERAGE = 0.97


@dataclass(frozen=True, slots=True)
class Evidence:
    """What confidence rests on, one entry a row; shares in [0, 1]."""

    age_s: Array
    present_share: Array  # of the samples due in 60 s, or since the start
    hidden_share: Array
    silent_s: Array  # since the last sample
    error_share: Array  # of the mean over 10 s, of the device maximum; NaN: never scored
    rival_share: Array  # same, of the last value
    missed_share: Array  # of 0.99 bounds 10 s ahead
    bounds_scored: Array
    unsettled: Array
    agreement: Array  # of the two period estimators; NaN: no period was looked for, or none found
    too_fast: Array
    changed_s: Array  # since level or period moved; infinite: never
    by_period: Array  # it was the period
    stuck_share: Array  # of the boards, whose power field repeats itself
    alias: Array
    nameplate: Array
    coarse: Array
    match: (
        Array  # with the fingerprint of its type; NaN: there is none, UNTRIED: nothing to hold against it yet
    )


@dataclass(frozen=True, slots=True)
class Confidence:
    """One value a row, and the words of `reasons(row)`."""

    value: Array
    evidence: Evidence
    silent: Array
    worse: Array
    uncovered: Array

    def reasons(self, row: int) -> tuple[str, ...]:
        """Why this row's value is not 1, heaviest first."""
        e = self.evidence
        said = []
        if self.silent[row]:
            said.append(f"silent for {int(e.silent_s[row])} s: device maximum assumed")
        if e.alias[row]:
            said.append("alias suspected: smooth wave in the instant field, nothing periodic is believed")
        if e.match[row] >= UNTRIED and e.nameplate[row] and not self.silent[row]:
            said.append("peak not seen yet: its fingerprint's is assumed")
        elif e.nameplate[row] and not self.silent[row]:
            said.append("peak not seen yet: device maximum assumed")
        if e.match[row] == 0.0:
            said.append("unlike every fingerprint of its type")
        elif e.match[row] == UNTRIED:
            said.append("fingerprint not tried yet")
        elif e.match[row] < _FITS_WELL:
            said.append(f"fingerprint fits {100 * e.match[row]:.0f} %")
        if e.age_s[row] < _YOUNG_S:
            said.append(f"young: {int(e.age_s[row])} s of data")
        if e.present_share[row] < 0.995:
            said.append(f"samples missing: {100 * (1 - e.present_share[row]):.0f} % of the last minute")
        if e.hidden_share[row] > 0.005:
            said.append(f"hidden by a limit: {100 * e.hidden_share[row]:.0f} % of samples")
        if e.error_share[row] > 0.02:
            said.append(f"error {100 * e.error_share[row]:.0f} % of the device maximum at 10 s")
        if self.worse[row]:
            said.append("worse than the last value")
        if self.uncovered[row]:
            said.append(f"0.99 bound held only {100 * (1 - e.missed_share[row]):.1f} % of the time")
        if e.stuck_share[row] > 0:
            said.append(f"power field stuck on {100 * e.stuck_share[row]:.0f} % of its boards")
        if e.changed_s[row] < _SETTLES_S:
            what = "period changed" if e.by_period[row] else "level moved"
            said.append(f"{what} {int(e.changed_s[row])} s ago")
        if e.unsettled[row] or e.agreement[row] < _AGREED:
            said.append("period detectors disagree")
        if e.too_fast[row]:
            said.append("period under two refreshes is not observable")
        if e.coarse[row]:
            said.append("sampled slower than 10 Hz: peaks are hidden")
        return tuple(said)


def judge(evidence: Evidence) -> Confidence:
    """Product of what each kind of evidence leaves; capped where the forecast is a guess."""
    e = evidence
    silent, worse, uncovered = e.silent_s > _SILENT_S, _worse(e), _uncovered(e)
    known = e.match >= UNTRIED  # false where NaN
    belief = np.where(known, e.match, 0.0)
    value = np.clip(0.4 + 0.6 * np.maximum(e.age_s / _YOUNG_S, belief), 0.0, 1.0) * e.present_share
    value = value * np.where(e.match == 0.0, _UNLIKE, 1.0)
    value = value * (1.0 - 0.5 * e.hidden_share)
    unscored = np.where(known, 0.9, 0.8)
    value = value * np.where(
        np.isfinite(e.error_share), np.clip(1.0 - (e.error_share - 0.02) / 0.25, 0.2, 1.0), unscored
    )
    value = value * np.where(worse, 0.8, 1.0)
    value = value * np.where(uncovered, np.clip(1.0 - 5.0 * (e.missed_share - 0.01), 0.3, 1.0), 1.0)
    value = (
        value
        * np.where(e.unsettled, 0.8, 1.0)
        * np.where(e.too_fast, 0.9, 1.0)
        * np.where(e.coarse, 0.6, 1.0)
    )
    value = value * np.where(np.isfinite(e.agreement), 1.0 - _ONE_ALONE * (1.0 - e.agreement), 1.0)
    value = value * (1.0 - _MOVED * np.clip(1.0 - e.changed_s / _SETTLES_S, 0.0, 1.0))
    value = value * (1.0 - 0.5 * e.stuck_share)
    value = np.where(e.alias, np.minimum(value, _ALIAS_AT_MOST), value)
    tried = (
        e.match > UNTRIED
    )  # till then a type's name alone speaks for its fingerprint, and anybody may say it
    guess = np.where(tried, _FORETOLD_AT_MOST, _NAMEPLATE_AT_MOST)
    value = np.where(e.nameplate, np.minimum(value, guess), value)
    return Confidence(np.where(silent, 0.0, np.clip(value, 0.0, 1.0)), evidence, silent, worse, uncovered)


def _worse(e: Evidence) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(e.error_share > 1.05 * e.rival_share + 0.003)


def _uncovered(e: Evidence) -> Array:
    return np.asarray((e.bounds_scored >= _COVERAGE_SCORES) & (1.0 - e.missed_share < _COVERAGE))
