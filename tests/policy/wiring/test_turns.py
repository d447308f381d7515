"""Who waits for whom inside the coordinator's process."""

import pytest

from easyrider_policy.turns import rest_after_s


@pytest.mark.parametrize("disk_s", [0.0, 0.01, 0.03, 0.2])
def test_a_look_takes_half_of_the_time_at_most_and_no_rest_is_longer_than_that_needs(disk_s: float) -> None:
    look_s = 0.03

    others_s = disk_s + rest_after_s(look_s, disk_s)

    assert look_s <= others_s + 1e-12
    assert others_s == pytest.approx(max(look_s, disk_s)), "the disk's time is not given twice"
