"""Limits that move without a command."""

import msgspec
import pytest

from easyrider.messages import GpuState, NodeState
from easyrider_actuator.core.drift import notice


def gpu(requested_w: float | None, enforced_w: float | None, controlled: bool = True) -> GpuState:
    return GpuState(
        uuid="GPU-0",
        min_w=200,
        max_w=700,
        default_w=700,
        baseline_w=700,
        requested_w=requested_w,
        enforced_w=enforced_w,
        fallback_w=300,
        settable=True,
        controlled=controlled,
    )


def state(board: GpuState, **fields: object) -> NodeState:
    own = {"tree": "site", "region": "local", "node": "n1", "boot_id": "b", "nonce": 1, "highest_epoch": 1}
    own |= {
        "highest_seq": 7,
        "armed": True,
        "stage": 0,
        "leaving": False,
        "gpus": (board,),
        "t_ns": 0,
        "mono_ns": 0,
    }
    return NodeState(**{**own, **fields})


@pytest.mark.parametrize(
    ("requested_w", "enforced_w", "cause"),
    [
        (700, 700, "reverted_to_default"),
        (400, 700, "reverted_to_default"),
        (600, 600, "changed_by_another"),
        (400, 250, "external_cap"),
        (400, 400, None),
        (400.3, 400.3, None),
        (300, 300, None),
        (None, None, None),
    ],
)
def test_a_limit_that_moved_by_itself_is_named_by_its_cause(requested_w, enforced_w, cause):
    found = notice(state(gpu(400, 400)), state(gpu(requested_w, enforced_w)))

    assert [drift.cause for drift in found] == ([] if cause is None else [cause])


@pytest.mark.parametrize(
    "fields", [{"highest_seq": 8}, {"highest_epoch": 2}, {"stage": 2}, {"leaving": True}, {"armed": False}]
)
def test_what_a_command_or_the_dead_man_may_have_done_is_no_drift(fields):
    assert notice(state(gpu(400, 400)), state(gpu(700, 700), **fields)) == ()


def test_the_repair_after_a_drift_is_no_drift():
    assert notice(state(gpu(700, 700)), state(gpu(400, 400))) == ()


def test_a_board_that_is_not_controlled_may_do_what_it_likes():
    free = gpu(400, 400, controlled=False)
    assert (
        notice(state(free), state(msgspec.structs.replace(free, requested_w=700.0, enforced_w=700.0))) == ()
    )


def test_the_first_state_is_no_drift():
    assert notice(None, state(gpu(700, 700))) == ()


def test_b006_an_outside_cap_is_told_once_as_external_cap_with_what_was_asked_and_what_is_enforced():
    capped = state(gpu(300, 155))

    (first,) = notice(state(gpu(300, 300)), capped)
    later = [notice(capped, capped) for _ in range(60)]

    assert (first.cause, first.requested_w, first.enforced_w) == ("external_cap", 300, 155)
    assert later == [()] * 60
