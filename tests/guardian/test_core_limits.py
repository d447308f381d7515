"""Vector, dead-man, repair and resume, as pure functions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider.messages import GpuLimit
from easyrider_guardian.core import deadman, repair, report, transitions, vector
from easyrider_guardian.core.records import Baseline, Holding, Reading, Standing, Terms
from easyrider_guardian.core.resume import resume

SECOND = 10**9
TERMS = Terms(tree="site", region="local", node="n1")
watts = st.floats(0, 1200)
inside = st.floats(200, 700).map(lambda w: round(w, 3))


def reading(requested_w: float = 700, enforced_w: float | None = None, min_w: float = 200) -> Reading:
    enforced_w = requested_w if enforced_w is None else enforced_w
    return Reading(min_w=min_w, max_w=700, default_w=700, requested_w=requested_w, enforced_w=enforced_w)


readings = st.builds(reading, inside, inside)
holdings = st.builds(Holding, present_w=inside, fallback_w=st.none() | watts, controlled=st.booleans())


def limit(limit_w: float | None, uuid: str = "a") -> GpuLimit:
    return GpuLimit(uuid=uuid, limit_w=limit_w, fallback_w=None)


def weigh(limit_w: float | None, seen: Reading | None, last_w: float | None = None) -> vector.Entry:
    last = {} if last_w is None else {"a": last_w}
    (entry,) = vector.weigh([limit(limit_w)], {"a": seen}, last, {}, {})
    return entry


@given(limit_w=watts, seen=readings)
def test_what_is_written_lies_in_the_live_range_and_is_no_more_than_asked_but_for_rounding(limit_w, seen):
    entry = weigh(limit_w, seen)

    if entry.refused is None:
        assert seen.min_w <= entry.limit_w <= seen.max_w
        assert entry.limit_w <= max(limit_w + 0.0005, seen.min_w)
        assert abs(entry.limit_w - limit_w) <= max(0.0005, seen.min_w * 0.01 + 0.0005)
    else:
        assert limit_w < seen.min_w * 0.99 + 0.0005 or limit_w > seen.max_w


def test_eighty_three_percent_of_180_w_is_the_minimum_of_150_w():
    assert vector.in_range_w(0.83 * 180, reading(180, min_w=150)) == 150


@given(limit_w=inside, seen=readings)
def test_an_entry_lowers_or_raises_or_neither(limit_w, seen):
    entry = weigh(limit_w, seen)

    assert not (entry.lowers and entry.raises)
    assert entry.lowers == (seen.highest_w > limit_w + 0.0005)
    if entry.raises:
        assert seen.requested_w < limit_w


@given(limit_w=watts, last_w=st.none() | inside)
def test_a_silent_board_that_may_hold_more_than_asked_is_an_open_lower(limit_w, last_w):
    entry = weigh(limit_w, None, last_w)

    assert entry.refused == "no_answer"
    assert entry.open_lower == (last_w is None or last_w > limit_w + 0.5)


def test_a_board_without_watts_is_not_touched():
    assert weigh(None, reading()) == vector.Entry(uuid="a")


@given(held=holdings, seen=readings, fallback_w=st.none() | watts)
def test_stage_one_lifts_nothing_and_stage_two_holds_the_fallback(held, seen, fallback_w):
    terms = replace(TERMS, fallback_w=fallback_w)

    first = deadman.settle(held, 1, terms, seen)
    second = deadman.settle(first, 2, terms, seen)

    to_w = deadman.fallback_w(held, terms, seen)
    assert seen.min_w <= to_w <= seen.max_w
    if held.controlled:
        assert first.present_w == max(seen.min_w, min(held.present_w, to_w))
        assert second.present_w == to_w
    else:
        assert first == second == held
    assert deadman.settle(second, 2, terms, seen) == second


@given(grant_ns=st.integers(0, 10**15), silent_ms=st.integers(0, 200_000), entered=st.sampled_from([0, 1, 2]))
def test_stages_come_with_silence_and_never_leave_without_a_grant(grant_ns, silent_ms, entered):
    standing = Standing(
        boot_id="b",
        tree="site",
        node="n1",
        grant_ns=grant_ns,
        stage=entered,
        holdings={"a": Holding(present_w=500, fallback_w=300)},
    )
    now_ns = grant_ns + silent_ms * 1_000_000

    reached = deadman.stage(standing, TERMS, now_ns)

    by_time = 2 if silent_ms >= 60_000 else 1 if silent_ms >= 10_000 else 0
    assert reached == max(entered, by_time)
    assert deadman.stage(replace(standing, holdings={}), TERMS, now_ns) == 0


@given(held=holdings, seen=readings, stage=st.sampled_from([0, 1, 2]))
def test_without_a_command_only_stage_two_ever_raises(held, seen, stage):
    write_w = repair.due(held, seen, repair.Record(), stage, 100 * SECOND)

    if not held.controlled:
        assert write_w is None
    elif write_w is not None and write_w > seen.highest_w:
        assert stage == 2
    if held.controlled and seen.highest_w > held.present_w + 0.5:
        assert write_w == max(held.present_w, seen.min_w)


@given(requested_w=inside, below_w=st.floats(0, 200))
def test_an_outside_cap_is_never_answered(requested_w, below_w):
    held = Holding(present_w=requested_w, fallback_w=None)
    seen = reading(requested_w, max(200.0, requested_w - below_w))

    for stage in (0, 1, 2):
        assert repair.due(held, seen, repair.Record(), stage, 0) is None


@given(verdicts=st.lists(st.booleans(), max_size=12))
def test_three_failures_in_a_row_quarantine_and_one_success_ends_it(verdicts):
    record = repair.Record()
    for verified in verdicts:
        record = repair.took(record, verified, 0)

    failures = next((k for k, verified in enumerate(reversed(verdicts)) if verified), len(verdicts))
    assert record.quarantined == (failures >= 3)


def test_repairs_of_one_board_are_a_second_apart():
    held, seen = Holding(present_w=300, fallback_w=None), reading(700)
    record, writes = repair.Record(), 0

    for tick in range(600):
        now_ns = tick * SECOND // 10
        if repair.due(held, seen, record, 0, now_ns) is not None:
            writes += 1
            record = replace(record, tried_ns=now_ns)

    assert writes == 60


BASELINES = {"a": Baseline(requested_w=650, enforced_w=650, min_w=200, max_w=700, default_w=700)}
stored = Standing(
    boot_id="b1",
    tree="site",
    node="n1",
    epoch=4,
    seq=9,
    grant_ns=50 * SECOND,
    holdings={"a": Holding(present_w=500, fallback_w=300)},
)


def test_without_a_baseline_file_nothing_is_held_whatever_the_state_says():
    standing = resume(stored, None, TERMS, "b1", 100 * SECOND)

    assert standing.holdings == {}
    assert (standing.epoch, standing.seq) == (4, 9)
    assert deadman.stage(standing, TERMS, 10**18) == 0


def test_ten_virtual_minutes_unarmed_owe_no_write():
    standing = resume(None, None, TERMS, "b1", 0)

    for second in range(600):
        now_ns = second * SECOND
        reached = deadman.stage(standing, TERMS, now_ns)
        standing = deadman.enter(standing, reached, TERMS, {"a": reading(700)})
        assert standing.controlled == {}
        assert reached == 0


def test_an_armed_guardian_of_the_same_boot_goes_on_counting():
    assert resume(stored, BASELINES, TERMS, "b1", 100 * SECOND) == stored


def test_a_state_of_another_boot_is_expired_by_the_uptime_at_least():
    standing = resume(stored, BASELINES, TERMS, "b2", 5 * SECOND)

    assert deadman.stage(standing, TERMS, 5 * SECOND) == 1
    assert deadman.stage(standing, TERMS, 60 * SECOND) == 2
    assert standing.holdings["a"].fallback_w == 300


def test_a_missing_state_is_expired_and_its_second_stage_counts_from_now():
    standing = resume(None, BASELINES, TERMS, "b1", 1000 * SECOND)

    assert deadman.stage(standing, TERMS, 1000 * SECOND) == 1
    assert deadman.stage(standing, TERMS, 1059 * SECOND) == 1
    assert deadman.stage(standing, TERMS, 1060 * SECOND) == 2
    assert deadman.fallback_w(standing.holdings["a"], TERMS, reading()) == 200


@given(setting_w=inside, enforced_w=inside)
def test_after_a_lost_state_a_setting_above_the_present_limit_raises_nothing_before_stage_two(
    setting_w, enforced_w
):
    terms, seen = replace(TERMS, fallback_w=setting_w), reading(enforced_w)
    standing = resume(None, BASELINES, terms, "b1", 1000 * SECOND)
    written_w = {}

    for second in range(62):
        now_ns = (1000 + second) * SECOND
        reached = deadman.stage(standing, terms, now_ns)
        standing = deadman.enter(standing, reached, terms, {"a": seen})
        due_w = repair.due(standing.holdings["a"], seen, repair.Record(), standing.stage, now_ns)
        if due_w is not None:
            written_w[second], seen = due_w, reading(due_w)

    assert all(due_w <= enforced_w for second, due_w in written_w.items() if second < 60)
    assert abs(seen.requested_w - setting_w) <= 0.5


@pytest.mark.parametrize("heard", [True, False])
def test_after_a_lost_state_the_node_tells_the_fallback_of_its_own_setting(heard):
    terms = replace(TERMS, fallback_w=450)
    standing = resume(None, BASELINES, terms, "b1", 0)
    seen = reading(300) if heard else None
    board = report.Known(uuid="a", reading=seen, last=seen, settable=heard)

    state = report.node_state(
        standing, terms, {"a": board}, BASELINES, False, report.Moment(t_ns=0, mono_ns=0, nonce=0)
    )

    assert (state.stage, state.gpus[0].fallback_w, state.gpus[0].controlled) == (1, 450, True)


def test_epochs_of_another_tree_do_not_fence_this_one():
    other = replace(stored, tree="other")

    assert resume(other, None, TERMS, "b1", 0).epoch == 0
    assert resume(other, BASELINES, TERMS, "b1", 0).epoch == 0


@given(before_w=inside, after_w=inside)
def test_a_raise_that_was_not_written_is_not_held(before_w, after_w):
    before = stored.with_holdings({"a": Holding(present_w=before_w, fallback_w=None)})
    after = transitions.held(before, [vector.Entry(uuid="a", limit_w=after_w)])

    assert transitions.not_raised(after, before, ["a"]).holdings["a"].present_w == min(before_w, after_w)


def test_a_baseline_is_taken_once_and_never_replaced():
    entry = vector.Entry(uuid="a", limit_w=300)
    first = transitions.first_found({}, [entry], {"a": reading(650)})
    again = transitions.first_found(first, [entry], {"a": reading(300)})

    assert again == first
    assert first["a"].requested_w == 650


def test_a_raise_that_a_hold_refuses_leaves_no_baseline():
    kept = vector.Entry(uuid="b", limit_w=650)
    entries = vector.without_raises([vector.Entry(uuid="a", limit_w=600, raises=True), kept], {})

    assert set(transitions.first_found({}, entries, {"a": reading(400), "b": reading(650)})) == {"b"}
