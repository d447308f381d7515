"""The page of promises names tests that are there, and its runner tells broken from untried."""

import ast
from pathlib import Path

from promises import ROOT, outcomes, promised, verdict

WANTED = {f"P{n}" for n in (*range(11, 18), 21, 24, *range(28, 36))}
REPORT = """<testsuites><testsuite>
<testcase classname="tests.a.test_x" name="test_one[1]"/><testcase classname="tests.a.test_x" name="test_one[2]"/>
<testcase classname="tests.a.test_x" name="test_two"><failure/></testcase>
<testcase classname="tests.a.test_y" name="test_three"><skipped/></testcase>
</testsuite></testsuites>"""


def _functions(file: Path) -> set[str]:
    found = ast.walk(ast.parse(file.read_text()))
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_promise_has_tests_and_every_test_is_there() -> None:
    rows = promised()

    assert set(rows) == WANTED
    for number, (_, tests) in rows.items():
        assert tests, number
        for test in tests:
            file, _, name = test.partition("::")
            assert (ROOT / file).is_file(), test
            assert not name or name in _functions(ROOT / file), test


def test_the_run_of_three_coordinators_stands_behind_every_promise_on_commands_memory_and_regions() -> None:
    for number in ("P11", "P12", "P13", "P14", "P15", "P16", "P17", "P21", "P24"):
        assert any("faults/test_regions.py" in test for test in promised()[number][1]), number


def test_a_promise_is_broken_by_one_failure_and_not_held_by_what_was_not_tried(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    found = outcomes(tmp_path / "report.xml")
    x, y = "tests/a/test_x.py", "tests/a/test_y.py"

    assert verdict([f"{x}::test_one"], found) == "held"
    assert verdict([x], found) == "BROKEN"
    assert verdict([f"{x}::test_one", y], found).startswith("held, but")
    assert verdict([f"{x}::test_nowhere"], found).startswith("held, but")
