"""The referee on rings, truth and journals written by hand: each rule has a case that breaks it."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from referee_bench import SECOND, Bench

import easyrider_twin.referee
from easyrider_twin.domains import Domains
from easyrider_twin.layout import layout
from easyrider_twin.referee import site
from easyrider_twin.world import Domain, Node, World, dump


def test_limits_that_fit_are_found_clean(bench: Bench) -> None:
    bench.all_at(700)  # 2000 + 100 + 4 x 700 = 4900 W
    bench.begin_counting()
    bench.command("n1", 0, 500)
    bench.command("n2", 1, 700)
    bench.truth(4800)

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


def test_without_a_word_of_the_twin_trips_and_joules_are_unknown_and_nothing_is_fine(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 400)

    found = bench.verdict()

    assert found["trips"] is found["overload_joules"] is None
    assert (found["sum_rule_violations"], found["ok"]) == (0, False)


def test_a_counting_file_that_appears_late_loses_no_joules(bench: Bench) -> None:
    from_ns = bench.now_ns + SECOND
    for _ in range(50):
        bench.truth(5200)
        bench.case.look(bench.now_ns + SECOND)
    (bench.run / "twin" / "counting.json").write_text(json.dumps({"from_ns": from_ns}))

    found = bench.verdict()

    assert found["overload_joules"] == pytest.approx(200 * 4.1)
    assert found["highest_w"] == {"rack": 5200}


def test_a_drop_the_twin_tells_of_after_its_time_was_judged_is_no_whole_evidence(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.truth(4000)
    bench.case.look(bench.now_ns + 5 * SECOND)
    bench.truth(4000)

    found = bench.verdict()

    assert found["out_of_order"] == 1
    assert found["ok"] is False


def test_the_sum_rule_counts_the_very_watts_that_the_tree_would_carry() -> None:
    world = World(
        name="tree",
        nodes=(
            Node(id="a", domain="left", gpus=3, overhead_w=900.0, overhead_slope=1.1),
            Node(id="b", domain="right", gpus=2, overhead_w=1700.0, overhead_slope=1.3),
        ),
        domains=(
            Domain(id="top", kind="ups", rating_w=1e4, hard_limit_w=1e4, target_w=1e4, fixed_w=100),
            Domain(id="left", kind="pdu", parent="top", rating_w=1e4, hard_limit_w=1e4, target_w=1e4, fixed_w=30),
            Domain(id="right", kind="pdu", parent="top", rating_w=1e4, hard_limit_w=1e4, target_w=1e4, fixed_w=7),
        ),
    )  # fmt: skip
    limits_w = {"a": [210.0, 340.0, 700.0], "b": [455.5, 600.0]}
    tree = Domains(world, layout(world))
    tree.load(np.concatenate(list(limits_w.values())), 0.0, 0.0)

    ground = site.parse(dump(world))

    for domain, wall_w in tree.by_id(tree.wall_w).items():
        assert ground.sum_w(domain, limits_w) == pytest.approx(wall_w)
