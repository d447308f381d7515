"""The ring of writes: nothing is missed, and what could be missed is a failure."""

import pytest
from referee_bench import SECOND, Bench

from easyrider_twin import statefile
from easyrider_twin.referee import rings
from easyrider_twin.referee.__main__ import main


def test_an_overrun_ring_is_a_failure(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.case.look(bench.now_ns)
    for _ in range(statefile.RING_CAPACITY + 3):
        bench.write("n1", 0, 500)

    found = bench.verdict()

    assert found["ring_overruns"] == 3
    assert found["ok"] is False


def test_a_full_ring_read_in_time_is_no_overrun(bench: Bench) -> None:
    for _ in range(3):
        for _ in range(statefile.RING_CAPACITY):
            bench.write("n1", 0, 500)
        bench.case.look(bench.now_ns)

    assert bench.verdict()["ring_overruns"] == 0


def test_a_writer_killed_after_its_change_leaves_that_one_limit_counted(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3500)
    bench.begin_counting()
    bench.truth(3000, hard_w=3500, after_s=3)
    bench.command("n1", 0, 700)  # 3700 W
    bench.files["n1"].ring["seq"][int(bench.files["n1"].header["ring_head"]) - 1] = 0
    look_until_passed_over(bench)

    found = bench.verdict()

    assert (found["unfinished_writes"], found["sum_rule_violations"]) == (1, 1)
    assert (found["limits_changed"], found["foreign_writes"], found["late_commands_applied"]) == (1, 0, 0)


def test_a_limit_that_stood_only_until_the_next_write_is_not_lost_with_its_writer(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3500)
    bench.begin_counting()
    bench.truth(3000, hard_w=3500, after_s=3)
    bench.write("n1", 0, 700)
    bench.files["n1"].ring["seq"][int(bench.files["n1"].header["ring_head"]) - 1] = 0
    bench.case.look(bench.now_ns)
    bench.command("n1", 0, 300, after_s=0.1)
    look_until_passed_over(bench)

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["foreign_writes"], found["limits_changed"]) == (1, 1, 2)


def test_a_writer_killed_before_its_change_leaves_nothing_to_count(bench: Bench) -> None:
    bench.all_at(300)
    bench.begin_counting()
    bench.begin("n1")
    look_until_passed_over(bench)

    found = bench.verdict()

    assert found["unfinished_writes"] == 1
    assert (found["limits_changed"], found["foreign_writes"], found["sum_rule_violations"]) == (0, 0, 0)


def test_a_frozen_writer_that_wakes_after_it_was_passed_over_is_still_seen(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3500)
    bench.begin_counting()
    bench.truth(3000, hard_w=3500, after_s=3)
    place = bench.begin("n1")
    look_until_passed_over(bench)
    bench.files["n1"].gpus["enforced_mw"][0] = 700_000
    bench.finish("n1", place, 0, 700)

    found = bench.verdict()

    assert (found["unfinished_writes"], found["sum_rule_violations"], found["foreign_writes"]) == (0, 1, 1)


def test_other_nodes_are_judged_only_when_an_unfinished_write_of_before_is_known(bench: Bench) -> None:
    bench.all_at(700)
    bench.truth(4000, hard_w=4500)
    bench.command("n2", 0, 250, after_s=0.1)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.case.look(bench.now_ns)
    place = bench.begin("n1")  # the lower, whose writer was held up
    lowered_ns = bench.now_ns = bench.now_ns + SECOND // 100
    bench.write("n2", 0, 700, after_s=0.01)
    for _ in range(4):
        bench.truth(4000, hard_w=4500)
        bench.case.look(bench.now_ns)
    raised_until_ns, bench.now_ns = bench.now_ns, lowered_ns
    bench.files["n1"].gpus["enforced_mw"][0] = 250_000
    bench.finish("n1", place, 0, 250)
    bench.now_ns = raised_until_ns

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["out_of_order"]) == (0, 0)


def test_a_state_file_put_in_place_of_the_watched_one_is_a_failure(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.truth(4000)
    statefile.create(bench.run / "n2" / "nvml.state", 2, "n2")

    found = bench.verdict()

    assert found["rings_replaced"] == 1
    assert found["ok"] is False


@pytest.mark.parametrize("content", [None, b"", b"x" * 100, b"x" * 10_000])
def test_a_node_without_a_usable_file_ends_the_referee_with_code_2_and_its_name(
    bench: Bench, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (bench.run / "n2" / "nvml.state").unlink()
    if content is not None:
        (bench.run / "n2" / "nvml.state").write_bytes(content)
    (bench.run / "twin" / "ready").touch()

    assert main(["--run", str(bench.run)]) == 2
    assert "n2" in capsys.readouterr().err


def look_until_passed_over(bench: Bench) -> None:
    for _ in range(rings.UNFINISHED_POLLS + 1):
        bench.now_ns += SECOND // 20
        bench.case.look(bench.now_ns)


def test_the_layout_agrees_with_the_one_the_library_writes() -> None:
    assert (rings.MAGIC, rings.VERSION) == (statefile.MAGIC, statefile.VERSION)
    assert (rings.HEADER_SIZE, rings.GPU_SIZE, rings.RING_ENTRY_SIZE) == (
        statefile.HEADER_SIZE, statefile.GPU_SIZE, statefile.RING_ENTRY_SIZE,
    )  # fmt: skip
    for mine, theirs in (
        (rings.HEADER, statefile.HEADER),
        (rings.GPU, statefile.GPU),
        (rings.RING, statefile.RING),
    ):
        for name in mine.names:
            assert mine.fields[name] == theirs.fields[name], name
