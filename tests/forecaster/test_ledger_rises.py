"""Rises that were foretold, missed, cried for nothing, and taken back."""

import numpy as np
import pytest
from ledger_runs import Truth, kept, last_second, record


def square(seconds: int, period_s: int, low_s: int) -> Truth:
    """Low for `low_s` at the end of each period."""
    slots = np.arange(10 * seconds) % (10 * period_s)
    return np.where(slots < 10 * (period_s - low_s), 600.0, 100.0)[None].astype(np.float32)


def test_a_rise_that_was_told_ahead_has_its_lead() -> None:
    truth = square(100, 10, 2)

    one = record(kept(truth, last_second, rise_s=lambda second: float(10 - (second + 1) % 10))).rises

    assert (one.seen, one.foretold, one.false, one.withdrawn) == (9, 9, 0, 0)
    assert one.lead_s == pytest.approx(10, abs=1)


def test_a_rise_nobody_foretold_is_missed() -> None:
    one = record(kept(square(100, 10, 2), last_second)).rises

    assert (one.seen, one.foretold, one.lead_s) == (9, 0, None)


def test_a_rise_that_was_announced_for_a_moment_and_never_came_is_a_false_alarm() -> None:
    flat = np.full((1, 1000), 100.0)

    one = record(kept(flat, last_second, rise_s=lambda second: float(10 - (second + 1) % 10))).rises

    assert (one.seen, one.foretold, one.withdrawn) == (0, 0, 0)
    assert 7 <= one.false <= 9


def test_a_rise_that_is_always_three_seconds_away_is_taken_back_again_and_again() -> None:
    flat = np.full((1, 1000), 100.0)

    slipping = record(kept(flat, last_second, rise_s=lambda second: 3.0)).rises
    fickle = record(kept(flat, last_second, rise_s=lambda s: 20.0 if s % 2 else float("nan"))).rises

    assert slipping.withdrawn > 20
    assert (fickle.false, fickle.withdrawn) == (0, 49)


def test_under_a_limit_no_rise_is_judged() -> None:
    one = record(
        kept(square(100, 10, 2), last_second, hidden=lambda second: True, rise_s=lambda second: 1.0)
    ).rises

    assert (one.seen, one.foretold, one.false) == (0, 0, 0)
