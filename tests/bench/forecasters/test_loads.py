"""Synthetic series by seed, and recordings as a poller would have seen them."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from easyrider_forecast_bench.loads import families, recorded, training
from easyrider_forecast_bench.loads.blocks import STEP_S, Blocks, sampled
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.series import SLOTS
from easyrider_twin.recorded_rows import BadRecording


def made(family: str, number: int = 0, seconds: int = 600) -> Key:
    return Key(family=family, number=number, seconds=seconds, origins=5, name=f"{family}-{number:02}")


def test_a_key_makes_the_same_series_always_and_another_number_another_one() -> None:
    one, again, other = (families.series(made("stalls", n)) for n in (3, 3, 4))

    assert np.array_equal(one.power_w, again.power_w)
    assert not np.array_equal(one.power_w, other.power_w)


@pytest.mark.parametrize("family", families.SYNTHETIC)
def test_every_family_stays_within_its_rating_and_lasts_as_long_as_asked(family: str) -> None:
    one = families.series(made(family, seconds=120))

    assert one.seconds == 120
    assert len(one.instant_w) == len(one.power_w) == 120 * SLOTS
    assert one.power_w.min() >= 0
    assert one.power_w.max() <= one.rating_w
    assert np.isfinite(one.power_w).all()


def test_the_full_bench_has_its_forty_checkpoint_series_and_ten_of_them_and_all_domains_are_long() -> None:
    keys = families.keys(quick=False)
    count = {name: sum(key.family == name for key in keys) for name in families.SYNTHETIC}
    long = [key for key in keys if key.seconds == 125 * 60]

    assert count == families.FULL
    assert count["checkpoints"] == 40
    assert min(count.values()) == 12
    assert sum(key.family == "checkpoints" for key in long) == 10
    assert sum(key.family == "domain" for key in long) == 12
    assert all(key.seconds >= 40 * 60 and key.origins == 100 for key in keys)
    assert {key.family for key in families.keys(quick=True)} == set(families.SYNTHETIC)


def test_checkpoints_come_by_count_of_iterations_and_pause_the_work() -> None:
    rng = np.random.default_rng(5)
    job = training.job(rng, checkpoints=True, stalls=False)
    blocks = training.blocks(job, 1800, rng, 700.0)
    paused = blocks.level_w == training.PAUSED * 700.0
    lasting_s = blocks.length_s[paused]
    begins = np.flatnonzero(paused)
    work_s = np.diff([blocks.length_s[: at + 1][~paused[: at + 1]].sum() for at in begins])

    assert len(lasting_s) >= 2
    assert lasting_s == pytest.approx(np.full(len(lasting_s), job.checkpoint_s), rel=0.06)
    assert work_s == pytest.approx(np.full(len(work_s), job.checkpoint_every * job.period_s), rel=0.05)


def test_a_pause_moves_what_follows_and_takes_nothing_away() -> None:
    work = Blocks(np.array([1.0, 2.0]), np.array([600.0, 300.0]))

    paused = work.with_pauses(np.array([0.4]), np.array([0.5]), np.array([150.0]))

    assert paused.length_s == pytest.approx([0.4, 0.5, 0.6, 2.0])
    assert paused.level_w.tolist() == [600.0, 150.0, 600.0, 300.0]


def test_samples_are_exact_means_and_the_instant_field_sees_the_last_quarter() -> None:
    power_w = np.zeros(20, np.float32)
    power_w[-5:] = 400.0

    mean_w, instant_w = sampled(power_w)

    assert (mean_w.tolist(), instant_w.tolist()) == ([100.0], [400.0])
    assert pytest.approx(0.1) == STEP_S * 20


def test_a_capped_series_never_draws_more_than_its_limit_and_says_what_it_would_have_drawn() -> None:
    one = families.series(made("capped", seconds=300))
    limit_w = np.repeat(one.limit_w, SLOTS)

    assert (one.power_w <= limit_w + 1e-3).all()
    assert (one.natural_w[limit_w < 700] > limit_w[limit_w < 700]).mean() > 0.3
    assert 0 < one.released_s < 300


def test_a_domain_is_the_sum_of_its_jobs() -> None:
    one = families.series(made("domain", seconds=60))

    assert one.parts_w.shape == (20, 600)
    assert one.power_w == pytest.approx(one.parts_w.sum(axis=0), rel=1e-5)
    assert one.rating_w == 20 * 700


def test_there_is_one_origin_in_each_of_equal_stretches() -> None:
    origins_s = families.origins_s(100, 300, 2370, 5)

    assert len(origins_s) == 100
    assert (np.diff(origins_s) >= 1).all()
    assert origins_s[0] >= 300
    assert origins_s[-1] <= 2370


def write(folder: Path, name: str, rows: str) -> None:
    with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
        file.write("t_s,gpu,power_w\n" + rows)


def test_a_sample_holds_until_the_next_one_is_there_for_a_line_between_them_would_tell_of_it(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "two__2x700w",
        "".join(f"{t},{g},{100 + 100 * (t >= 1)}\n" for t in (0, 1, 2) for g in (0, 1)),
    )
    (key,) = recorded.keys(tmp_path, quick=False)

    one = recorded.series(key)

    assert one.power_w.tolist() == [200.0] * 10 + [400.0] * 10
    assert (one.gpus, one.rating_w) == (2, 1400.0)


def test_every_shipped_recording_of_power_is_there_and_the_dead_sensor_too() -> None:
    keys = recorded.keys(None, quick=False)

    assert len(keys) == 10
    assert any(key.name.startswith("stuck_") for key in keys)
    for key in keys:
        origins_s = recorded.origins(key)
        assert 0 < len(origins_s) <= 100
        assert origins_s.max() < key.seconds


def test_a_file_that_is_no_recording_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip")

    with pytest.raises(BadRecording, match=r"broken\.csv\.gz"):
        recorded.keys(tmp_path, quick=False)
