"""What went wrong at other sites with limits, read-back and unread boards, as it must go here: the ledger's part."""

import dataclasses

import msgspec
import numpy as np
import pytest
from small_site import LEASES, ack, boards, fleet, led, rules, state, vector

from easyrider.errors import BadTree
from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider.tree_reader import read
from easyrider_policy.core import checks
from easyrider_policy.core.counting import add_up
from easyrider_policy.core.fleet import Board, build
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.steps import Asked, targets
from easyrider_policy.core.unmanaged import Meters

ALL = np.ones(4, dtype=np.bool_)


def test_b004_a_board_whose_limit_firmware_moves_counts_its_advertised_maximum_throughout():
    fixed = [dataclasses.replace(b, settable=b.uuid != "a0") for b in boards()]
    ledger = Ledger(build(rules(), fixed), LEASES)
    ledger.took_over(1, 0.0)
    counted = []
    for second, enforced_w in enumerate((35.0, 35.0, 80.0)):
        ledger.acked(ack("a", held_w=(enforced_w, 300.0), mono_s=10.0 + second), float(second))
        ledger.state_heard(state("a", held_w=(enforced_w, 300.0), mono_s=10.5 + second), float(second))
        counted.append(float(ledger.counted_w(float(second))[0]))

    assert counted == [700.0, 700.0, 700.0]
    assert ledger.stuck.tolist()[:2] == [True, False]  # nothing is asked of it, so nothing is "corrected"


def test_b006_an_outside_cap_is_seen_and_what_was_requested_stays_reserved():
    ledger = led(fleet())

    ledger.acked(ack("a", seq=2, requested_w=(300.0, 300.0), held_w=(155.0, 300.0)), 1.0)

    assert ledger.counted_w(1.0)[0] == 300.0
    assert ledger.requested_w[0] == 300.0


def test_b007_a_percentage_just_below_the_minimum_becomes_the_minimum_in_whole_milliwatts_and_is_summed_so():
    card = build(rules(), [Board(uuid="a0", node="a", min_w=150.0, max_w=180.0)])
    base = Asked(limit_w=vector(180.0), fallback_w=vector(150.0))

    asked = targets(card, vector(0.83 * 180.0), np.ones(1, dtype=np.bool_), base)

    assert asked.limit_w.tolist() == [150.0]
    assert round(asked.limit_w[0] * 1e3) == 150_000
    assert add_up(
        card, asked.limit_w, np.ones(1, dtype=np.bool_), card.settable, card.hard_w, Meters(card).estimates(0.0)
    ).board_w.tolist() == [150.0]  # fmt: skip


def test_b008_a_success_that_reads_back_higher_counts_what_was_read():
    ledger = led(fleet())
    ledger.sent(0, (1, 2), vector(250.0, 250.0), vector(250.0, 250.0))

    ledger.acked(ack("a", seq=2, requested_w=(250.0, 250.0), held_w=(330.0, 180.0)), 1.0)

    assert ledger.counted_w(1.0)[:2].tolist() == [330.0, 250.0]


def test_b009_the_restore_that_is_booked_is_what_was_found_and_not_the_factory_value():
    found = state("a", held_w=(200.0, 200.0), mono_s=12.0)
    gpus = tuple(msgspec.structs.replace(gpu, baseline_w=250.0, default_w=480.0) for gpu in found.gpus)
    ledger = led(fleet())

    ledger.state_heard(msgspec.structs.replace(found, gpus=gpus), 1.0)

    assert ledger.baseline_w[:2].tolist() == [250.0, 250.0]


def test_b014_a_board_that_reports_no_power_is_reserved_at_its_cap_and_never_at_zero():
    ledger = led(fleet())
    counted_w = ledger.counted_w(1.0)

    sums = add_up(fleet(), counted_w, ALL, ALL, vector(3000.0), Meters(fleet()).estimates(0.0))

    assert counted_w.tolist() == [300.0] * 4
    assert sums.counted_w[0] == pytest.approx(4 * 300.0 + 2 * 100.0)


def superchip(rest_w: float) -> Rules:
    """A module of 2900 W whose rest beside the GPU draws `rest_w` at most."""
    module = Domain(id="module", kind="module", rating_w=2900.0, meters=("m",))
    box = NodeClass(overhead_w=rest_w, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=1400.0, gpu_count=1)
    node = Node(id="n", domain="module", node_class="superchip", fallback_w_per_gpu=300.0)
    return Rules(id="s", version=1, domains=(module,), classes={"superchip": box}, nodes=(node,))


def test_b016_a_superchip_reserves_its_capped_gpu_and_the_declared_rest_of_the_module():
    module = build(superchip(1500.0), [Board(uuid="g", node="n", min_w=200.0, max_w=1400.0)])

    sums = add_up(
        module, vector(900.0), np.ones(1, dtype=np.bool_), module.settable, module.hard_w,
        Meters(module).estimates(0.0),
    )  # fmt: skip

    assert sums.counted_w[0] == 2400.0


def test_b016_while_the_modules_own_reading_is_missing_nothing_stands_in_for_it_and_nothing_is_lent_on_it():
    module = build(superchip(1500.0), [Board(uuid="g", node="n", min_w=200.0, max_w=1400.0)])
    silent = Meters(module).estimates(10.0)
    every = np.ones(1, dtype=np.bool_)

    sums = add_up(module, vector(900.0), every, module.settable, module.hard_w, silent)

    assert np.isnan(Meters(module).shown_w(10.0)[0])  # unknown, and not 0
    assert sums.counted_w[0] == 2400.0
    assert sums.blocked == {0: "meter:module"}


def test_b016_a_cap_of_the_gpu_is_no_cap_of_the_module():
    module = build(superchip(1500.0), [Board(uuid="g", node="n", min_w=200.0, max_w=1400.0)])
    every = np.ones(1, dtype=np.bool_)

    sums = [
        add_up(module, vector(limit_w), every, module.settable, module.hard_w, Meters(module).estimates(0.0))
        for limit_w in (200.0, 900.0, 1400.0)
    ]

    # Over its 2900 W only as its GPU and the rest together may be, whatever the rest draws just now.
    assert [float(one.counted_w[0]) for one in sums] == [1700.0, 2400.0, 2900.0]


def test_b016_a_module_whose_rest_is_not_declared_is_refused_rather_than_taken_for_nothing():
    with pytest.raises(BadTree, match=r"classes\.superchip\.overhead_w is missing"):
        read(
            "tree: {id: s, version: 1}\n"
            "domains: [{id: module, kind: module, rating_w: 2900}]\n"
            "classes: {superchip: {overhead_slope: 1.0, gpu_max_w: 1400, gpu_count: 1}}\n"
            "nodes: [{id: n, domain: module, class: superchip, fallback_w_per_gpu: 300}]\n",
            "rules",
        )


def test_b016_a_module_meter_is_what_the_module_draws_and_is_never_added_to_the_gpu():
    module = build(superchip(1500.0), [Board(uuid="g", node="n", min_w=200.0, max_w=1400.0)])
    meters = Meters(module)
    for second in range(12):
        meters.heard(0, 2100.0, 900.0 + 1500.0, float(second), 1.0, True)

    load = meters.estimates(12.0).load(module, np.ones(1, dtype=np.bool_))

    assert meters.shown_w(12.0)[0] == 2100.0
    assert load.watts[0] == 0.0


def branch(second_w: float, margin_w: float = 49.0) -> Rules:
    """A branch of 490 W with 235 W of other load, 10 % kept for spikes, and two cards of 100 W at least."""
    card = NodeClass(overhead_w=0.0, overhead_slope=1.0, gpu_min_w=100.0, gpu_max_w=290.0, gpu_count=1)
    return Rules(
        id="s", version=1, margin_w=margin_w,
        domains=(Domain(id="branch", kind="branch", rating_w=490.0, fixed_w=235.0),),
        classes={"card": card},
        nodes=tuple(
            Node(id=name, domain="branch", node_class="card", fallback_w_per_gpu=watts, boot_guard=True)
            for name, watts in (("one", 100.0), ("two", second_w))
        ),
    )  # fmt: skip


def test_b017_safe_caps_leave_the_margin_for_spikes_that_no_averaged_cap_holds():
    assert checks.faults(branch(106.0)) == []

    with pytest.raises(BadTree, match=r"branch: fallbacks and fixed loads come to 491 W"):
        checks.refuse(branch(107.0))


def test_b017_the_margin_is_what_refuses_it():
    assert checks.faults(branch(107.0, margin_w=0.0)) == []
