"""Restore is a raise: only with leave, verified, and else the lower of present and fallback."""

import json
import signal
import threading
import time

import msgspec
import pytest

from easyrider import wire
from easyrider.guardian_link import Frames, GuardianLink, Reply, Request, as_leaving, frame
from easyrider.messages import ExitGrant


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_without_leave_holds_the_lower_of_present_and_fallback_and_says_so(node, number):
    node.start(leave_s=0.5)
    node.ready()
    node.say(node.limits(220, 400, 400, 400, fallback_w=250))

    began_s = time.monotonic()
    node.signal(number)

    assert node.exit_code() == 3
    assert 0.4 < time.monotonic() - began_s < 3
    assert node.enforced_w() == [220, 250, 250, 250]
    assert (node.state_dir / "baseline.json").exists()
    assert "`easyrider-guardian --restore` finishes it" in node.stderr.read_text()


def test_a_stop_with_leave_restores_what_was_found_and_removes_the_baseline(node):
    node.boards.gpus["requested_mw"][0] = node.boards.gpus["enforced_mw"][0] = 480_000
    node.start()
    node.ready()
    node.say(node.limits(220, 400, 400, 400))
    wishes = _watch(node)

    node.signal(signal.SIGTERM)
    wish = wishes()
    assert {gpu.uuid: gpu.baseline_w for gpu in wish.gpus} == {
        "GPU-0": 480, "GPU-1": 700, "GPU-2": 700, "GPU-3": 700,
    }  # fmt: skip
    ack = node.say(node.grant(ExitGrant))

    assert ack.accepted
    assert node.exit_code() == 0
    assert node.enforced_w() == [480, 700, 700, 700]
    assert not (node.state_dir / "baseline.json").exists()
    assert {line["cause"] for line in node.lines()[4:]} == {"exit"}


def test_a_second_signal_neither_hurries_nor_breaks_the_stop(node, wait_until):
    node.start(leave_s=1.0)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    node.signal(signal.SIGHUP)
    wait_until(lambda: node.state().leaving, 0.8)
    node.signal(signal.SIGTERM)
    assert node.state().leaving  # asked after the signal came, so answered after it was noted
    node.say(node.grant(ExitGrant))

    assert node.exit_code() == 0
    assert node.enforced_w() == [700] * 4


def test_a_stop_that_keeps_leaves_limits_and_goes_on_counting_afterwards(node, wait_until):
    node.start("--keep", dead_man_s=3)
    node.ready()
    node.say(node.limits(400, 400, 400, 400, fallback_w=250))

    node.signal(signal.SIGTERM)
    assert node.exit_code() == 0
    assert node.enforced_w() == [400] * 4
    node.start(dead_man_s=3)

    assert node.state().armed
    wait_until(lambda: node.enforced_w() == [250] * 4, 4)


def test_an_unarmed_guardian_stops_at_once_and_writes_nothing(node):
    node.start()
    node.ready()

    node.signal(signal.SIGTERM)

    assert node.exit_code(2) == 0
    assert node.writes == 0


def test_the_baseline_is_of_the_first_contact_also_after_a_crash(node):
    node.boards.gpus["requested_mw"] = node.boards.gpus["enforced_mw"] = 450_000
    node.start()
    node.ready()
    node.say(node.limits(300, 300, 300, None))
    node.kill()
    node.start()
    node.ready()
    node.say(node.limits(350, 350, 350, 350))

    node.signal(signal.SIGTERM)
    node.say(node.grant(ExitGrant))

    assert node.exit_code() == 0
    assert node.enforced_w() == [450] * 4


def test_leave_for_some_boards_lets_go_of_those_alone(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    ack = node.say(node.grant(ExitGrant, gpus=("GPU-1",)))

    assert ack.accepted
    assert node.enforced_w() == [400, 700, 400, 400]
    state = node.state()
    assert state.armed
    assert [gpu.controlled for gpu in state.gpus] == [True, False, True, True]
    assert [gpu.baseline_w for gpu in state.gpus] == [700, None, 700, 700]


def test_a_restore_that_is_not_verified_keeps_the_baseline_on_file(node):
    node.start(leave_s=0.5)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    node.boards.gpus["write_fault"][2] = 1

    ack = node.say(node.grant(ExitGrant))

    assert ack.gpus[2].refused == "not_verified"
    assert node.enforced_w() == [700, 700, 400, 700]
    kept = json.loads((node.state_dir / "baseline.json").read_text().splitlines()[0])
    assert set(kept["gpus"]) == {"GPU-2"}


def test_an_operator_restores_without_a_coordinator_and_the_guardian_is_disarmed(node):
    node.start(dead_man_s=2, second_stage_s=3)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    with GuardianLink.open(node.socket) as link:
        assert link.restore() == {}
    time.sleep(3.5)  # longer than both stages would have taken

    assert not node.state().armed
    assert node.enforced_w() == [700] * 4
    assert node.lines()[-1]["cause"] == "restore"


def test_leaving_by_word_without_an_answer_ends_in_the_lower_limit_and_goes_on(node, wait_until):
    node.start(leave_s=0.5)
    node.ready()
    node.say(node.limits(400, 400, 400, 400, fallback_w=250))

    with GuardianLink.open(node.socket) as link:
        link.leave()
    assert node.state().leaving

    wait_until(lambda: not node.state().leaving)
    assert node.enforced_w() == [250] * 4
    assert node.state().armed


def test_fences_outlive_disarming(node):
    node.start()
    node.ready()
    old = node.limits(400, 400, 400, 400)
    node.say(node.limits(400, 400, 400, 400))
    node.say(node.grant(ExitGrant))
    node.kill()
    node.start()
    node.ready()

    assert node.say(old).refused == "stale_seq"


def _watch(node):
    """A watcher; what it returns gives the first wish to leave."""
    found = []

    def listen():
        with GuardianLink.open(node.socket, 10) as link:
            link._connection.sendall(frame(Request(id=1, verb="watch")))
            ready.set()
            frames = Frames()
            while not found:
                for reply in frames.feed(link._connection.recv(65536), Reply):
                    if reply.kind == "leaving":
                        found.append(as_leaving(reply))

    ready = threading.Event()
    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(5)

    def first():
        thread.join(10)
        assert found, "no wish to leave came"
        assert wire.encode(found[0])
        assert msgspec.to_builtins(found[0])["reason"] == "SIGTERM"
        return found[0]

    return first


def test_restoring_where_no_guardian_runs_finishes_what_a_stop_could_not(node):
    node.start(leave_s=0.3)
    node.ready()
    node.say(node.limits(400, 400, 400, 400, fallback_w=250))
    node.signal(signal.SIGTERM)
    assert node.exit_code() == 3
    assert node.enforced_w() == [250] * 4

    assert node.restore_alone() == 0

    assert node.enforced_w() == [700] * 4
    assert not (node.state_dir / "baseline.json").exists()
    assert node.lines()[-1]["cause"] == "restore"
    assert node.restore_alone() == 0, "a second time there is nothing to do"


def test_restoring_alone_is_refused_beside_a_running_guardian(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    assert node.restore_alone() == 1
    assert node.enforced_w() == [400] * 4
