"""A load that never changes moves no limit, whatever its sensors round and however they flicker."""

import numpy as np
import pytest
from small_world import UPS
from steady_world import moves, steady


@pytest.mark.parametrize(("oversubscribed", "overshoot"), [(0.1, 1.03), (0.3, 1.0)])
def test_sensors_that_flicker_and_round_move_no_limit(oversubscribed, overshoot):
    world = steady(oversubscribed, overshoot=overshoot)

    assert moves(world, 300) == 0
    assert world.wall_w[UPS] <= world.fleet.aim_w[UPS] * 1.01
    assert np.any(world.limit_w < 500.0)


def test_a_load_that_does_change_is_answered_by_moves():
    world = steady(0.1)
    world.run(300)
    world.moves = 0

    world.loads[0].peak_w = 300.0
    world.run(60)

    assert world.moves > 0
