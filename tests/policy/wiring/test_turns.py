"""Who waits for whom inside the coordinator's process."""

import sys

from easyrider_policy.turns import take_short_turns


def test_a_line_for_the_disk_waits_no_longer_than_a_millisecond_for_a_loop_that_computes() -> None:
    before_s = sys.getswitchinterval()
    try:
        take_short_turns()

        assert sys.getswitchinterval() <= 0.001 + 1e-9
    finally:
        sys.setswitchinterval(before_s)
