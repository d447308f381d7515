"""The sum rule over every mixture of limits: merged over nodes, and apart after a drop of a limit."""

import json

import pytest
from referee_bench import SECOND, Bench


def test_raising_before_lowering_is_seen_though_each_end_state_fits(bench: Bench) -> None:
    bench.all_at(700)
    bench.command("n1", 0, 250)
    bench.truth(4000, hard_w=4500)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.command("n1", 0, 700, after_s=0.01)
    bench.command("n2", 0, 250, after_s=0.01)

    assert bench.verdict()["sum_rule_violations"] == 1


def test_writes_of_two_nodes_are_merged_by_stamp_not_by_node(bench: Bench) -> None:
    bench.all_at(700)
    bench.truth(4000, hard_w=4500)
    bench.command("n2", 0, 250, after_s=0.1)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.command("n2", 1, 250, after_s=0.01)  # n2 lowers first
    bench.command("n2", 0, 700, after_s=0.01)  # and only then raises: 4450 W at most

    assert bench.verdict()["sum_rule_violations"] == 0


def test_a_breach_that_began_before_counting_and_lasts_is_counted(bench: Bench) -> None:
    bench.truth(4000, hard_w=4500)  # defaults: 4900 W
    bench.now_ns += 5 * SECOND
    bench.begin_counting()
    bench.truth(4000, hard_w=4500)

    assert bench.verdict()["sum_rule_violations"] == 1


def test_after_a_drop_of_the_limit_the_window_is_reported_apart(bench: Bench) -> None:
    bench.all_at(700)  # 4900 W
    bench.begin_counting()
    bench.truth(4800)
    bench.truth(4800, hard_w=4000)
    for _ in range(10):
        bench.truth(4800, hard_w=4000)
    bench.command("n1", 0, 250, after_s=0.1)
    bench.command("n2", 0, 250)  # 4000 W
    for _ in range(20):
        bench.truth(3900, hard_w=4000)

    found = bench.verdict()

    assert found["sum_rule_violations"] == 0
    assert found["drop_window_breaches"] == 2
    assert found["drop_window_joules"] == pytest.approx(800 * 1.1, rel=0.01)
    assert found["overload_joules"] == found["target_overload_joules"] == 0


def test_the_window_after_a_drop_ends_and_what_still_stands_is_a_violation(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    bench.truth(4800, hard_w=4000)
    for _ in range(40):
        bench.truth(4800, hard_w=4000)

    found = bench.verdict()

    assert found["sum_rule_violations"] == 1
    assert found["overload_joules"] == pytest.approx(800 * 1.6, rel=0.1)


def test_the_window_ends_half_a_second_after_the_policy_heard(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    bench.truth(4800, hard_w=4000)
    heard = json.dumps({"received_ns": bench.now_ns + SECOND // 10})
    (bench.run / "twin" / "received.jsonl").write_text(heard + "\n")
    bench.command("n1", 0, 250, after_s=1.0)
    bench.command("n2", 0, 250)
    bench.truth(3900, hard_w=4000)

    assert bench.verdict()["sum_rule_violations"] >= 1


def test_an_outside_cap_below_the_request_counts_as_requested(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.files["n1"].gpus["out_of_band_mw"][0] = 250_000
    bench.write("n1", 0, 600, after_s=0.1, enforced_w=250)  # 3600 W once the outside cap ends

    assert bench.verdict()["sum_rule_violations"] == 1


@pytest.mark.parametrize("apart_ns", [1_000_000, 500])
def test_raising_first_is_seen_even_when_the_lower_follows_at_once(bench: Bench, apart_ns: int) -> None:
    bench.all_at(700)
    bench.command("n1", 0, 250)
    bench.truth(4000, hard_w=4500)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.command("n2", 0, 700, after_s=0.1)
    bench.command("n1", 0, 700, after_s=apart_ns / SECOND)
    bench.command("n2", 0, 250, after_s=apart_ns / SECOND)

    found = bench.verdict()

    assert found["sum_rule_violations"] == 1
    assert found["worst_sum_excess_w"] == pytest.approx(400)


def test_a_module_that_fails_between_raise_and_lower_excuses_what_fitted_before_it(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.truth(4000)
    bench.command("n1", 0, 700, after_s=0.01)  # 4300 W of 5000 W
    bench.truth(4000, hard_w=4200, after_s=0.005)
    bench.command("n2", 0, 400, after_s=0.005)
    bench.truth(4000, hard_w=4200)

    found = bench.verdict()

    assert (found["sum_rule_violations"], found["drop_window_breaches"]) == (0, 1)


def test_a_drop_excuses_no_raise_over_the_limit_from_before(bench: Bench) -> None:
    bench.all_at(700)
    bench.truth(4000, hard_w=4900)
    bench.begin_counting()
    bench.truth(4000, hard_w=4000, after_s=3)
    bench.command("n1", 0, 250)
    bench.write("n1", 0, 700, after_s=0.1, enforced_w=810)  # 5010 W: never did that fit
    bench.command("n1", 0, 250, after_s=0.1)

    assert bench.verdict()["sum_rule_violations"] == 1


def test_that_the_policy_had_heard_counts_also_when_the_word_comes_late(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    bench.truth(4800, hard_w=4000)
    dropped_ns = bench.now_ns
    for _ in range(20):
        bench.truth(4800, hard_w=4000)
    bench.command("n1", 0, 250)
    bench.command("n2", 0, 250)
    bench.case.look(bench.now_ns)
    heard = json.dumps({"received_ns": dropped_ns + SECOND // 10})
    (bench.run / "twin" / "received.jsonl").write_text(heard + "\n")

    found = bench.verdict()

    assert found["sum_rule_violations"] >= 1
    assert found["overload_joules"] == pytest.approx(800 * 1.5, rel=0.1)


def test_an_outside_cap_that_ends_before_anybody_looks_hides_nothing(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.write("n1", 0, 600, after_s=0.1, enforced_w=250)
    bench.files["n1"].gpus["enforced_mw"][0] = 600_000

    assert bench.verdict()["sum_rule_violations"] == 1


def test_a_refused_write_under_an_outside_cap_does_not_lower_the_count(bench: Bench) -> None:
    bench.all_at(300)
    bench.write("n1", 0, 600, enforced_w=250)
    bench.write("n1", 0, 900)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)  # 3600 W once the outside cap ends

    assert bench.verdict()["sum_rule_violations"] >= 1
