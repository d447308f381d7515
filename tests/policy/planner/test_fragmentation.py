"""How large a job could start where, how splintered that is, and what to do about it: halls of a few lines."""

from dataclasses import replace

import numpy as np
import pytest

from easyrider_policy.core.clearing import Running, UnfitWaiting, Waiting, plan
from easyrider_policy.core.fragmentation import Branch, Hall, Room, fragmentation

SITE, A, B = 0, 1, 2
REST_W = 100.0


def hall(boards=8):
    """Two branches of so many boards below one feed; a board at rest draws and counts 100 W."""
    return Hall(
        branches=tuple(
            Branch(
                id=name,
                boards=np.arange(at * boards, (at + 1) * boards),
                above=np.array([at + 1, SITE]),
                target_share=np.ones(2),
                hard_share=np.ones(2),
            )
            for at, name in enumerate(("branch-a", "branch-b"))
        ),
        domains=("site", "branch-a", "branch-b"),
        branch_of=np.repeat([0, 1], boards),
        slope=np.ones(2 * boards),
        max_w=np.full(2 * boards, 700.0),
        rest_w=np.full(2 * boards, REST_W),
    )


def room(target_w=(1e6, 1e6, 1e6), hard_w=(1e6, 1e6, 1e6), busy=(), boards=8):
    """Room per domain beside what runs; boards `busy` draw 500 W."""
    at_w = np.full(2 * boards, REST_W)
    at_w[list(busy)] = 500.0
    idle = np.ones(2 * boards, dtype=bool)
    idle[list(busy)] = False
    return Room(
        idle=idle, drawn_w=at_w, counted_w=at_w.copy(), target_w=np.array(target_w), hard_w=np.array(hard_w)
    )


def job(name, rows, weight=1.0):
    return Running(job=name, boards=np.array(list(rows)), peak_w=500.0, weight=weight)


def acts(steps):
    return [(step.job, step.act) for step in steps]


def test_with_room_for_all_the_largest_job_is_the_idle_boards_of_one_branch():
    told = fragmentation(hall(), room(busy=range(3)), 500.0)

    assert [(one.branch, one.idle, one.gpus, one.binds) for one in told.branches] == [
        ("branch-a", 5, 5, "idle"),
        ("branch-b", 8, 8, "idle"),
    ]
    assert (told.largest, told.in_sum, told.index) == (8, 13, pytest.approx(1 - 8 / 13))


@pytest.mark.parametrize(
    ("where", "binds"),
    [
        ({"target_w": (1e6, 1300.0, 1e6)}, "target:branch-a"),
        ({"hard_w": (1e6, 1300.0, 1e6)}, "hard:branch-a"),
        ({"target_w": (1300.0, 1e6, 1e6)}, "target:site"),
        ({"hard_w": (1300.0, 1e6, 1e6)}, "hard:site"),
    ],
)
def test_each_limit_of_each_domain_above_stops_what_it_has_no_room_for_and_is_named(where, binds):
    told = fragmentation(hall(), room(**where), 500.0)

    assert (told.branches[0].gpus, told.branches[0].binds) == (3, binds)  # 400 W each beyond rest


def test_where_a_domain_above_all_is_what_binds_nothing_is_splintered():
    told = fragmentation(hall(), room(target_w=(1600.0, 1e6, 1e6)), 500.0)

    assert (told.largest, told.in_sum, told.index) == (4, 4, 0.0)


def test_room_that_is_not_known_starts_nothing():
    told = fragmentation(hall(), room(hard_w=(np.nan, 1e6, 1e6)), 500.0)

    assert (told.largest, told.in_sum, told.index) == (0, 0, None)


def test_a_domain_over_its_limit_starts_nothing_even_if_boards_would_add_nothing():
    told = fragmentation(hall(), room(target_w=(1e6, -1.0, 1e6)), REST_W)

    assert [one.gpus for one in told.branches] == [0, 8]


def test_a_board_with_a_lower_maximum_counts_no_more_than_that():
    low = replace(hall(), max_w=np.full(16, 300.0))

    assert fragmentation(low, room(target_w=(1e6, 800.0, 1e6)), 500.0).branches[0].gpus == 4


def test_a_job_that_fits_starts_in_the_branch_that_is_left_with_least():
    (step,) = plan(hall(), room(busy=range(4)), [], [Waiting(job="w", gpus=4, peak_w=500.0)])

    assert (step.act, step.branches) == ("start", ("branch-a",))


def test_a_small_job_that_waits_behind_one_that_does_not_fit_is_brought_forward():
    running = [job("big", range(6)), job("other", range(8, 14))]

    steps = plan(
        hall(), room(busy=[*range(6), *range(8, 14)]), running,
        [Waiting(job="large", gpus=6, peak_w=500.0, priority=2.0), Waiting(job="small", gpus=2, peak_w=500.0)],
    )  # fmt: skip

    assert acts(steps) == [("large", "drain"), ("small", "reorder")]


def test_a_starved_job_is_passed_no_more_the_branch_that_is_drained_for_it_is_kept():
    running = [job("big", range(6)), job("other", range(8, 16))]
    waiting = [
        Waiting(job="large", gpus=8, peak_w=500.0, waiting_s=5 * 3600.0),
        Waiting(job="small", gpus=2, peak_w=500.0, priority=2.0),
    ]
    busy = room(busy=[*range(6), *range(8, 16)])

    starved = plan(hall(), busy, running, waiting)
    fresh = plan(hall(), busy, running, [replace(waiting[0], waiting_s=0.0), waiting[1]])

    assert acts(starved) == [("large", "drain"), ("small", "drain")]
    assert (starved[0].branches, starved[0].drains, starved[0].starved) == (("branch-a",), ("big",), True)
    assert starved[1].branches == ("branch-b",)
    assert acts(fresh)[0] == ("small", "start")


def test_each_hour_of_waiting_adds_a_jobs_own_priority_once_more():
    waiting = [
        Waiting(job="new", gpus=1, peak_w=500.0, priority=2.5),
        Waiting(job="old", gpus=1, peak_w=500.0, waiting_s=2 * 3600.0),
    ]

    steps = plan(hall(), room(), [], waiting)

    assert [(step.job, step.aged) for step in steps] == [("old", 3.0), ("new", 2.5)]


def test_the_least_important_job_is_moved_where_it_fits_so_that_a_large_one_starts():
    running = [job("dear", [0, 1], weight=4.0), job("cheap", [8, 9], weight=0.5)]

    (step,) = plan(hall(), room(busy=[0, 1, 8, 9]), running, [Waiting(job="w", gpus=8, peak_w=500.0)])

    assert (step.act, step.branches) == ("migrate", ("branch-b",))
    assert [(move.job, move.to) for move in step.moves] == [("cheap", "branch-a")]


def test_a_job_of_more_weight_is_not_moved_for_one_of_less():
    running = [job("dear", [0, 1], weight=4.0), job("dearer", [8, 9], weight=8.0)]

    (step,) = plan(hall(), room(busy=[0, 1, 8, 9]), running, [Waiting(job="w", gpus=8, peak_w=500.0)])

    assert (step.act, step.drains) == ("drain", ("dear",))


def test_no_more_is_drained_than_it_takes():
    running = [job("one", [0]), job("six", range(1, 7)), job("rest", range(8, 16))]

    busy = room(busy=[*range(7), *range(8, 16)])

    (step,) = plan(hall(), busy, running, [Waiting(job="w", gpus=6, peak_w=500.0)])

    assert step.drains == ("six",)  # not `one` as well, though it is smaller


def test_what_fits_only_when_the_whole_site_rests_is_for_the_night_and_what_never_fits_says_so():
    running = [job("a", range(4, 8)), job("b", range(8, 12))]
    tight = room(target_w=(0.0, 1e6, 1e6), busy=range(4, 12))

    steps = plan(
        hall(), tight, running,
        [Waiting(job="huge", gpus=9, peak_w=500.0), Waiting(job="w", gpus=8, peak_w=500.0)],
    )  # fmt: skip

    assert acts(steps) == [("huge", "never"), ("w", "night_queue")]


def test_a_job_that_may_span_branches_starts_over_several():
    splinters = room(busy=[*range(5), *range(8, 13)])
    one = Waiting(job="w", gpus=6, peak_w=500.0, may_span=True)

    (step,) = plan(hall(), splinters, [], [one])

    assert (step.act, set(step.branches)) == ("start", {"branch-a", "branch-b"})
    assert plan(hall(), splinters, [], [replace(one, may_span=False)])[0].act == "never"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpus", 0),
        ("peak_w", float("nan")),
        ("peak_w", 0.0),
        ("priority", 0.0),
        ("priority", float("nan")),
        ("waiting_s", -1.0),
    ],
)
def test_a_waiting_job_that_cannot_be_ranked_is_refused_with_its_field(field, value):
    with pytest.raises(UnfitWaiting, match=field):
        Waiting(**({"job": "w", "gpus": 1, "peak_w": 500.0} | {field: value}))


def test_the_same_question_has_the_same_plan_and_changes_nothing():
    at = room(busy=[0, 1, 8, 9])
    running = [job("dear", [0, 1], weight=4.0), job("cheap", [8, 9], weight=0.5)]
    waiting = [Waiting(job=f"w{i}", gpus=i, peak_w=500.0) for i in (8, 3, 2)]

    first = plan(hall(), at, running, waiting)

    assert plan(hall(), at, running, waiting) == first
    assert at.idle.sum() == 12
    assert at.target_w.tolist() == [1e6] * 3
