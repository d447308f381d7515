"""Writes held against their guardian's lines: late, foreign, out of range, and what they changed."""

from referee_bench import SECOND, Bench

UNKNOWN = 999


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


def test_a_refused_attempt_of_a_stranger_is_out_of_range_foreign_and_no_change(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.write("n1", 0, 900)
    bench.command("n1", 1, 900)

    found = bench.verdict()

    assert (found["limit_out_of_range"], found["foreign_writes"], found["limits_changed"]) == (2, 1, 0)
    assert found["sum_rule_violations"] == 0


def test_a_setter_that_failed_without_effect_changes_nothing(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.write("n1", 0, 700, answer=UNKNOWN)

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["limits_changed"]) == (0, 0)


def test_a_setter_that_failed_and_did_it_counts_by_what_is_enforced(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.write("n1", 0, 700, answer=UNKNOWN, enforced_w=700)

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["limits_changed"]) == (1, 1)


def test_a_board_that_took_more_than_it_was_asked_counts_with_what_it_enforces(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.command("n1", 0, 250)
    bench.write("n1", 0, 250, enforced_w=700)

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["limits_changed"]) == (1, 2)


def test_only_writes_that_move_an_enforced_limit_after_counting_began_are_changes(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 500)
    bench.command("n1", 0, 450, after_s=0.1)
    bench.command("n1", 0, 450, after_s=0.1)
    bench.command("n1", 0, 500, after_s=0.1)

    assert bench.verdict()["limits_changed"] == 2


def test_one_line_covers_one_write(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 450)
    bench.write("n1", 0, 450, after_s=0.01)

    assert bench.verdict()["foreign_writes"] == 1


def test_an_unknown_cause_is_held_to_be_a_command(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480, age_s=9.0, cause="tuning")

    assert bench.verdict()["late_commands_applied"] == 1


def test_a_nonce_minted_after_the_write_proves_no_lease(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480, age_s=-1.0)

    assert bench.verdict()["late_commands_applied"] == 1


def test_a_journal_that_was_cut_and_written_anew_is_read_again(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.case.look(bench.now_ns)
    (bench.run / "n1" / "writes.jsonl").write_text("")
    bench.command("n1", 0, 480)

    assert bench.verdict()["foreign_writes"] == 0
