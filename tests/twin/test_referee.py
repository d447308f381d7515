"""The referee on rings, truth and journals written by hand: each rule has a case that breaks it."""

import ast
from pathlib import Path

import pytest
from referee_bench import SECOND, Bench

import easyrider_twin.referee


def test_limits_that_fit_are_found_clean(bench: Bench) -> None:
    bench.all_at(700)  # 2000 + 100 + 4 x 700 = 4900 W
    bench.begin_counting()
    bench.command("n1", 0, 500)
    bench.command("n2", 1, 700)

    found = bench.verdict()

    assert found["ok"] is True
    assert found["sum_rule_violations"] == found["foreign_writes"] == found["late_commands_applied"] == 0
    assert found["limits_changed"] == 1


def test_a_rogue_700_w_write_breaks_the_sum_rule_and_is_foreign(bench: Bench) -> None:
    bench.all_at(500)
    bench.truth(4000, hard_w=4500)
    bench.now_ns += 3 * SECOND
    bench.begin_counting()
    bench.write("n1", 0, 700)
    bench.command("n1", 1, 700)
    bench.command("n2", 0, 600)

    found = bench.verdict()

    assert found["foreign_writes"] == 1
    assert found["sum_rule_violations"] == 1  # 4600 W at the end; 4300 and 4500 W before it fit
    assert found["worst_sum_excess_w"] == pytest.approx(100)
    assert found["ok"] is False


def test_nothing_counts_before_counting_begins_and_unknown_is_not_zero(bench: Bench) -> None:
    bench.write("n1", 0, 900)

    found = bench.verdict()

    assert found["sum_rule_violations"] is None
    assert found["limit_out_of_range"] is None
    assert found["ok"] is False


def test_trips_are_taken_from_what_happened(bench: Bench) -> None:
    bench.begin_counting()
    bench.truth(5000, event="trip", domain="rack", multiple=1.4)

    assert bench.verdict()["trips"] == 1


def test_a_nested_domain_does_not_count_the_same_watts_twice(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    for _ in range(11):
        bench.truth(5100)

    found = bench.verdict()

    assert found["overload_joules"] == pytest.approx(110, rel=0.11)


def test_the_referee_imports_nothing_of_ours_but_itself() -> None:
    folder = Path(easyrider_twin.referee.__file__).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("easyrider") or name.startswith("easyrider_twin.referee"), (
                    file,
                    name,
                )
                assert name.split(".")[0] not in {"yaml", "msgspec", "nats", "redis"}, (file, name)
