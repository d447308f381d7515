"""What a guardian writes, over the real binding and the simulated library."""

import time

from easyrider.messages import Hold

RING_SLACK_NS = 50_000_000


def test_limits_are_written_and_read_back(node):
    node.start()
    node.ready()

    ack = node.say(node.limits(400, 410.5, 420, 700))

    assert ack.accepted
    assert [gpu.enforced_w for gpu in ack.gpus] == [400, 410.5, 420, 700]
    assert node.enforced_w() == [400, 410.5, 420, 700]
    assert node.writes == 3, "a board that holds its limit already is not written"


def test_every_write_of_the_hardware_has_a_line_with_its_lease(node):
    node.start()
    node.ready()
    command = node.limits(400, 410, 420, 430)

    node.say(command)

    ring, lines = node.boards.ring[: node.writes], node.lines()
    assert len(ring) == len(lines) == 4
    for entry in ring:
        (line,) = (line for line in lines if line["gpu"] == entry["gpu"])
        assert 0 <= int(entry["stamp_ns"]) - line["stamp_ns"] < RING_SLACK_NS
        assert line["requested_w"] * 1000 == entry["requested_mw"]
        assert (line["cause"], line["epoch"], line["seq"], line["ttl_s"]) == ("command", 1, command.seq, 2.0)
        assert 0 < line["stamp_ns"] - line["mint_ns"] < 2e9
        assert line["uuid"] == f"GPU-{line['gpu']}"
    assert all(line["verified"] for line in node.lines("read_backs.jsonl"))


def test_an_unarmed_guardian_writes_nothing(node, wait_until):
    node.start()
    node.ready()

    ack = node.say(node.limits(None, None, None, None))
    hold = node.say(node.grant(Hold))
    for watts in (650.0, 640.0):  # it looks twice, and would have had time to write
        node.boards.gpus["requested_mw"][0] = node.boards.gpus["enforced_mw"][0] = watts * 1e3
        wait_until(lambda watts=watts: node.state().gpus[0].enforced_w == watts, 5)

    assert ack.accepted
    assert hold.accepted
    assert not node.state().armed
    assert node.writes == 0
    assert not (node.state_dir / "baseline.json").exists()


def test_a_board_without_watts_in_the_vector_is_never_written(node, wait_until):
    node.start(dead_man_s=2, second_stage_s=3)
    node.ready()

    node.say(node.limits(400, None, None, None))
    wait_until(lambda: node.state().stage == 2, 5)
    wait_until(lambda: node.enforced_w()[0] == 250)

    assert {int(entry["gpu"]) for entry in node.boards.ring[: node.writes]} == {0}


def test_an_entry_out_of_range_is_refused_with_the_range_and_never_reaches_the_driver(node):
    node.start()
    node.ready()

    ack = node.say(node.limits(150, 701, 400, 0))

    assert [gpu.refused for gpu in ack.gpus] == [
        "out_of_range 200..700 W",
        "out_of_range 200..700 W",
        None,
        "out_of_range 200..700 W",
    ]
    assert node.enforced_w() == [700, 700, 400, 700]
    assert all(200_000 <= entry["requested_mw"] <= 700_000 for entry in node.boards.ring[: node.writes])


def test_a_percentage_that_lands_just_under_the_minimum_means_the_minimum(node):
    node.start()
    node.ready()

    ack = node.say(node.limits(199.2, 700, 700, 700))

    assert ack.gpus[0].requested_w == 200
    assert ack.gpus[0].refused is None


def test_lowers_come_before_raises(node):
    node.start()
    node.ready()
    node.say(node.limits(300, 300, 700, 700))
    before = node.writes

    ack = node.say(node.limits(500, 500, 300, 300))

    assert [gpu.enforced_w for gpu in ack.gpus] == [500, 500, 300, 300]
    order = [int(entry["gpu"]) for entry in node.boards.ring[before : node.writes]]
    assert set(order[:2]) == {2, 3}
    assert set(order[2:]) == {0, 1}


def test_one_lower_that_is_not_read_back_drops_every_raise_of_the_message(node):
    node.start()
    node.ready()
    node.say(node.limits(300, 300, 700, 700))
    node.boards.gpus["write_fault"][3] = 1  # the setter succeeds and changes nothing

    ack = node.say(node.limits(500, 500, 300, 300))

    assert [gpu.refused for gpu in ack.gpus] == ["lower_unverified", "lower_unverified", None, "not_verified"]
    assert node.enforced_w() == [300, 300, 300, 700]


def test_a_refused_lower_drops_the_raises_too(node):
    node.start()
    node.ready()
    node.say(node.limits(300, 300, 700, 700))

    ack = node.say(node.limits(500, 300, 700, 100))

    assert ack.gpus[0].refused == "lower_unverified"
    assert node.enforced_w() == [300, 300, 700, 700]


def test_three_writes_without_effect_quarantine_a_board_until_one_has(node, wait_until):
    node.start()
    node.ready()
    node.boards.gpus["write_fault"][0] = 1
    node.say(node.limits(400, 700, 700, 700))

    wait_until(lambda: not node.state().gpus[0].settable, 5)
    assert node.writes <= 4
    node.boards.gpus["write_fault"][0] = 0
    wait_until(lambda: node.enforced_w()[0] == 400, 7)
    wait_until(lambda: node.state().gpus[0].settable)


def test_a_write_that_reports_an_error_and_took_effect_counts_by_its_read_back(node):
    node.start()
    node.ready()
    node.boards.gpus["write_fault"][0] = 4

    ack = node.say(node.limits(400, 700, 700, 700))

    assert ack.gpus[0].refused is None
    assert ack.gpus[0].enforced_w == 400


def test_a_limit_that_falls_back_to_stock_is_repaired_within_a_period(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))

    node.boards.gpus["requested_mw"][1] = node.boards.gpus["enforced_mw"][1] = 700_000
    wait_until(lambda: node.enforced_w()[1] == 400, 1.0)

    assert [line["cause"] for line in node.lines()][-1] == "repair"


def test_a_foreign_writer_is_answered_at_most_once_a_second(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    before = node.writes

    end_s = time.monotonic() + 3
    while time.monotonic() < end_s:
        node.boards.gpus["requested_mw"][1] = node.boards.gpus["enforced_mw"][1] = 600_000
        time.sleep(0.02)  # so often the foreign writer comes back

    assert 2 <= node.writes - before <= 4


def test_an_outside_cap_is_left_alone(node, wait_until):
    node.start(dead_man_s=10)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    before = node.writes

    node.boards.gpus["out_of_band_mw"][1] = 250_000
    wait_until(lambda: node.state().gpus[1].enforced_w == 250, 3)
    ack = node.say(node.limits(400, 400, 400, 400))

    assert node.writes == before
    assert (ack.gpus[1].requested_w, ack.gpus[1].enforced_w) == (400, 250)
