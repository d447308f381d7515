"""Boards and drivers that misbehave: stuck, lost, denied, without limits, late, reordered."""

import signal
import time


def test_a_stuck_board_delays_neither_the_others_nor_the_stop(node, wait_until):
    node.start(leave_s=0.3)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    node.boards.gpus["fault_delay_us"][2] = 120_000_000
    wait_until(lambda: node.state().gpus[2].enforced_w is None, 5)

    began_s = time.monotonic()
    ack = node.say(node.limits(300, 300, 400, 300))

    assert time.monotonic() - began_s < 0.7
    assert [gpu.enforced_w for gpu in ack.gpus] == [300, 300, None, 300]
    assert ack.gpus[2].refused == "no_answer"
    node.signal(signal.SIGTERM)
    assert node.exit_code(5) == 3


def test_a_stuck_board_keeps_its_last_limit_in_mind_and_drops_raises_until_it_is_known(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(300, 700, 700, 700))
    node.boards.gpus["fault_delay_us"][3] = 120_000_000
    wait_until(lambda: node.state().gpus[3].enforced_w is None, 5)

    ack = node.say(node.limits(500, 700, 700, 300))

    assert ack.gpus[0].refused == "lower_unverified"
    assert node.enforced_w()[0] == 300


def test_the_dead_man_does_not_wait_for_a_stuck_board(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=60)
    node.ready()
    node.say(node.limits(500, 500, 500, 500, fallback_w=250))
    node.boards.gpus["fault_delay_us"][0] = 120_000_000

    wait_until(lambda: node.enforced_w() == [500, 250, 250, 250], 3.5)


def test_a_slow_board_that_comes_back_is_taken_to_what_it_shall_hold(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(500, 500, 500, 500))
    node.boards.gpus["fault_delay_us"][0] = 700_000
    # a look takes longer than a command waits
    wait_until(lambda: node.say(node.limits(300, 500, 500, 500)).gpus[0].refused == "no_answer", 5)
    node.boards.gpus["fault_delay_us"][0] = 0

    wait_until(lambda: node.state().gpus[0].enforced_w is not None, 6)
    node.say(node.limits(300, 500, 500, 500))

    wait_until(lambda: node.enforced_w()[0] == 300, 2)


def test_a_lost_board_is_unknown_and_the_others_go_on(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    node.boards.gpus["fault_code"][1] = 15

    wait_until(lambda: node.state().gpus[1].enforced_w is None, 2)
    ack = node.say(node.limits(300, 400, 300, 300))

    assert [gpu.enforced_w for gpu in ack.gpus] == [300, None, 300, 300]
    node.boards.gpus["fault_code"][1] = 0
    wait_until(lambda: node.state().gpus[1].enforced_w == 400, 3)


def test_without_permission_a_node_is_monitored_and_one_message_names_the_capability(node):
    node.boards.header["deny_set"] = 1
    node.start()
    node.ready()

    first = node.say(node.limits(400, 400, 400, 400))
    second = node.say(node.limits(400, 400, 400, 400))

    assert {gpu.refused for gpu in first.gpus} | {gpu.refused for gpu in second.gpus} == {"no_permission"}
    assert len(node.lines()) == 4, "the second command tried nothing"
    assert [gpu.settable for gpu in node.state().gpus] == [False] * 4
    said = node.stderr.read_text()
    assert said.count("CAP_SYS_ADMIN") == 1
    assert "easyrider-guardian" in said
    assert "Traceback" not in said


def test_a_board_without_a_limit_of_its_own_is_not_settable_and_never_written(node):
    node.boards.gpus["capabilities"][0] = 2 | 4 | 8
    node.start()

    state = node.ready()
    ack = node.say(node.limits(400, 400, 400, 400))

    assert [gpu.settable for gpu in state.gpus] == [False, True, True, True]
    assert ack.gpus[0].refused == "not_supported"
    assert ack.gpus[1].refused is None


def test_a_guardian_that_starts_before_the_driver_finds_every_board_later(node, wait_until):
    node.boards.header["driver_state"] = 9
    node.start()
    wait_until(lambda: "NVML does not start; trying again" in node.stderr.read_text(), 5)
    assert node.state().gpus == ()

    node.boards.header["driver_state"] = 0

    assert len(node.ready().gpus) == 4
    assert node.say(node.limits(400, 400, 400, 400)).gpus[3].enforced_w == 400


def test_a_driver_that_answers_nothing_is_opened_anew(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    node.boards.gpus["fault_code"] = 999
    wait_until(lambda: all(gpu.enforced_w is None for gpu in node.state().gpus), 2)
    node.boards.gpus["fault_code"] = 0

    wait_until(lambda: [gpu.enforced_w for gpu in node.state().gpus] == [400] * 4, 4)


def test_orders_follow_the_board_and_not_its_index(node):
    node.start("--keep")
    node.ready()
    node.say(node.limits(300, 400, 500, 600))
    node.kill()
    gpus = node.boards.gpus
    gpus["uuid"][[0, 1]] = gpus["uuid"][[1, 0]]
    gpus["requested_mw"][[0, 1]] = gpus["requested_mw"][[1, 0]]
    gpus["enforced_mw"][[0, 1]] = gpus["enforced_mw"][[1, 0]]

    node.start()
    node.ready()
    ack = node.say(node.limits(350, 400, 500, 600))

    assert {gpu.uuid: gpu.enforced_w for gpu in ack.gpus} == {
        "GPU-0": 350, "GPU-1": 400, "GPU-2": 500, "GPU-3": 600,
    }  # fmt: skip
    assert node.enforced_w() == [400, 350, 500, 600]


def test_a_range_that_changed_while_running_is_the_one_that_counts(node):
    node.start()
    node.ready()
    node.boards.gpus["min_mw"] = 350_000

    ack = node.say(node.limits(300, 400, 700, 700))

    assert ack.gpus[0].refused == "out_of_range 350..700 W"
    assert ack.gpus[1].enforced_w == 400


def test_a_second_guardian_on_the_same_folder_is_refused(node, tmp_path):
    import os
    import subprocess
    import sys

    node.start()
    node.ready()
    environ = os.environ | {
        "EASYRIDER_GUARDIAN_NODE": "n1",
        "EASYRIDER_GUARDIAN_STATE_DIR": str(node.state_dir),
        "EASYRIDER_GUARDIAN_SOCKET_PATH": str(tmp_path / "other.sock"),
    }

    second = subprocess.run(
        [sys.executable, "-m", "easyrider_guardian"], env=environ, capture_output=True, text=True, timeout=10
    )

    assert second.returncode == 1
    assert "another guardian uses" in second.stderr
    assert node.state().node == "n1"


def test_wrong_settings_are_told_all_at_once(tmp_path):
    import os
    import subprocess
    import sys

    environ = os.environ | {"EASYRIDER_GUARDIAN_NODE": "n1", "EASYRIDER_GUARDIAN_DEAD_MAN_S": "nan"}
    environ |= {"EASYRIDER_GUARDIAN_SOKET_PATH": "x"}

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_guardian"], env=environ, capture_output=True, text=True, timeout=10
    )

    assert done.returncode == 2
    for word in ("STATE_DIR", "SOCKET_PATH", "SOKET_PATH", "DEAD_MAN_S"):
        assert word in done.stderr
