"""Pilots answer for load that nobody limits down to their floor; a closed domain's limit is kept all the same."""

import numpy as np
from small_world import PDU_A, UPS, World, load, site

A, B = range(16), range(16, 32)


def world(closed=(False, False, False), floor_w=450.0, foreign_w=12_000.0, mode="pilot", **kind) -> World:
    """Pilots on one PDU, and so much load on it that nobody limits."""
    found = World(site(pdu_w=22_000, **kind), [load("pilot", A, 640.0, mode=mode)])
    found.unmanaged_w = np.array([foreign_w, foreign_w, 0.0])
    found.closed, found.pilot_floor_w = np.array(closed), floor_w
    return found


def test_below_an_open_domain_a_pilot_goes_no_lower_than_its_floor():
    pushed = world()
    pushed.run(40)

    assert pushed.limit("pilot") >= 450.0 - 0.5
    assert pushed.decision.missing_w[PDU_A] > 0  # and what it cannot remove is told


def test_without_a_floor_in_the_rules_it_goes_as_low_as_others_do():
    pushed = world(floor_w=None)
    pushed.run(40)

    assert pushed.limit("pilot") < 300.0


def test_a_closed_domain_knows_no_such_floor():
    pushed = world(closed=(False, True, False))
    pushed.run(40)

    assert pushed.limit("pilot") < 300.0


def test_what_is_enforced_has_no_floor_but_the_boards_own():
    pushed = world(mode="enforce")
    pushed.run(40)

    assert pushed.limit("pilot") < 300.0


def test_a_floor_above_what_fits_an_open_root_costs_the_others_nothing_that_is_theirs():
    pushed = world(closed=(False, False, True), foreign_w=8_000.0)
    pushed.loads.append(load("ours", B, 640.0))
    pushed.jobs_changed()
    pushed.run(40)

    assert pushed.limit("pilot") >= 450.0 - 0.5
    assert pushed.decision.missing_w[UPS] == 0
    assert pushed.limit("ours") > 200.0
