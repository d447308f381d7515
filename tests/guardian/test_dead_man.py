"""Nobody grants any more: two stages, that outlive kills, crash loops, lost files and a clock that is set."""

import json
import os
import signal
import sys
import time

from easyrider.messages import Hold

LOW, HIGH = 220.0, 500.0


def test_without_a_grant_limits_fall_to_the_fallback_and_what_is_lower_stays(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=5)
    node.ready()
    command = node.limits(LOW, HIGH, HIGH, HIGH, fallback_w=250)
    mint_s = (command.nonce >> 15) / 1e6
    node.say(command)

    wait_until(lambda: node.enforced_w() == [LOW, 250, 250, 250], 3.5)

    assert 2.0 <= _boot_s() - mint_s <= 3.0
    assert node.state().stage == 1
    assert {line["cause"] for line in node.lines()[4:]} == {"dead_man_1"}


def test_the_second_stage_goes_to_the_fallback_also_where_that_is_a_raise(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=3)
    node.ready()
    node.say(node.limits(LOW, HIGH, HIGH, HIGH, fallback_w=250))

    wait_until(lambda: node.enforced_w() == [250] * 4, 5)

    assert node.state().stage == 2
    assert node.lines()[-1]["cause"] == "dead_man_2"


def test_a_hold_restarts_the_dead_man_and_gives_nothing_back(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=60)
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))
    wait_until(lambda: node.state().stage == 1, 4)
    wait_until(lambda: node.enforced_w() == [250] * 4)
    before = node.writes

    assert node.say(node.grant(Hold)).accepted

    assert node.state().stage == 0
    assert node.writes == before
    assert node.enforced_w() == [250] * 4


def test_grants_keep_the_dead_man_away(node):
    node.start(dead_man_s=2, second_stage_s=3)
    node.ready()
    end_s = time.monotonic() + 4
    while time.monotonic() < end_s:
        assert node.say(node.limits(HIGH, HIGH, HIGH, HIGH)).accepted
        time.sleep(0.3)  # so often it is granted

    assert node.state().stage == 0
    assert node.writes == 4


def test_a_crash_loop_does_not_put_the_dead_man_off(node, wait_until):
    node.start(dead_man_s=3, second_stage_s=60)
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))
    began_s = time.monotonic()

    while node.enforced_w() != [250] * 4:
        assert time.monotonic() - began_s < 8
        node.kill()
        node.start(dead_man_s=3, second_stage_s=60)
        time.sleep(0.6)  # so long it lives each time

    assert time.monotonic() - began_s > 1.9


def test_a_frozen_guardian_acts_as_soon_as_it_runs_again(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=60)
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))

    node.signal(signal.SIGSTOP)
    time.sleep(3)  # the freeze itself: longer than the first stage
    assert node.enforced_w() == [HIGH] * 4
    node.signal(signal.SIGCONT)

    wait_until(lambda: node.enforced_w() == [250] * 4, 1.5)


def test_a_state_that_is_gone_counts_as_expired(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))
    node.kill()
    (node.state_dir / "state.json").unlink()

    node.start(fallback_w=333)

    wait_until(lambda: node.enforced_w() == [333] * 4, 3)
    assert node.state().stage == 1


def test_a_damaged_state_counts_as_expired_and_without_a_setting_the_minimum_is_the_fallback(
    node, wait_until
):
    node.start()
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))
    node.kill()
    path = node.state_dir / "state.json"
    path.write_bytes(path.read_bytes()[:-30])

    node.start(fallback_w="")

    wait_until(lambda: node.enforced_w() == [200] * 4, 3)


def test_a_state_of_another_boot_counts_as_expired_with_its_own_fallback(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250))
    node.kill()
    _rewrite(node.state_dir / "state.json", boot_id="another")
    node.boards.gpus["requested_mw"] = node.boards.gpus["enforced_mw"] = 700_000  # boards come up uncapped

    node.start()

    wait_until(lambda: node.enforced_w() == [250] * 4, 3)


def test_both_files_damaged_puts_every_board_under_the_dead_man(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(HIGH, None, None, None, fallback_w=250))
    node.kill()
    for name in ("state.json", "baseline.json"):
        (node.state_dir / name).write_bytes(b"\x00\x01")

    node.start(fallback_w=300)

    wait_until(lambda: node.enforced_w() == [300] * 4, 3)


def test_a_kill_between_store_and_write_leaves_a_memory_of_the_command_and_a_running_countdown(
    node, wait_until
):
    node.start(dead_man_s=4, second_stage_s=60)
    node.ready()
    node.boards.gpus["fault_delay_us"] = (
        45_000  # a look takes 0.18 s, so a write comes as long after the store
    )
    command = node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250)
    child = os.fork()
    if child == 0:
        try:
            node.say(command)
        finally:
            os._exit(0)
    wait_until(lambda: (node.state_dir / "state.json").exists(), 3, 0.001)
    node.kill()
    os.waitpid(child, 0)
    assert node.enforced_w() == [700] * 4, "killed too late to show anything"
    assert node.stored()["seq"] == command.seq
    node.boards.gpus["fault_delay_us"] = 0

    node.start(dead_man_s=4, second_stage_s=60)
    node.ready()

    assert node.say(command).refused == "stale_seq"
    wait_until(lambda: node.enforced_w() == [250] * 4, 6)
    baseline = json.loads((node.state_dir / "baseline.json").read_text().splitlines()[0])
    assert {found["requested_w"] for found in baseline["gpus"].values()} == {700}


def test_setting_the_clock_changes_nothing(node, wait_until):
    jump = (
        "import time; real = time.time_ns; n = [0]\n"
        "def leap():\n"
        "    n[0] += 1\n"
        "    return real() + (-1) ** n[0] * 6 * 3600 * 10**9\n"
        "time.time_ns = leap; time.time = lambda: leap() / 1e9\n"
        "from easyrider_guardian.__main__ import main; raise SystemExit(main())"
    )
    node.start(program=[sys.executable, "-c", jump], dead_man_s=2, second_stage_s=60)
    node.ready()
    end_s = time.monotonic() + 3
    while time.monotonic() < end_s:
        assert node.say(node.limits(HIGH, HIGH, HIGH, HIGH, fallback_w=250)).accepted
        time.sleep(0.2)  # so often it is granted
    assert node.enforced_w() == [HIGH] * 4

    wait_until(lambda: node.enforced_w() == [250] * 4, 3.5)


def test_a_guardian_that_cannot_store_lowers_and_never_raises(node):
    node.start(dead_man_s=4, second_stage_s=60)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    (node.state_dir / "state.new").mkdir()  # where the next state would be written

    ack = node.say(node.limits(300, 500, 400, 400))

    assert (ack.accepted, ack.refused) == (True, "cannot_store")
    assert [gpu.refused for gpu in ack.gpus] == [None, "cannot_store", None, None]
    assert node.enforced_w() == [300, 400, 400, 400]


def test_a_guardian_that_cannot_store_a_baseline_is_not_armed(node):
    node.start()
    node.ready()
    (node.state_dir / "baseline.new").mkdir()

    ack = node.say(node.limits(300, 300, 300, 300))

    assert (ack.accepted, ack.refused) == (False, "cannot_store")
    assert not node.state().armed
    assert node.writes == 0


def _rewrite(path, **fields):
    import zlib

    body = json.dumps(json.loads(path.read_text().splitlines()[0]) | fields).encode()
    path.write_bytes(body + b"\n%08x\n" % zlib.crc32(body))


def _boot_s():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e9
