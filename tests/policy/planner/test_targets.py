"""A load target is met when it begins, kept while it lasts, and what it lacks is told."""

from dataclasses import replace

import numpy as np
import pytest

from easyrider.moments import rfc_3339
from easyrider.tree import RAMP_S, Domain, Leases, LoadTarget, Node, NodeClass, Rules
from easyrider_policy.core.fleet import build
from easyrider_policy.core.targets import LoadTargets

NOON_S = 1_800_000_000.0
OWN_W = np.array([9000.0, 5000.0])
NOTHING_W = np.zeros(2)


def target(**other) -> LoadTarget:
    told = {"id": "evening", "domain": "rack", "target_w": 3000.0, "begins": rfc_3339(NOON_S)}
    return LoadTarget(**{**told, "ends": rfc_3339(NOON_S + 3600.0), **other})


def fleet():
    rules = Rules(
        id="site",
        version=1,
        domains=(
            Domain(id="ups", kind="ups", rating_w=9000.0),
            Domain(id="rack", kind="rack", parent="ups", rating_w=6000.0, target_w=5000.0),
        ),
        classes={"box": NodeClass(overhead_w=100.0, overhead_slope=1.0)},
        nodes=(Node(id="a", domain="rack", node_class="box", fallback_w_per_gpu=250.0),),
    )
    return build(rules, [])


def targets(*every: LoadTarget) -> LoadTargets:
    return LoadTargets(fleet(), every or (target(),), Leases())


def ceiling_w(found: LoadTargets, at_s: float) -> list[float]:
    found.pass_to(NOON_S + at_s, OWN_W)
    return found.ceiling_w.tolist()


def test_before_its_ramp_and_from_its_end_on_it_says_nothing():
    found = targets()

    assert ceiling_w(found, -3600.0) == [np.inf, np.inf]
    assert ceiling_w(found, 3600.0) == [np.inf, np.inf]


def test_the_target_comes_down_evenly_and_is_there_a_window_before_it_begins():
    found = targets()
    window_s = 10.0

    fell_w = [ceiling_w(found, at_s)[1] for at_s in np.arange(-RAMP_S - 2 * window_s, 0.0)]

    steps_w = np.diff([w if np.isfinite(w) else 5000.0 for w in fell_w])
    assert (steps_w <= 1e-6).all()
    assert steps_w.min() >= -2000.0 / RAMP_S - 1e-6
    assert ceiling_w(found, -window_s - 1.0) == [np.inf, 3000.0]
    assert ceiling_w(found, 0.0) == ceiling_w(found, 3599.0) == [np.inf, 3000.0]


def test_it_never_raises_a_target():
    found = targets(target(target_w=8000.0))

    for at_s in (-30.0, 0.0, 100.0):
        found.pass_to(NOON_S + at_s, OWN_W)
        assert (np.minimum(OWN_W, found.ceiling_w) == OWN_W).all()


def test_of_two_the_lower_counts_and_gives_its_name():
    found = targets(target(), target(id="grid", target_w=2500.0))

    assert ceiling_w(found, 10.0)[1] == 2500.0
    assert found.names == {1: "grid"}


def test_it_says_once_that_it_began_and_ended_and_both_ask_for_a_plan():
    found = targets()
    assert not found.pass_to(NOON_S - 3600.0, OWN_W)

    assert found.pass_to(NOON_S + 1.0, OWN_W)
    assert not found.pass_to(NOON_S + 2.0, OWN_W)
    assert found.pass_to(NOON_S + 3600.0, OWN_W)

    assert [change.change for change in found.take_changes()] == ["begins", "ends"]
    assert found.take_changes() == []


def test_what_is_drawn_above_it_is_told_with_the_watts_and_counts_against_its_record():
    found = targets()
    found.pass_to(NOON_S, OWN_W)
    found.observed(np.array([np.nan, 2900.0]), NOTHING_W, 100.0)
    for second in range(1, 11):
        found.observed(np.array([np.nan, 3200.0 if second > 8 else 2900.0]), NOTHING_W, 100.0 + second)

    (one,) = found.every
    assert (one.short_w, one.kept) == (200.0, pytest.approx(0.8))
    changes = found.take_changes()
    assert [(c.change, c.short_w) for c in changes] == [("begins", 0.0), ("short", 200.0)]


def test_what_no_limit_could_take_away_is_a_shortfall_too_and_its_end_is_told():
    found = targets()
    found.pass_to(NOON_S, OWN_W)
    found.observed(np.array([np.nan, 3000.0]), np.array([0.0, 400.0]), 100.0)
    found.observed(np.array([np.nan, 3000.0]), NOTHING_W, 101.0)

    assert [(c.change, c.short_w) for c in found.take_changes()] == [
        ("begins", 0),
        ("short", 400),
        ("kept", 0),
    ]


def test_what_is_not_known_is_not_kept():
    found = targets()
    found.pass_to(NOON_S, OWN_W)
    found.observed(np.full(2, np.nan), NOTHING_W, 100.0)
    found.observed(np.full(2, np.nan), NOTHING_W, 101.0)

    assert found.every[0].observed_w is None
    assert found.every[0].kept == 0.0


def test_newer_rules_keep_the_record_of_what_they_do_not_change_and_end_what_they_take_away():
    found = targets(target(), target(id="grid"))
    found.pass_to(NOON_S, OWN_W)
    found.observed(np.array([np.nan, 2900.0]), NOTHING_W, 100.0)
    found.observed(np.array([np.nan, 2900.0]), NOTHING_W, 101.0)
    found.take_changes()

    moved = found.moved_to(fleet(), (target(), target(id="new", domain="ups")), Leases())

    assert [(one.target.id, one.held_s) for one in moved.every] == [("evening", 1.0), ("new", 0.0)]
    assert [(c.change, c.target.id) for c in moved.take_changes()] == [("ends", "grid")]


def test_a_target_of_a_domain_of_another_scope_is_left_to_that_scope():
    assert targets(replace(target(), domain="elsewhere")).every == []


def test_a_step_stands_still_until_as_late_as_will_do_and_then_goes_at_once():
    found = targets(target(strategy="step"))

    assert ceiling_w(found, -30.0)[1] == np.inf
    assert ceiling_w(found, -5.0)[1] == 3000.0
    assert ceiling_w(found, 0.0)[1] == 3000.0


def test_a_longer_ramp_begins_earlier_and_falls_more_gently():
    found = targets(target(ramp_s=600.0))

    fell_w = [ceiling_w(found, at_s)[1] for at_s in np.arange(-620.0, 0.0)]
    steps_w = np.diff([w for w in fell_w if np.isfinite(w)])

    assert steps_w.min() == pytest.approx(-2000.0 / 600.0)
    assert fell_w[-1] == 3000.0


def test_a_soft_target_stops_where_jobs_would_yield_beyond_their_class_and_tells_the_rest_as_missing():
    found = targets(target(strategy="soft"))
    found.pass_to(NOON_S + 1.0, OWN_W, np.array([8000.0, 3400.0]))
    found.observed(np.array([5000.0, 3390.0]), NOTHING_W, 0.0)

    (change, short) = found.take_changes()

    assert found.ceiling_w[1] == 3400.0
    assert found.every[0].missing_w == pytest.approx(400.0)
    assert (change.change, short.change) == ("begins", "short")


def test_a_soft_target_that_jobs_can_keep_within_their_classes_is_kept_whole():
    found = targets(target(strategy="soft"))
    found.pass_to(NOON_S + 1.0, OWN_W, np.array([8000.0, 2900.0]))

    assert found.ceiling_w[1] == 3000.0
    assert found.every[0].kept_back_w == 0.0
