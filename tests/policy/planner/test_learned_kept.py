"""What was learned of boards and jobs outlives a restart, and never counts less than nothing learned."""

import math

import msgspec
import numpy as np
import pytest
from small_world import World, load, site

from easyrider_policy.adapters.learned_file import BOARDS_FOR_S, JOBS_FOR_S, LearnedFile
from easyrider_policy.core import curves
from easyrider_policy.core.learned_kept import Curve, Learned, gathered, recall, sane
from easyrider_policy.core.overshoot import MOST

FULL = curves.BUSY_CLASSES - 1


def world(boards=range(0, 8), **kw):
    return World(site(), [load("a", boards, 640.0)], **kw)


def taught():
    """A world whose first job taught its curve, and whose boards draw up to 3 % more than their limit."""
    one = World(site(ups_w=26_000), [load("a", range(0, 32), 640.0)], overshoot=np.full(32, 1.02))
    one.run(90)
    learned, job = one.observation.learned, np.array([0])
    for _ in range(100):
        for ratio in (1.0, 0.85, 0.7):
            speed = curves.speed_of_shapes(np.array([ratio]), np.array([FULL]))[7, 0]
            learned.hear(job, np.array([2.0 / speed]), np.array([ratio]), np.array([FULL]))
    return one


def over_disk(learned, tmp_path, age_s=60.0):
    at = [1e9]
    file = LearnedFile(tmp_path, lambda: at[0])
    file.keep(learned)
    at[0] += age_s
    return file.read()


def test_boards_and_jobs_get_back_what_was_learned_of_them(tmp_path):
    before = taught()
    after = World(before.fleet, [load("a", range(0, 32), 640.0)])

    recall(after.observation, over_disk(gathered(before.observation), tmp_path))

    old, new = before.observation, after.observation
    assert (new.overshoot.counted > 1.01).all()
    np.testing.assert_allclose(new.overshoot.ratio, old.overshoot.ratio)
    assert new.learned.trusted[0]
    assert new.learned.shape[0] == old.learned.shape[0] != 0
    np.testing.assert_allclose(new.learned.sums, old.learned.sums)
    assert new.curve_classes[0] // curves.BUSY_CLASSES == old.learned.shape[0]


@pytest.mark.parametrize(("kept", "counts"), [(0.91, 1.0), (1.0, 1.0), (1.02, 1.02), (1.09, MOST)])
def test_a_board_counts_with_no_less_than_one_that_nobody_knows_and_no_more_than_any(kept, counts):
    one = world()
    unknown = one.observation.overshoot.counted[0]

    recall(one.observation, Learned(boards={"n0g0": (kept, 500.0)}))

    assert one.observation.overshoot.counted[0] == pytest.approx(counts)
    assert one.observation.overshoot.counted[0] >= unknown


def test_what_comes_back_of_a_board_yields_to_its_own_readings():
    overshoot = world().observation.overshoot
    overshoot.recall(0, 1.03, 1e6)

    for _ in range(100):
        overshoot.add(np.full(32, 500.0), np.full(32, 500.0), np.arange(32) == 0, 1.0)

    assert overshoot.counted[0] == pytest.approx(1.0, abs=4e-3)


def curve(**more):
    named = {"gpus": sorted(f"n0g{g}" for g in range(8)), "shape": 7, "trusted": True, "heard": 50.0}
    return Curve(**(named | {"sums": [[0.1] * curves.SHAPES] * 2, "told": [0.1, 0.1]} | more))


def test_a_job_of_the_same_name_on_other_boards_is_another():
    one = world(boards=range(8, 16))
    kept = Learned(jobs={"a": curve()})

    recall(one.observation, kept)

    assert not one.observation.learned.trusted[0]
    assert kept.jobs == {}


def test_what_was_learned_anew_is_not_written_over():
    one = world()
    one.observation.learned.heard[0] = 3.0
    one.observation.overshoot.learned_s[0] = 6.0

    recall(one.observation, Learned(boards={"n0g0": (1.03, 500.0)}, jobs={"a": curve()}))

    assert one.observation.overshoot.counted[0] == 1.0
    assert not one.observation.learned.trusted[0]


@pytest.mark.parametrize(
    "odd",
    [
        {"shape": curves.SHAPES}, {"shape": -1}, {"heard": 1e9}, {"heard": math.nan}, {"told": [0.1]},
        {"sums": [[0.1] * curves.SHAPES]}, {"sums": [[0.1, math.inf]] * 2}, {"sums": [[math.nan] * curves.SHAPES] * 2},
    ],
)  # fmt: skip
def test_a_curve_that_no_job_can_have_taught_is_left_out(odd):
    assert sane(Learned(jobs={"a": curve(**odd), "b": curve()})).jobs.keys() == {"b"}


@pytest.mark.parametrize(
    "pair", [(0.5, 500.0), (1.5, 500.0), (math.nan, 500.0), (1.02, math.inf), (1.02, 0.0)]
)
def test_an_overshoot_that_no_board_can_have_shown_is_left_out(pair):
    assert sane(Learned(boards={"x": pair, "y": (1.02, 9.0)})).boards.keys() == {"y"}


@pytest.mark.parametrize(
    ("age_s", "boards", "jobs"),
    [(60.0, 1, 1), (JOBS_FOR_S + 1, 1, 0), (BOARDS_FOR_S + 1, 0, 0), (-3600.0, 0, 0)],
)
def test_what_is_old_or_of_a_time_to_come_is_learned_anew(tmp_path, age_s, boards, jobs):
    found = over_disk(Learned(boards={"x": (1.02, 9.0)}, jobs={"a": curve()}), tmp_path, age_s)

    assert (len(found.boards), len(found.jobs)) == (boards, jobs)


@pytest.mark.parametrize(
    "change", [{"form": 2}, {"steepness": [0.0]}, {"learned": 3}, {"more": 1}, {"saved_unix_s": "x"}]
)
def test_a_file_of_another_form_or_of_another_bank_of_curves_is_none(tmp_path, change):
    file = LearnedFile(tmp_path, lambda: 1e9)
    file.keep(Learned(boards={"x": (1.02, 9.0)}))
    page = msgspec.json.decode((tmp_path / "learned.json").read_bytes())
    (tmp_path / "learned.json").write_bytes(msgspec.json.encode(page | change))

    assert file.read() == Learned()


def test_no_file_is_nothing_learned(tmp_path):
    assert LearnedFile(tmp_path).read() == Learned()
