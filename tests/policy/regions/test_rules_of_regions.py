"""Rules with regions that no coordinator may obey, each refused with its names and numbers before anything starts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scoped_site import rules

from easyrider.errors import BadConfig, BadTree
from easyrider.scopes import part_of
from easyrider.tree import Contingency, CurvePoint, Leases
from easyrider.tree_reader import dump
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.core.checks import faults
from easyrider_policy.core.fleet import build
from easyrider_policy.core.lending import Borrower
from easyrider_policy.core.region_limits import short_of_time
from easyrider_policy.rules_at_start import check_scope, first_rules


def with_region(name: str, **other: Any):
    site = rules()
    return replace(site, regions=tuple(replace(r, **other) if r.id == name else r for r in site.regions))


def test_the_rules_of_these_tests_are_fit():
    assert faults(rules()) == []


def test_a_guaranteed_share_below_the_fallbacks_of_its_nodes_is_refused():
    assert faults(with_region("rack", guaranteed_w=500.0)) == [
        "region rack: fallbacks and fixed loads come to 600 W, above its guaranteed 500 W"
    ]


def test_it_is_refused_with_the_boards_heard_too():
    site = with_region("rack", guaranteed_w=500.0)

    assert faults(site, build(site, [])) == faults(
        part_of(site, "rack"), build(part_of(site, "rack"), []), "rack"
    )


def test_guaranteed_shares_that_do_not_fit_the_smallest_planned_limit_are_refused():
    site = rules(contingencies=(Contingency(name="two_modules_lost", hard_limit_w=2500.0),))

    assert faults(site) == [
        "region site: guaranteed shares (hall, aisle), fallbacks and fixed loads come to 2600 W in feed, "
        "its smallest planned hard limit is 2500 W"
    ]


def test_a_region_whose_share_does_not_hold_those_below_it_is_refused():
    (fault,) = faults(with_region("hall", guaranteed_w=1200.0))

    assert fault == "region hall: fallbacks and fixed loads come to 1250 W, above its guaranteed 1200 W"


def test_a_scope_that_the_rules_do_not_know_does_not_start(tmp_path: Path):
    file = tmp_path / "rules.json"
    file.write_bytes(dump(rules()))

    with pytest.raises(
        BadConfig, match="region 'attic' is no scope of this tree, which has site, hall, aisle, rack"
    ):
        first_rules(RulesFolder(tmp_path / "state"), file, "site", "attic")


@pytest.mark.parametrize(
    ("scope", "parent", "told"),
    [
        ("rack", "site", "region 'rack' has the parent 'hall' here, the setting `parent` is 'site'"),
        ("site", "hall", "region 'site' has no parent here, the setting `parent` is 'hall'"),
    ],
)
def test_a_parent_that_the_settings_and_the_rules_name_differently_is_refused(scope, parent, told):
    with pytest.raises(BadTree) as fault:
        check_scope(rules(), scope, parent)

    assert told in str(fault.value)


@pytest.mark.parametrize(("scope", "parent"), [("rack", "hall"), ("rack", None), ("site", None)])
def test_a_parent_that_both_name_alike_is_fine(scope, parent):
    check_scope(rules(), scope, parent)


LOSS = Contingency(name="one_lost", hard_limit_w=3000.0)


@pytest.mark.parametrize(
    ("curve", "lease_s", "short"),
    [
        ((CurvePoint(multiple=1.4, time_s=600.0),), 10.0, False),
        ((CurvePoint(multiple=1.4, time_s=60.0),), 10.0, True),  # 19.3 s + two levels of 10 s, of 30 s
        ((CurvePoint(multiple=1.4, time_s=60.0),), 5.0, False),
        ((), 10.0, True),
    ],
)
def test_what_is_lent_fits_the_smallest_planned_limit_where_the_curve_does_not_carry_the_lease(
    curve, lease_s, short
):
    site = rules(contingencies=(LOSS,), curve=curve)
    fleet = build(part_of(site, "site"), [])
    below = [Borrower(id="hall", row=fleet.domain_index["row-a"], guaranteed_w=1.0, worst_w=2.0, levels=1)]

    found = short_of_time(fleet, below, Leases(dead_man_s=10.0), lease_s)

    assert found[fleet.domain_index["feed"]] == short
    assert not found[fleet.domain_index["row-b"]]
