"""Writes held against their guardian's lines: late, foreign, out of range, and what they changed."""

from referee_bench import SECOND, Bench


def test_a_command_written_after_its_lease_is_late(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480, age_s=7.0)
    bench.command("n1", 1, 480, age_s=4.9)

    assert bench.verdict()["late_commands_applied"] == 1


def test_a_guardian_that_froze_between_its_line_and_its_write_is_late_and_foreign(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    told_ns = bench.now_ns
    bench.command("n1", 0, 480)
    file = bench.files["n1"]
    place = int(file.header["ring_head"]) - 1
    file.ring["stamp_ns"][place] = told_ns + 20 * SECOND
    bench.now_ns += 21 * SECOND

    found = bench.verdict()

    assert (found["late_commands_applied"], found["foreign_writes"]) == (1, 1)


def test_a_journal_that_was_rotated_is_read_to_its_end(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480)
    bench.case.look(bench.now_ns)
    bench.command("n1", 0, 470, after_s=0.1)
    (bench.run / "n1" / "writes.jsonl").rename(bench.run / "n1" / "writes.jsonl.1")
    bench.command("n1", 0, 460, after_s=0.1)

    assert bench.verdict()["foreign_writes"] == 0


def test_a_dead_man_is_never_late(bench: Bench) -> None:
    bench.begin_counting()
    bench.command("n1", 0, 300, age_s=60.0, cause="dead_man_2")

    assert bench.verdict()["late_commands_applied"] == 0


def test_a_value_outside_the_range_counts_even_though_the_board_refused_it(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 150)
    bench.command("n1", 1, 750)

    found = bench.verdict()

    assert found["limit_out_of_range"] == 2
    assert found["limits_changed"] == 0
