"""Who waits for whom inside the coordinator's process."""

import pytest

from easyrider_policy.turns import GATHERS, GATHERS_S, rest_after_glance_s, rest_after_s


@pytest.mark.parametrize("disk_s", [0.0, 0.01, 0.03, 0.2])
def test_a_look_takes_half_of_the_time_at_most_and_no_rest_is_longer_than_that_needs(disk_s: float) -> None:
    look_s = 0.03

    others_s = disk_s + rest_after_s(look_s, disk_s)

    assert look_s <= others_s + 1e-12
    assert others_s == pytest.approx(max(look_s, disk_s)), "the disk's time is not given twice"


@pytest.mark.parametrize("took_s", [0.001, 0.005, 0.03, 0.2])
def test_an_answer_to_who_woke_is_followed_by_a_rest_in_which_others_wake_and_no_beat_is_missed(
    took_s: float,
) -> None:
    rest_s = rest_after_glance_s(took_s + 0.01, 0.01)

    assert rest_s >= took_s - 1e-12, "others have half of the time at least"
    assert rest_s <= max(took_s, GATHERS_S) + 1e-12
    assert rest_s == pytest.approx(GATHERS * took_s) or GATHERS * took_s > GATHERS_S
