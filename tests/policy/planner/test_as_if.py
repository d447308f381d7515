"""Limits that nobody wrote are held against what was drawn: needed or false, peaks kept or missed, how long before."""

import numpy as np
import pytest
from small_world import SLOPE, UPS, site

from easyrider_policy.core.as_if import AsIf, Moment
from easyrider_policy.core.layout import Job, layout

FLEET = site()
PLACED = layout(FLEET, [Job(id="a", gpus=tuple(range(8))), Job(id="b", gpus=tuple(range(16, 24)))])
TARGET_W = np.array([20_000.0, 10_000.0, 10_000.0])  # ups, pdu-a, pdu-b
CALM_W = 0.5 * TARGET_W


class Watched:
    """One second after the other; sums of all that was found, as if `b` had another scope than `a`."""

    def __init__(self, group=(0, 1)):
        self.as_if, self.now_s, self.group = AsIf(3, np.full(3, 10.0)), 100.0, np.array(group)
        self.capped_s, self.false_s, self.peaks, self.missed = {}, {}, [], []

    def seconds(
        self, count, limit_w=(700.0, 700.0), draw_w=(600.0, 600.0), mean_w=CALM_W, idle_over_w=(0.0,) * 32
    ):
        for _ in range(count):
            self.now_s += 1.0
            found = self.as_if.add(
                Moment(
                    now_s=self.now_s, elapsed_s=1.0, layout=PLACED, draw_w=np.array(draw_w),
                    demand_w=np.full(2, 600.0), limit_w=np.array(limit_w), mean_w=np.asarray(mean_w),
                    peak_w=np.asarray(mean_w), target_w=TARGET_W, hard_w=1.25 * TARGET_W, group=self.group,
                    idle_over_w=np.array(idle_over_w),
                )
            )  # fmt: skip
            for sums, more in ((self.capped_s, found.capped_s), (self.false_s, found.false_s)):
                for group, seconds in more.items():
                    sums[group] = sums.get(group, 0.0) + seconds
            self.peaks += found.peaks
            self.missed += found.missed
        return self


def loaded(share, *rows):
    mean_w = CALM_W.copy()
    mean_w[list(rows)] = share * TARGET_W[list(rows)]
    return mean_w


def test_a_limit_above_the_draw_slows_nobody():
    watched = Watched().seconds(60, limit_w=(600.0, 650.0))

    assert (watched.capped_s, watched.false_s) == ({}, {})


def test_a_cap_below_a_domain_near_its_target_was_needed_and_elsewhere_it_was_false():
    watched = Watched().seconds(20, limit_w=(500.0, 500.0), mean_w=loaded(0.97, 1)).seconds(100)

    assert watched.capped_s == {0: 20.0, 1: 20.0}
    assert watched.false_s == {1: 20.0}


def test_a_cap_ahead_of_the_load_was_needed_and_one_half_a_minute_too_early_was_not():
    early = Watched().seconds(1, limit_w=(500.0, 700.0)).seconds(40)
    ahead = Watched().seconds(1, limit_w=(500.0, 700.0)).seconds(20)

    for watched in (early, ahead):
        watched.seconds(40, mean_w=loaded(1.0, UPS))

    assert early.false_s == {0: 1.0}
    assert (ahead.capped_s, ahead.false_s) == ({0: 1.0}, {})


def test_a_job_whose_limit_is_written_is_no_part_of_it():
    watched = Watched(group=(-1, 1)).seconds(20, limit_w=(500.0, 500.0)).seconds(40)

    assert watched.capped_s == {1: 20.0}


def test_a_peak_that_the_limits_would_have_kept_is_no_missed_one_and_its_lead_is_told():
    over_w = loaded(1.1, 1)  # 1,000 W above: 8 boards at 450 W instead of 600 W would draw 1,476 W less
    watched = Watched().seconds(8, limit_w=(450.0, 700.0))
    watched.seconds(5, limit_w=(450.0, 700.0), mean_w=loaded(1.0, 1))

    watched.seconds(5, limit_w=(450.0, 700.0), mean_w=over_w).seconds(11)

    (peak,) = watched.peaks
    assert (peak.domain, peak.groups, watched.missed) == (1, frozenset({0}), [])
    assert peak.lead_s == pytest.approx(13.0)


def test_a_peak_that_no_limit_foresaw_is_missed_and_has_no_lead():
    watched = Watched().seconds(20).seconds(5, mean_w=loaded(1.1, UPS)).seconds(11)

    (peak,) = watched.peaks
    assert (peak.groups, peak.lead_s) == (frozenset({0, 1}), None)
    assert watched.missed == [peak]


def test_a_cap_that_takes_too_little_misses_the_peak():
    watched = Watched().seconds(20, limit_w=(580.0, 700.0))
    watched.seconds(5, limit_w=(580.0, 700.0), mean_w=loaded(1.1, 1)).seconds(11)

    assert 0.1 * TARGET_W[1] > 8 * 20.0 * SLOPE
    assert watched.missed == watched.peaks != []


def test_boards_in_no_job_count_as_held_at_their_minimum():
    idle_w = [0.0] * 8 + [200.0] * 24  # 8 of them below pdu-a: 1,968 W at the wall
    watched = Watched().seconds(20, idle_over_w=idle_w)

    watched.seconds(5, mean_w=loaded(1.1, 1), idle_over_w=idle_w)

    assert (len(watched.peaks), watched.missed) == (1, [])


def test_no_peak_is_judged_by_seconds_before_anything_was_planned():
    watched = Watched().seconds(9, mean_w=loaded(1.1, 1))

    assert watched.peaks == []


def test_an_excess_that_flickers_is_one_peak():
    watched = Watched().seconds(15)
    for _ in range(4):
        watched.seconds(2, mean_w=loaded(1.1, 1)).seconds(5)
    watched.seconds(11)

    assert len(watched.peaks) == len(watched.missed) == 1


def test_an_excess_that_never_ends_counts_from_the_moment_it_begins():
    watched = Watched().seconds(20).seconds(300, mean_w=loaded(1.1, 1))

    assert len(watched.peaks) == len(watched.missed) == 1


def test_an_excess_that_is_kept_at_first_and_not_later_is_missed_once():
    watched = Watched().seconds(20, limit_w=(450.0, 700.0))
    watched.seconds(5, limit_w=(450.0, 700.0), mean_w=loaded(1.1, 1))
    assert watched.missed == []

    watched.seconds(30, mean_w=loaded(1.1, 1))

    assert watched.missed == watched.peaks
