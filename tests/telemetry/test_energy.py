"""Mean power from an energy counter that steps, read by a poll that jitters."""

import itertools
import math
from statistics import mean, pstdev

import pytest
from simulated_counter import SimulatedCounter

from easyrider import quality
from easyrider_telemetry.core.energy import EnergyMeter

LOOK_S = 0.1
REFRESHES_S = (0.1, 0.1001, 0.1035, 0.02, 0.0201, 0.01, 0.25)


def _watch(counter, count=1200, jitter_s=0.001, power_w=lambda t: 500.0, meter=None):
    meter = meter or EnergyMeter(look_s=LOOK_S, max_w=700.0)
    meter.learn(counter.burst(1.0))
    looks = []
    for read in counter.polls(2.0, LOOK_S, count, jitter_s):
        t_s = read.mono_ns / 1e9 - 5000
        looks.append((read, meter.look(read.mono_ns, read.energy_mj, read.stamp_us, power_w(t_s))))
    return meter, looks


def _naive_noise_w(counter, count=1200, jitter_s=0.001):
    reads = list(counter.polls(2.0, LOOK_S, count, jitter_s))
    watts = [
        (b.energy_mj - a.energy_mj) / 1000 / ((b.mono_ns - a.mono_ns) / 1e9)
        for a, b in itertools.pairwise(reads)
    ]
    return pstdev(watts)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stamps", ["none", "refresh", "query"])
@pytest.mark.parametrize("refresh_s", REFRESHES_S)
def test_a_constant_load_shows_less_than_5_w_of_noise_where_naive_differences_show_tens(
    refresh_s, stamps, seed
):
    counter = SimulatedCounter(refresh_s, lambda t: 500.0, stamps, seed)

    _, looks = _watch(counter)

    watts = [m.power_w for _, m in looks if m.ok == quality.VALID]
    assert len(watts) >= 0.98 * len(looks)
    assert pstdev(watts) < 5.0
    assert mean(watts) == pytest.approx(500.0, abs=1.0)


def test_naive_differences_of_a_100_ms_counter_show_more_than_90_w_of_noise():
    assert _naive_noise_w(SimulatedCounter(0.1035, lambda t: 500.0)) > 90


@pytest.mark.parametrize("refresh_s", [0.1, 0.1035, 0.02])
def test_a_swinging_load_keeps_its_true_mean_and_its_peaks(refresh_s):
    def load_w(t_s):
        return 650.0 if math.fmod(t_s, 2.0) < 1.5 else 250.0

    counter = SimulatedCounter(refresh_s, load_w, seed=3)

    meter, looks = _watch(counter, count=2000, power_w=load_w)

    watts = [m.power_w for _, m in looks if m.ok == quality.VALID]
    assert mean(watts) == pytest.approx(550.0, abs=6.0)
    assert max(watts) < 690.0
    assert meter.total_j == pytest.approx(550.0 * 200, rel=0.01)
