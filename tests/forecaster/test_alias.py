"""Waves that are none: fast kernels seen through a short window; and what clears a wave of that suspicion."""

import csv
import gzip

import numpy as np
import pytest
from forecast_region import Region, at, make_region

from easyrider.messages import PhaseMark
from easyrider_forecaster.core import alias, period
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.sight import Sight
from easyrider_twin import recordings, waves

RATING_W = 700.0


def aliased(rng: np.random.Generator) -> np.ndarray:
    """Synthetic: 60 s of the instant field on kernels switched at one or two times the refresh rate, nearly."""
    refresh_s = float(rng.uniform(0.1, 0.104))
    apparent_s = float(np.exp(rng.uniform(np.log(1.2), np.log(8.0))))
    hertz = int(rng.integers(1, 3)) / refresh_s + float(rng.choice([-1.0, 1.0])) / apparent_s
    low_w = float(rng.uniform(60.0, 250.0))
    power_w = waves.square_w(
        rng, hertz=hertz, jitter=float(rng.choice([0.0, 0.01, 0.03])), low_w=low_w,
        high_w=low_w + float(rng.uniform(150.0, 400.0)), seconds=60.0,
    )  # fmt: skip
    seen_w = waves.instants_w(power_w, step_s=waves.FINE_S, refresh_s=refresh_s, first_s=0.04)
    return seen_w + rng.normal(0.0, 1.0, len(seen_w))


def trained(rng: np.random.Generator, seconds: float = 60.0) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic: the instant field and energy means of one training load."""
    period_s = float(np.exp(rng.uniform(np.log(0.4), np.log(20.0))))
    load = waves.Training.drawn(rng, period_s=period_s, jitter=float(rng.uniform(0.0, 0.05)))
    power_w = load.power_w(rng, seconds)
    refresh_s = float(rng.uniform(0.1, 0.104))
    return waves.instants_w(power_w, refresh_s=refresh_s), waves.energy_means_w(power_w)


def stairs(rng: np.random.Generator, levels: int) -> np.ndarray:
    """Synthetic: a true staircase up and down between 250 and 620 W, 4 s a round."""
    up = np.linspace(250.0, 620.0, levels)
    one = np.concatenate((up, up[-2:0:-1]))
    steps = np.arange(12000) // round(4.0 / len(one) / waves.STEP_S)
    return waves.instants_w(one[steps % len(one)] + rng.normal(0.0, 7.0, 12000), refresh_s=0.102)


def recorded(name: str) -> np.ndarray:
    """One recorded instant field, polled at 10 Hz."""
    with gzip.open(recordings.SHIPPED / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    t_s = np.array([float(row["t_s"]) for row in rows])
    watts = np.array([float(row.get("power_inst_w") or row["power_w"]) for row in rows])
    polls_s = np.arange(t_s[0], t_s[-1], 0.1)
    return watts[np.searchsorted(t_s, polls_s, side="right") - 1]


def test_fast_kernels_seen_through_a_short_window_are_suspected() -> None:
    rng = np.random.default_rng(14)
    seen_w = np.stack([aliased(rng) for _ in range(150)])

    assert alias.suspect(seen_w, np.full(150, RATING_W)).all()


def test_no_true_wave_is_suspected_with_its_sub_steps_stalls_and_noise() -> None:
    rng = np.random.default_rng(15)
    seen_w = np.stack([trained(rng)[0] for _ in range(200)])

    assert not alias.suspect(seen_w, np.full(200, RATING_W)).any()


@pytest.mark.parametrize("levels", [2, 3])
def test_a_true_staircase_rests_on_its_levels_and_is_not_suspected(levels: int) -> None:
    seen_w = stairs(np.random.default_rng(16), levels)

    assert not alias.suspect(seen_w[None], np.array([RATING_W])).any()


@pytest.mark.parametrize(
    ("name", "apparent_s"),
    [
        ("square_wave_9p6hz__a100_pcie40__nvml", 3.2),
        ("square_wave_50hz_seen_by_sensor__a100_nvml", 1.99),
    ],
)
def test_the_recorded_aliases_are_suspected(name: str, apparent_s: float) -> None:
    seen_w = recorded(name)[:600]

    assert period.find(seen_w[None])[0] == pytest.approx(apparent_s, rel=0.06)
    assert alias.suspect(seen_w[-600:][None], np.array([250.0])).all()


def test_a_counter_that_integrates_is_told_from_one_that_adds_up_samples() -> None:
    rng = np.random.default_rng(17)
    pairs = [trained(rng) for _ in range(60)]
    instant_w, energy_w = np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
    max_w = np.full(60, RATING_W)

    assert alias.counter_is_true(energy_w, instant_w, max_w).mean() > 0.7
    assert not alias.counter_is_true(instant_w, instant_w, max_w).any()


def judged(
    instant_w: np.ndarray, energy_w: np.ndarray, unlike_w2: float = 0.0, **sight: np.ndarray
) -> Detector:
    """One group that was seen for 60 s; `sight` replaces what its boards can show."""
    history, detector = History(0), Detector(0)
    history.grow(1)
    detector.grow(1)
    plain = Sight.plain(1)
    seen = Sight(
        slowest_s=plain.slowest_s,
        partial=sight.get("partial", plain.partial),
        boards=sight.get("boards", plain.boards),
        announced_s=sight.get("announced_s", plain.announced_s),
    )
    limit_w, none, apart = np.array([RATING_W]), np.zeros((1, 10)), np.full((1, 10), unlike_w2)
    for second in range(60):
        part = slice(10 * second, 10 * second + 10)
        history.append(energy_w[None, part], none, limit_w, instant_w[None, part], apart)
        detector.judge(history, seen, limit_w)
    return detector


def test_a_smooth_wave_stays_suspect_until_marks_or_four_boards_or_a_true_counter_clear_it() -> None:
    wave_w = 400.0 + 120.0 * np.sin(2 * np.pi * np.arange(600) / 32)

    assert judged(wave_w, wave_w).alias[0]
    assert not judged(wave_w, wave_w, announced_s=np.array([3.2])).alias[0]
    assert judged(wave_w, wave_w, announced_s=np.array([5.0])).alias[0]
    assert not judged(wave_w, wave_w, boards=np.array([4])).alias[0]
    assert judged(wave_w, wave_w, boards=np.array([3])).alias[0]
    assert judged(wave_w, wave_w, unlike_w2=5000.0, boards=np.array([8])).alias[0]
    assert not judged(wave_w, wave_w, partial=np.array([False])).alias[0]


def test_a_counter_clears_a_smooth_wave_only_after_it_was_seen_to_integrate() -> None:
    wave_w, flat_w = 400.0 + 120.0 * np.sin(2 * np.pi * np.arange(10) / 10), np.full(10, 400.0)
    max_w, history, detector = np.array([RATING_W]), History(0), Detector(0)
    history.grow(1)
    detector.grow(1)
    for true_counter, energy_w, suspected in (
        (False, wave_w, True),
        (True, wave_w, False),
        (True, flat_w, True),
    ):
        detector.true_counter[0] = true_counter
        for _ in range(80):
            history.append(energy_w[None], np.zeros((1, 10)), max_w, wave_w[None], np.zeros((1, 10)))
            detector.judge(history, Sight.plain(1), max_w)
        assert bool(detector.alias[0]) is suspected


def test_a_suspected_wave_drives_no_plan() -> None:
    region = make_region({"n1": 1})
    region.job("j", "n1")
    seen_w = recorded("square_wave_50hz_seen_by_sensor__a100_nvml")[300:1100] * 2.8  # a board of 700 W

    def watts(node: str, t_s: float) -> list[float]:
        return [float(seen_w[round(10 * t_s) % len(seen_w)])]

    region.run(75, watts, instant=watts)

    said = region.series("j")
    assert said.confidence <= 0.3
    assert said.reasons[0].startswith("alias suspected")
    assert said.period_s is None
    assert at(said.demand, 10).peak_q99_w >= seen_w[150:750].max()


def test_marks_of_that_very_period_clear_a_smooth_wave(region: Region) -> None:
    region.job("j", "n1")

    def smooth(node: str, t_s: float) -> list[float]:
        return [450.0 + 150.0 * float(np.sin(2 * np.pi * t_s / 3.2 + gpu)) for gpu in range(8)]

    for _ in region.play(75, smooth, instant=smooth):
        for at_s in np.arange(0.0, region.t_s, 3.2)[-1:]:
            mark = PhaseMark(
                region="r", node="n1", boot_id="boot-1", job="j", phase="optimizer", begins=True,
                expected_s=None, t_ns=0, mono_ns=round((region.start_s + at_s) * 1e9),
            )  # fmt: skip
            region.engine.intake.take_mark(mark, region.now_s)

    assert not any("alias" in reason for reason in region.series("j").reasons)
    assert region.series("j").period_s == pytest.approx(3.2, rel=0.01)


def test_series_under_suspicion_say_no_edges_and_bound_the_highest_reading() -> None:
    rng = np.random.default_rng(18)
    power_w = waves.square_w(rng, hertz=9.6, jitter=0.0, low_w=250.0, high_w=600.0, seconds=100.0)
    instant_w = waves.instants_w(power_w, step_s=waves.FINE_S, refresh_s=0.1007)
    bank = Bank(np.array([RATING_W]), 60.0)
    for second in range(95):
        part = slice(10 * second, 10 * second + 10)
        bank.observe(instant_w[None, part], instant_w=instant_w[None, part])
        said = bank.tick()

    assert bank.detector.alias[0]
    assert np.isnan(said.period_s).all()
    assert np.isnan(said.next_rise_s).all()
    assert np.isnan(said.next_fall_s).all()
    assert (said.demand.q99_w >= instant_w[350:].max() - 1.0).all()
