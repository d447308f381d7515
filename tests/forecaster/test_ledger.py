"""The ledger: forecasts held against what came, in arrays made by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from ledger_runs import (
    ANY,
    LINE_W,
    ROWS,
    TOP_W,
    UNKNOWN_S,
    Truth,
    kept,
    last_second,
    record,
    run,
    to_come,
    walk,
)

from easyrider import accuracy
from easyrider_forecaster.core import accuracy_told
from easyrider_forecaster.core.accuracy import Ledger, Said
from easyrider_forecaster.core.accuracy_origins import SLOTS, Origins
from easyrider_forecaster.core.accuracy_told import Told
from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.outlook import View


def begun(horizon_s: int, seconds: int, first: int = 0) -> list[int]:
    """Seconds after which a window begins that ends within so many, where something is said in each."""
    every = {10: range(0, seconds, 2), 30: [0, *range(7, seconds, 6)]}.get(horizon_s, range(seconds))
    return [origin for origin in every if first <= origin < seconds - horizon_s]


def counts(seconds: int, first: int = 0) -> list[int]:
    return [len(begun(horizon_s, seconds, first)) for horizon_s in HORIZONS_S]


def run_sums(ledger: Ledger) -> np.ndarray:
    return ledger.demand.sums(np.array([0]))[0]


def test_who_sees_what_comes_has_no_error_and_no_bound_that_fails() -> None:
    ledger = kept(walk(120), to_come)

    for side in ("draw", "demand"):
        for horizon_s in HORIZONS_S:
            score = run(ledger, horizon_s, side)
            assert score.windows == len(begun(horizon_s, 120))
            assert score.mae_w == pytest.approx(0, abs=1e-3)
            assert (score.mase, score.coverage99) == (pytest.approx(0, abs=1e-4), 1.0)
            assert (score.pinball50_w, score.pinball90_w, score.pinball99_w) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("horizon_s", HORIZONS_S)
def test_the_last_second_is_the_measure_and_has_a_mase_of_one(horizon_s: int) -> None:
    score = run(kept(walk(120), last_second), horizon_s)

    assert score.mase == pytest.approx(1.0, abs=1e-3)
    assert score.mae_w is not None
    assert score.mae_w > 1


def test_losses_are_those_of_the_books() -> None:
    truth = np.full((1, 300), 500.0, np.float32)
    flat = np.full((1, len(HORIZONS_S)), 1.0)

    score = run(kept(truth, lambda *_: View(510 * flat, 490 * flat, 480 * flat, 520 * flat)), 5)

    assert (score.mae_w, score.bias_w, score.peak_mae_w, score.slack_w) == (10.0, 10.0, 10.0, 20.0)
    assert score.pinball50_w == 5.0
    assert score.pinball90_w == pytest.approx(0.9 * 20)
    assert score.pinball99_w == pytest.approx(0.01 * 20, rel=1e-3)
    assert (score.coverage90, score.coverage99) == (0.0, 1.0)
    assert score.mase is None  # the last second was never wrong


def test_nothing_that_came_after_an_origin_changes_its_verdict() -> None:
    truth, other = walk(60), walk(60)
    other[:, 400:] = 111.0

    one, two = kept(truth[:, :400], last_second), kept(other, last_second)
    before = kept(other[:, :400], last_second)

    assert np.array_equal(run_sums(one), run_sums(before))
    # what was said at second 39 is judged with what came, and was not changed by it
    assert run_sums(two)[1, 0] > run_sums(one)[1, 0] + 100


def test_a_window_with_samples_missing_is_left_out_and_counted() -> None:
    truth = walk(60)
    truth[:, 200:210] = np.nan

    flat = np.full((1, len(HORIZONS_S)), 400.0)

    horizons = record(kept(truth, lambda *_: View(flat, flat, flat, flat))).demand

    clean = record(kept(walk(60), last_second)).demand
    assert [one.gaps for one in clean] == [0] * 5
    # over the gap, if it is more than a tenth of the window; and those whose last second was it
    assert [one.gaps for one in horizons] == [2, 3, 6, 1, 0]
    assert all(a.run.windows + a.gaps == b.run.windows for a, b in zip(horizons, clean, strict=True))


def test_what_a_limit_hid_says_nothing_of_the_demand_and_all_of_the_draw() -> None:
    ledger = kept(walk(60), to_come, hidden=lambda second: 20 <= second < 40)

    one = record(ledger)

    assert [each.hidden for each in one.draw] == [0] * 5
    assert [each.run.windows for each in one.draw] == counts(60)
    free_1s = next(each for each in one.demand if each.horizon_s == 1)
    assert (free_1s.hidden, free_1s.run.windows) == (21, 38)
    assert all(each.hidden > 3 for each in one.demand[1:])


def test_a_limit_that_moves_below_what_was_bounded_leaves_the_draw_unjudged() -> None:
    def low(second: int) -> float:
        return 700.0 if second < 30 else 200.0

    moved = record(kept(walk(60), to_come, limit_w=low)).draw
    far_above = record(kept(walk(60), to_come, limit_w=lambda second: 700.0 - second % 2 * 40)).draw

    assert [each.hidden for each in moved] == [1, 2, 5, 5, 5]
    assert [each.hidden for each in far_above] == [0] * 5


@pytest.mark.parametrize(("peak_w", "held"), [(300.0, 1.0), (306.0, 1.0), (312.0, 0.0)])
def test_what_a_board_draws_over_its_limit_is_no_fault_of_the_bound_up_to_three_per_cent(
    peak_w: float, held: float
) -> None:
    truth = np.full((1, 300), peak_w, np.float32)
    flat = np.full((1, len(HORIZONS_S)), 300.0)

    ledger = kept(truth, lambda *_: View(flat, flat, flat, flat), limit_w=lambda second: 300.0)

    assert run(ledger, 5, "draw").coverage99 == held
    below = kept(truth, lambda *_: View(flat, flat, flat, flat - 10), limit_w=lambda second: 300.0)
    assert run(below, 5, "draw").coverage99 == 0.0


def test_what_was_only_assumed_is_counted_apart() -> None:
    one = record(kept(walk(60), to_come, known=lambda second: second >= 10))

    assert [each.assumed for each in one.demand] == [10, 10, 10, 5, 2]
    assert [each.run.windows for each in one.demand] == counts(60, first=10)


def test_a_second_that_was_not_forecast_is_no_fault() -> None:
    ledger, truth = Ledger(1), walk(60)
    for second in range(60):
        raw = truth[:, 10 * second : 10 * second + 10]
        ledger.judge(second, raw, np.zeros(raw.shape, bool), TOP_W)
        if second % 2 == 0:
            said = Said(last_second(truth, second), np.array([True]))
            ledger.note(second, said, said, UNKNOWN_S, LINE_W)

    assert [each.run.windows for each in record(ledger).demand] == [30, 29, 28, 25, 4]
    assert [each.gaps for each in record(ledger).demand] == [0] * 5


@pytest.mark.parametrize("period_s", [1, 2, 3, 4, 5])
def test_windows_of_every_length_are_judged_however_seldom_something_is_said(period_s: int) -> None:
    origins, judged, crowded = Origins(), [0] * len(HORIZONS_S), 0
    for second in range(600):
        due = origins.due(second)
        crowded += len(due) == len(HORIZONS_S)
        for place in due:
            assert place.origin % period_s == 0
            judged[place.column] += 1
        if second % period_s == 0:
            begun = origins.begin(second)
            still = [place.slot for each in origins._open for place in each.values()]
            assert len(set(still)) == len(still)  # nothing that waits is written over
            assert {place.slot for place in begun} <= set(range(SLOTS))

    assert min(judged) >= 50
    assert crowded <= 1 or period_s > 1  # the dear ones are not judged in the same second
    assert judged[0] == pytest.approx(600 / period_s, abs=1)


def test_of_late_forgets_what_was_long_ago() -> None:
    flat = np.full((1, len(HORIZONS_S)), 1.0)
    truth = np.full((1, 27_000), 500.0, np.float32)

    def says(_truth: Truth, second: int) -> View:
        off_w = 50.0 if second < 300 else 1.0
        return View((500 + off_w) * flat, 500 * flat, 500 * flat, 500 * flat)

    first = record(kept(truth, says)).demand[0]

    assert first.run.mae_w == pytest.approx(6.45, abs=0.1)
    assert first.lately.mae_w == pytest.approx(1.0, abs=0.5)
    assert first.lately.windows == pytest.approx(650, rel=0.1)


def test_the_trail_holds_what_was_said_beside_what_came_and_no_more_than_six_minutes() -> None:
    truth = walk(500)

    one = record(kept(truth, to_come))

    assert len(one.trail) == 36
    assert all(point.mean_w == pytest.approx(point.seen_mean_w, abs=0.6) for point in one.trail)
    assert one.trail_ends_unix_s == 1.8e9 - 9  # seconds 0 to 490 of 500: nine came since


def test_a_row_that_is_given_to_another_job_knows_nothing_of_the_first() -> None:
    ledger = kept(walk(60), last_second)

    ledger.clear(0)

    one = record(ledger)
    assert (one.seconds, one.trail, one.rises.seen) == (0, (), 0)
    assert [each.run.windows for each in one.demand] == [0] * 5
    assert one.demand[0].run.mae_w is None


def test_a_row_has_the_same_room_however_long_it_runs_and_less_than_five_kilobytes() -> None:
    def size(ledger: Ledger) -> int:
        parts = (ledger, ledger.seen, ledger.draw, ledger.demand, ledger.rises, ledger.trail)
        return sum(
            value.nbytes for part in parts for value in vars(part).values() if hasattr(value, "nbytes")
        )

    ledger = Ledger(1000)
    before = size(ledger)
    view = View(*np.full((4, 1000, len(HORIZONS_S)), 500.0))
    said = Said(view, np.ones(1000, bool))
    for second in range(100):
        ledger.judge(second, np.full((1000, 10), 500.0), np.zeros((1000, 10), bool), np.full(1000, 700.0))
        ledger.note(second, said, said, np.full(1000, np.nan), np.full(1000, 300.0))

    assert size(ledger) == before
    assert before / 1000 < 5000


def test_more_rows_and_another_rows_end_change_nothing_of_a_row() -> None:
    truth, alone = walk(80), kept(walk(80), last_second)
    ledger = Ledger(1)
    for second in range(80):
        if second == 20:
            ledger.grow(3)
        if second == 50:
            ledger.clear(2)
        raw = np.repeat(truth[:, 10 * second : 10 * second + 10], ledger.rows, axis=0)
        ledger.judge(second, raw, np.zeros(raw.shape, bool), np.full(ledger.rows, 700.0))
        one = last_second(truth, second)
        many = View(
            *(np.repeat(w, ledger.rows, axis=0) for w in (one.mean_w, one.peak_w, one.q90_w, one.q99_w))
        )
        said = Said(many, np.ones(ledger.rows, bool))
        ledger.note(second, said, said, np.full(ledger.rows, np.nan), np.full(ledger.rows, 300.0))

    assert np.allclose(run_sums(ledger)[..., :1], run_sums(alone), rtol=1e-4)
    assert [one.seconds for one in accuracy_told.records(ledger, ROWS, "r1", 1.8e9, 1.8e9)] == [80, 60, 30]


@settings(max_examples=40, deadline=None)
@given(
    raw=arrays.arrays(np.float64, (2, 10), elements=ANY, fill=ANY),
    said=arrays.arrays(np.float64, (4, 2, len(HORIZONS_S)), elements=ANY, fill=ANY),
    each=arrays.arrays(np.float64, (3, 2), elements=ANY, fill=ANY),
    hidden=arrays.arrays(np.bool_, (2, 10)),
    seconds=st.integers(1, 40),
)
def test_no_array_makes_the_ledger_fail_or_tell_what_cannot_be(
    raw: np.ndarray, said: np.ndarray, each: np.ndarray, hidden: np.ndarray, seconds: int
) -> None:
    ledger = Ledger(2)
    rise_s, line_w, limit_w = each

    for second in range(seconds):
        ledger.judge(second, np.roll(raw, second, axis=1), hidden, limit_w)
        told = Said(View(*np.roll(said, second, axis=2)), np.array([True, second % 2 == 0]))
        ledger.note(second, told, told, rise_s, line_w)

    jobs = [Told("a", 0, 1), Told("b", 1, 1)]
    for one in accuracy_told.records(ledger, jobs, "r1", 1.8e9, 1.8e9):
        assert accuracy.decode(one.id, accuracy.encode(one)) == one
