"""What went wrong for others with readings, at the agent (numbers are our case list's)."""

import pytest

from easyrider import quality
from easyrider_telemetry.core.energy import EnergyMeter
from easyrider_telemetry.core.pace import Pace


def test_b013_a_backward_step_of_the_counter_is_a_reset_and_never_terawatts() -> None:
    meter = EnergyMeter(look_s=10.0, max_w=700.0)
    meter.start(Pace(kind="continuous", period_s=10.0))
    looks, totals_j = [], []
    for second, energy_mj in (
        (0, 4_400_000),
        (10, 5_000_000),
        (20, 5_600_000),
        (30, 5_599_990),
        (40, 6_200_000),
    ):
        looks.append(meter.look((1000 + second) * 10**9, energy_mj, 0, 60.0))
        totals_j.append(meter.total_j)

    assert [look.ok for look in looks[1:]] == [quality.VALID, quality.VALID, quality.MISSING, quality.VALID]
    assert [looks[k].power_w for k in (1, 2, 4)] == pytest.approx([60.0, 60.0, 60.0], rel=0.001)
    assert looks[3].power_w == 0.0  # not valid: nobody may read it
    assert meter.resets == 1
    assert totals_j == sorted(totals_j)
