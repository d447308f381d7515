"""An operator holds a node on the node itself: nothing rises, everything that protects goes on."""

import socket
import time
from pathlib import Path

import pytest

from easyrider.guardian_link import GuardianLink, LinkBroken, LinkRefused, NobodyListens
from easyrider.messages import ExitGrant, Hold
from easyrider_guardian.core.permission import may


def hold(node, reason: str = "") -> None:
    with GuardianLink.open(node.socket) as link:
        link.hold(reason)


def clear(node) -> None:
    with GuardianLink.open(node.socket) as link:
        link.clear()


@pytest.fixture
def limited(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400, fallback_w=250))
    return node


def test_no_raise_is_taken_and_the_ack_says_why_and_that_lowers_were(limited):
    hold(limited, "a smell of burning")

    ack = limited.say(limited.limits(500, 300, 400, 450))

    assert limited.enforced_w() == [400, 300, 400, 400]
    assert ack.accepted
    assert {gpu.uuid: gpu.refused for gpu in ack.gpus} == {
        "GPU-0": "held", "GPU-1": None, "GPU-2": None, "GPU-3": "held",
    }  # fmt: skip


def test_what_fell_does_not_come_back_before_it_is_cleared(limited):
    hold(limited)
    limited.say(limited.limits(300, 300, 300, 300))
    limited.say(limited.limits(400, 400, 400, 400))
    held_w = limited.enforced_w()
    clear(limited)
    limited.say(limited.limits(400, 400, 400, 400))

    assert held_w == [300] * 4
    assert limited.enforced_w() == [400] * 4


def test_it_is_said_at_once_and_in_every_state(limited):
    assert not limited.state().held
    hold(limited)
    assert limited.state().held
    clear(limited)
    assert not limited.state().held


def test_it_outlives_a_guardian_that_is_killed(limited):
    hold(limited, "a smell of burning")
    limited.kill()
    limited.start()
    limited.ready()

    limited.say(limited.limits(500, 500, 500, 500))

    assert limited.state().held
    assert limited.enforced_w() == [400] * 4


def test_a_cleared_one_does_not_come_back_with_a_restart(limited):
    hold(limited)
    clear(limited)
    limited.kill()
    limited.start()

    assert not limited.ready().held


def test_a_file_that_nobody_can_read_holds(limited):
    hold(limited)
    limited.kill()
    (limited.state_dir / "hold.json").write_bytes(b"torn")
    limited.start()

    assert limited.ready().held


def test_grants_go_on_beside_it_and_without_them_the_dead_man_acts_in_both_stages(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=4, fallback_w=300)
    node.ready()
    node.say(node.limits(220, 400, 400, 400, fallback_w=300))
    hold(node)
    end_s = time.monotonic() + 3.0
    while time.monotonic() < end_s:
        assert node.say(node.grant(Hold)).accepted
        time.sleep(0.2)
    granted_w = node.enforced_w()

    wait_until(lambda: node.enforced_w() == [220, 300, 300, 300], 4)
    wait_until(lambda: node.enforced_w() == [300] * 4, 4)  # the fallback is planned for, held or not
    assert granted_w == [220, 400, 400, 400]


def test_a_fallback_may_fall_and_not_rise(limited):
    hold(limited)
    higher = limited.say(limited.limits(400, 400, 400, 500, fallback_w=350))
    lower = limited.say(limited.limits(400, 400, 400, 500, fallback_w=220))

    assert {gpu.fallback_w for gpu in higher.gpus} == {250}
    assert {gpu.fallback_w for gpu in lower.gpus} == {220}


def test_a_restore_is_a_raise_with_leave_or_without(limited):
    hold(limited)
    granted = limited.say(limited.grant(ExitGrant))
    with GuardianLink.open(limited.socket) as link:
        in_the_way = link.restore()

    assert {gpu.refused for gpu in granted.gpus} == {"held"}
    assert in_the_way == dict.fromkeys([f"GPU-{i}" for i in range(4)], "held")
    assert limited.enforced_w() == [400] * 4
    assert limited.state().armed

    clear(limited)
    limited.say(limited.grant(ExitGrant))
    assert limited.enforced_w() == [700] * 4


def test_where_no_guardian_runs_an_operator_restores_and_ends_the_hold_with_it(limited):
    hold(limited)
    limited.kill()

    assert limited.restore_alone() == 0
    assert limited.enforced_w() == [700] * 4
    assert not (limited.state_dir / "hold.json").exists()


def test_it_writes_nothing_and_arms_nothing(node):
    node.start()
    node.ready()
    hold(node)

    assert node.writes == 0
    assert not node.state().armed


def test_a_board_is_taken_under_control_at_what_it_has_or_below(node):
    node.start()
    node.ready()
    hold(node)
    node.say(node.limits(700, 600, 700, 700, fallback_w=250))

    assert node.enforced_w() == [700, 600, 700, 700]
    assert node.state().armed


def test_a_node_that_was_never_armed_is_not_armed_by_raises_that_are_refused(node):
    node.boards.gpus["requested_mw"] = node.boards.gpus["enforced_mw"] = 400e3
    node.start()
    node.ready()
    hold(node)

    ack = node.say(node.limits(500, 500, 500, 500, fallback_w=250))

    assert {gpu.refused for gpu in ack.gpus} == {"held"}
    assert not node.state().armed
    assert node.writes == 0


def test_a_disk_that_takes_nothing_holds_all_the_same_and_says_so(limited):
    (limited.state_dir / "hold.new").mkdir()
    with pytest.raises(LinkRefused, match="held_but_not_stored"):
        hold(limited)

    limited.say(limited.limits(500, 500, 500, 500))
    assert limited.enforced_w() == [400] * 4


def test_a_reason_without_end_is_refused(limited):
    with GuardianLink.open(limited.socket) as link:
        reply = link.ask("hold", b"x" * 300)

    assert (reply.kind, reply.why) == ("refused", "reason_too_long")
    assert not limited.state().held


@pytest.mark.parametrize("verb", ["hold", "clear"])
def test_only_an_operator_may_say_or_clear_it(verb):
    assert may(verb, uid=0, own_uid=10)
    assert may(verb, uid=10, own_uid=10)
    assert not may(verb, uid=11, own_uid=10)


@pytest.mark.parametrize("what", ["no socket", "nobody listens there"])
def test_where_nobody_listens_it_is_said_that_nothing_was_done_and_of_no_guardian_that_it_goes_on(
    tmp_path: Path, what: str
) -> None:
    path = tmp_path / "s"
    if what == "no socket":
        path.write_text("")
    else:
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))

    with pytest.raises(NobodyListens, match=f"{what}; nothing was done") as told, GuardianLink.open(path):
        pass

    assert "goes on by itself" not in str(told.value)
    assert isinstance(told.value, LinkBroken)
