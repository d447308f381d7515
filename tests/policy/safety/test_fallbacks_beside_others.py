"""Fallbacks beside load that nobody limits: counted once, and against nothing where nothing is limited yet."""

import dataclasses

import numpy as np
import pytest
from small_site import BOX, boards, rules

from easyrider.tree import Domain, ModeRule, Rules
from easyrider_policy.core import checks
from easyrider_policy.core.fleet import build
from easyrider_policy.core.modes import may_be_limited

A_LIMITED = (ModeRule(selector={"node": ("a",)}, mode="enforce"),)
ALL_LIMITED = (ModeRule(selector={"node": ("*",)}, mode="enforce"),)
FALLBACKS_W = 2 * 600.0
HALF_W = 600.0 + 100.0
"""Node `a` at its fallback, and the host of node `b`."""


def site(hard_w: float, declared_w: float, modes: tuple[ModeRule, ...]) -> Rules:
    return dataclasses.replace(rules(hard_w, unmanaged_max_w=declared_w), modes=modes)


def test_boards_that_are_only_observed_are_not_counted_beside_the_load_that_stands_for_them():
    needed_w = HALF_W + 1400.0

    assert checks.faults(site(needed_w, 1400.0, A_LIMITED)) == []
    assert checks.faults(site(needed_w - 1.0, 1400.0, A_LIMITED)) != []


def test_fallbacks_of_observed_nodes_must_fit_too_where_little_else_is_declared():
    assert checks.faults(site(FALLBACKS_W, 100.0, A_LIMITED)) == []
    assert checks.faults(site(FALLBACKS_W - 1.0, 100.0, A_LIMITED)) != []


def test_beside_boards_that_are_all_limited_a_declared_load_counts_whole():
    assert checks.faults(site(FALLBACKS_W + 500.0, 500.0, ALL_LIMITED)) == []
    assert checks.faults(site(FALLBACKS_W + 499.0, 500.0, ALL_LIMITED)) != []


def test_a_site_that_only_observes_may_declare_more_than_its_limit():
    assert checks.faults(site(FALLBACKS_W, 5000.0, ())) == []
    assert checks.faults(site(FALLBACKS_W - 1.0, 0.0, ())) != []


def test_what_is_declared_of_a_domain_holds_what_is_declared_below_it():
    own = rules().nodes
    above = Domain(id="site", kind="site", rating_w=2000.0, target_share=1.0, unmanaged_max_w=800.0)
    pdu = Domain(
        id="pdu", kind="pdu", parent="site", rating_w=2000.0, target_share=1.0, unmanaged_max_w=500.0
    )
    known = Rules(id="s", version=1, domains=(above, pdu), classes={"box": BOX}, nodes=own, modes=ALL_LIMITED)

    assert checks.fallback_w(build(known, boards()), known.modes).tolist() == [
        FALLBACKS_W + 800.0,
        FALLBACKS_W + 500.0,
    ]


@pytest.mark.parametrize(
    ("modes", "limited"),
    [
        ((), [False, False]),
        ((ModeRule(selector={"node": ("*",)}, mode="shadow"),), [False, False]),
        ((ModeRule(selector={"node": ("b",)}, mode="pilot"),), [False, True]),
        ((*ALL_LIMITED, ModeRule(selector={"node": ("b",)}, mode="observe")), [True, False]),
        ((ModeRule(selector={"queue": ("night",)}, mode="pilot"),), [True, True]),
        ((ModeRule(selector={"job": ("x-*",), "node": ("a",)}, mode="enforce"),), [True, False]),
        ((ModeRule(selector={"tenant": ("t",)}, mode="observe"),), [False, False]),
    ],
)
def test_a_node_may_be_limited_if_any_job_on_it_could_be(modes, limited):
    assert np.array_equal(may_be_limited(modes, build(rules(), boards())), limited)
