"""The named halls: all there, sized by the rule, the same for the same seed."""

from itertools import pairwise

import numpy as np
import pytest

from easyrider_bench.scenarios.names import SCENARIOS, case, keys
from easyrider_bench.scenarios.sizing import natural_peak_w, rating_w

AT_ALL_LEVELS = {
    "trace", "starts", "bigjob", "churn", "neighbour", "prio", "mixed", "small32", "module_lost", "ups_battery",
    "aliasing", "dead_telemetry", "demand",
}  # fmt: skip


def test_every_scenario_stands_at_its_levels() -> None:
    assert {name for name, each in SCENARIOS.items() if each.levels == (10, 20, 30, 40)} == AT_ALL_LEVELS
    assert {name: SCENARIOS[name].levels for name in ("over60", "feed_lost", "mixed_90")} == {
        "over60": (60,),
        "feed_lost": (20,),
        "mixed_90": (30,),
    }


@pytest.mark.parametrize("key", keys(list(SCENARIOS), None, 1, quick=True, traces=""), ids=str)
def test_ratings_follow_from_the_natural_peak_alone(key) -> None:
    hall = case(key)
    rack, *below = hall.site.domains
    peak_w = natural_peak_w(hall.jobs, hall.strangers)

    assert peak_w == pytest.approx((1 + key.oversub_pct / 100) * 0.80 * rack.rating_w)
    assert rack.target_w == pytest.approx(hall.target_share * rack.rating_w)
    for pdu in [domain for domain in below if domain.kind == "pdu"]:
        assert pdu.rating_w == pytest.approx(1.05 * rack.rating_w / 2)
    for domain in hall.site.domains:
        bound = domain.kind in SCENARIOS[key.scenario].hard_is_target
        assert domain.hard_limit_w == (domain.target_w if bound else domain.rating_w)


def test_a_target_share_moves_the_target_and_not_the_hall() -> None:
    usual, more = (case(key) for key in keys(["mixed", "mixed_90"], [30], 1, quick=True, traces=""))

    assert more.site.domains[0].rating_w == usual.site.domains[0].rating_w
    assert more.site.domains[0].target_w == pytest.approx(0.9 / 0.8 * usual.site.domains[0].target_w)


def test_the_same_seed_gives_the_same_hall_and_another_another() -> None:
    one, again, other = (case(key) for key in keys(["churn"], [20], 1, quick=True, traces="") * 2 + keys(
        ["churn"], [20], 2, quick=True, traces="")[1:])  # fmt: skip

    assert [job.begin_s for job in one.jobs] == [job.begin_s for job in again.jobs]
    assert [job.begin_s for job in one.jobs] != [job.begin_s for job in other.jobs]


def test_boards_are_held_by_one_job_at_a_time() -> None:
    for key in keys(["starts", "churn", "mixed", "small32"], [30], 1, quick=False, traces=""):
        spans = sorted((int(board), j.begin_s, j.end_s) for j in case(key).jobs for board in j.boards)

        for (board, _, end_s), (other, begin_s, _) in pairwise(spans):
            assert board != other or end_s <= begin_s


def test_weights_stand_in_thirds_of_the_boards() -> None:
    hall = case(keys(["mixed"], [30], 1, quick=True, traces="")[0])
    boards = {
        kind: sum(len(j.boards) for j in hall.jobs if j.priority_class == kind)
        for kind in ("low", "normal", "high")
    }

    assert boards == {"low": 20, "normal": 20, "high": 24}


def test_strangers_reach_six_per_cent_of_the_peak_that_they_are_part_of() -> None:
    hall = case(keys(["neighbour"], [30], 1, quick=True, traces="")[0])

    most_w = sum(float(each.power_w.max()) for each in hall.strangers)

    assert most_w == pytest.approx(0.06 * natural_peak_w(hall.jobs, ()))
    assert sum(d.unmanaged_max_w for d in hall.site.domains) == pytest.approx(most_w)


def test_the_rating_is_the_peak_over_what_the_level_asks() -> None:
    assert rating_w(52_000.0, 30) == pytest.approx(50_000.0)
    assert np.isclose(rating_w(40_000.0, 0), 50_000.0)
