"""What a run teaches is remembered, matched, adapted, split and forgotten."""

from typing import Any

import msgspec
import numpy as np
import pytest
from fingerprint_runs import IDLE_W, MAX_W, TYPE, Runs, work
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from easyrider import fingerprints
from easyrider.fingerprints import BINS, VARIANTS, Fingerprint
from easyrider_forecaster.core import fingerprints_match, fingerprints_shape
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.core.fingerprints_learned import adapted
from easyrider_forecaster.core.fingerprints_match import FITS
from easyrider_forecaster.core.outlook import Rows


@pytest.fixture(scope="module")
def first() -> Fingerprint:
    (one,) = Runs().run(work(150)).store.values()
    return one


def test_the_first_run_of_a_type_is_learned_with_level_peak_period_shape_and_start_up(first: Fingerprint):
    assert first.runs == 1
    assert first.revision == 1
    assert first.mean_w == pytest.approx(530, abs=15)
    assert first.peak_w == pytest.approx(600, abs=15)
    assert first.p99_w == pytest.approx(600, abs=20)
    assert first.period_s == pytest.approx(3.0, rel=0.02)
    assert max(first.shape_w) == pytest.approx(600, abs=15)
    assert min(first.shape_w) == pytest.approx(250, abs=15)
    assert first.startup.settles_s == pytest.approx(10, abs=2)
    assert first.startup.mean_w[0] == pytest.approx(90, abs=10)


def test_a_run_of_less_than_a_minute_teaches_nothing():
    assert not Runs().run(work(40)).store


def test_a_second_run_has_its_peak_before_it_draws_and_its_period_within_seconds_of_load(first: Fingerprint):
    runs = Runs()
    runs.store[first.id] = first

    runs.run(work(40, period_s=3.03, high_w=606.0))

    assert runs.priors[0].basis == "fingerprint"
    assert runs.priors[0].peak_w == pytest.approx(600, abs=15)
    assert runs.matches[0] == FITS
    assert np.isnan(runs.periods_s[9])
    assert runs.periods_s[16] == pytest.approx(3.0, rel=0.03)
    assert runs.matches[-1] > 0.7


def test_a_later_run_that_is_alike_moves_the_fingerprint_and_makes_no_second_one(first: Fingerprint):
    runs = Runs()
    runs.store[first.id] = first

    runs.run(work(90, high_w=630.0))

    (one,) = runs.store.values()
    assert (one.id, one.runs, one.revision) == (first.id, 2, 2)
    assert first.mean_w < one.mean_w < first.mean_w + 24
    assert one.learned_unix_s == first.learned_unix_s
    assert one.updated_unix_s > one.learned_unix_s


def test_a_run_that_is_unlike_is_said_so_forecast_by_itself_and_kept_as_another_variant(first: Fingerprint):
    runs = Runs()
    runs.store[first.id] = first

    runs.run(work(80, period_s=5.0, high_w=350.0, low_w=280.0))

    assert runs.matches[40] == 0.0
    assert runs.priors[40].basis == "nameplate"
    assert {one.variant for one in runs.store.values()} == {0, 1}
    assert runs.store[f"{TYPE.id}-0"].mean_w == first.mean_w
    assert runs.store[f"{TYPE.id}-1"].mean_w == pytest.approx(336, abs=10)


def test_with_two_variants_the_one_that_fits_is_believed(first: Fingerprint):
    runs = Runs()
    runs.store[first.id] = first
    runs.run(work(90, period_s=5.0, high_w=350.0, low_w=280.0))

    runs.run(work(30, period_s=5.0, high_w=350.0, low_w=280.0))

    assert runs.matches[-1] > FITS
    assert runs.periods_s[25] == pytest.approx(5.0, rel=0.03)


def test_a_variant_that_five_runs_in_a_row_were_not_like_is_forgotten(first: Fingerprint):
    runs = Runs()
    runs.store[first.id] = first
    other = work(100, period_s=5.0, high_w=350.0, low_w=280.0)

    runs.run(other)
    assert runs.store[first.id].missed == 1
    runs.store[first.id] = msgspec.structs.replace(first, missed=4)
    runs.run(other)

    assert runs.forgotten == [first.id]
    assert [one.variant for one in runs.store.values()] == [1]


def test_runs_far_shorter_than_those_of_a_variant_say_nothing_against_it_however_many(first: Fingerprint):
    runs = Runs()
    long_ago = msgspec.structs.replace(first, seconds=20 * 3600.0, runs=20)
    runs.store[first.id] = long_ago

    for _ in range(2):
        runs.run(work(75, period_s=5.0, high_w=350.0, low_w=280.0))

    assert runs.store[first.id] == long_ago
    assert runs.store[f"{TYPE.id}-1"].runs == 2


def test_a_run_far_shorter_than_those_before_it_hardly_moves_what_they_taught(first: Fingerprint):
    usual = msgspec.structs.replace(first, seconds=20 * 3600.0, runs=20)
    short = msgspec.structs.replace(first, seconds=60.0, mean_w=first.mean_w + 40.0, p99_w=first.p99_w + 40.0)

    assert adapted(usual, short).mean_w == pytest.approx(usual.mean_w, abs=1.0)
    assert adapted(first, msgspec.structs.replace(short, seconds=first.seconds)).mean_w > first.mean_w + 10.0


def test_what_two_runs_taught_together_is_in_an_order_that_can_be(first: Fingerprint):
    free = msgspec.structs.replace(first, mean_w=300.0, calm_w=300.0, p99_w=310.0, peak_w=310.0, runs=1)
    hidden = msgspec.structs.replace(first, hidden=0.9, mean_w=560.0, p99_w=570.0, peak_w=None)

    for one in (adapted(free, hidden), adapted(hidden, free)):
        assert fingerprints.decode(one.id, fingerprints.encode(one)) == one
        assert one.peak_w >= one.mean_w


def test_of_types_that_no_job_has_any_more_nothing_is_held_however_jobs_leave(first: Fingerprint):
    shelf = Shelf()
    for number in range(20):
        of = msgspec.structs.replace(TYPE, name=f"type-{number}")
        shelf.track("a", 0, of, fresh=True)  # the same job says more of itself each time
        shelf.memory.take(of, (), [(f"{of.id}-2", 7)])
        shelf.track(f"b{number}", 1, msgspec.structs.replace(of, image="x"), fresh=True)
        shelf.memory.take(shelf.tracks[f"b{number}"].of, ())
        shelf.drop(f"b{number}")

    assert list(shelf.memory._known) == [of.id]
    assert list(shelf.memory._held) == [f"{of.id}-2"]


def test_a_type_that_was_let_go_is_read_whole_again_though_one_of_its_variants_is_kept_late(
    first: Fingerprint,
):
    shelf = Shelf()
    shelf.memory.take(TYPE, [first])

    shelf.memory.leave(())
    shelf.memory.kept(msgspec.structs.replace(first, missed=1, revision=2))
    shelf.track("a", 0, TYPE, fresh=True)

    assert shelf.wanted() == [TYPE]


def test_a_fourth_behaviour_takes_the_place_of_the_one_that_runs_were_least_like(first: Fingerprint):
    runs = Runs()
    for variant in range(VARIANTS):
        one = msgspec.structs.replace(first, variant=variant, missed=variant, revision=4)
        runs.store[one.id] = one

    runs.run(work(75, high_w=350.0, low_w=280.0))

    assert runs.store[f"{TYPE.id}-2"].mean_w == pytest.approx(336, abs=10)
    assert runs.store[f"{TYPE.id}-2"].revision == 5
    assert runs.store[f"{TYPE.id}-2"].runs == 1


def test_what_a_limit_hid_raises_a_fingerprint_and_never_lowers_it(first: Fingerprint):
    hidden = msgspec.structs.replace(first, hidden=0.9, mean_w=400.0, p99_w=450.0, peak_w=450.0)
    higher = msgspec.structs.replace(first, hidden=0.9, mean_w=560.0, p99_w=650.0, peak_w=650.0)

    low, high = adapted(first, hidden), adapted(first, higher)

    assert (low.mean_w, low.p99_w, low.peak_w) == (first.mean_w, first.p99_w, first.peak_w)
    assert low.shape_w == first.shape_w
    assert high.mean_w > first.mean_w
    assert high.peak_w > first.peak_w


def test_a_peak_that_was_never_seen_free_is_unknown_and_the_nameplate_stands_in():
    runs = Runs().run(np.minimum(work(90), 400.0), limit_w=400.0)

    (one,) = runs.store.values()
    assert one.peak_w is None
    assert one.hidden > 0.5
    assert runs.run(work(20)).priors[0].basis == "nameplate"


def test_speeds_under_limits_are_remembered_beside_the_free_one():
    shelf = Shelf()
    shelf.runs.grow(1)
    bank = Bank(np.array([MAX_W]), IDLE_W)
    shelf.memory.take(TYPE, ())
    shelf.track("a", 0, TYPE, fresh=True)
    free, slow = work(110, setup_s=2), np.minimum(work(170, period_s=3.3, setup_s=0), 490.0)
    power_w = np.concatenate((free, slow))
    for second in range(len(power_w) // 10):
        limit_w = np.array([MAX_W if second < 112 else 490.0])
        ranges = Rows(floor_w=np.array([IDLE_W]), limit_w=limit_w, max_w=np.array([MAX_W]))
        bank.observe(power_w[None, 10 * second : 10 * second + 10], limit_w=limit_w)
        shelf.see(bank.outlook, bank.detector, ranges)

    shelf.end("a", bank.outlook, bank.detector, ranges)

    (one,) = shelf.memory.due(1.0)
    (point,) = one.points
    assert point.limit_share == pytest.approx(0.725, abs=0.03)
    assert point.speed_ratio == pytest.approx(3.0 / 3.3, abs=0.03)


def test_a_run_that_draws_more_than_its_fingerprint_says_loses_it(first: Fingerprint):
    runs = Runs()
    low = msgspec.structs.replace(
        first, peak_w=400.0, mean_w=350.0, calm_w=350.0, shape_w=tuple(0.66 * w for w in first.shape_w)
    )
    runs.store[low.id] = low

    runs.run(work(30))

    assert runs.priors[-1] == type(runs.priors[-1])(MAX_W, "nameplate")


def test_a_run_is_put_on_top_of_what_another_region_kept_meanwhile(first: Fingerprint):
    runs = Runs()
    runs.run(work(70), keep=False)
    memory = runs.shelf.memory
    (offered,) = memory.due(5.0)
    held = msgspec.structs.replace(first, revision=7, runs=3)

    memory.overtaken(offered, held, 7)

    (again,) = memory.due(6.0)
    assert (again.revision, again.runs) == (8, 4)


def test_what_cannot_be_read_is_replaced_above_its_revision():
    runs = Runs()
    runs.run(work(70), keep=False)
    memory = runs.shelf.memory
    (offered,) = memory.due(5.0)

    memory.overtaken(offered, None, 41)

    assert [one.revision for one in memory.due(6.0)] == [42]


def test_nothing_is_offered_before_the_store_said_what_it_holds():
    shelf = Shelf()
    shelf.track("a", 0, TYPE, fresh=True)

    assert shelf.wanted() == [TYPE]
    assert shelf.memory.due(1.0) == []
    assert shelf.prior("a", MAX_W).basis == "nameplate"


ANY = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.sampled_from([0.0, 500.0, 700.0, -1.0])


@settings(max_examples=60, deadline=None)
@given(values=arrays.arrays(np.float64, st.integers(0, 300), elements=ANY, fill=ANY), period=ANY)
def test_no_array_makes_matching_or_drawing_a_shape_fail(
    first: Fingerprint, values: np.ndarray, period: float
):
    fit = fingerprints_match.early(first, values)
    drawn = fingerprints_shape.sketch(
        values, period, values[:BINS] if len(values) >= BINS else np.zeros(BINS), 700.0
    )

    assert fit is None or (0.0 <= fit.score <= 1.0 and 0.0 <= fit.phase <= 1.0 and np.isfinite(fit.level_w))
    assert drawn is None or (np.isfinite(drawn.shape_w).all() and 0.0 <= drawn.score <= 1.0)


@settings(max_examples=4, deadline=None)
@given(values=arrays.arrays(np.float64, (700,), elements=ANY, fill=ANY))
def test_no_array_makes_learning_fail_and_what_is_learned_can_be_kept(first: Fingerprint, values: np.ndarray):
    runs: Any = Runs()
    runs.store[first.id] = first

    runs.run(values)

    assert all(fingerprints.decode(one.id, fingerprints.encode(one)) == one for one in runs.store.values())
