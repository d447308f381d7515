"""The page of promises names tests that are there, and its runner tells broken from untried."""

import ast
import subprocess
from pathlib import Path

import pytest
from promises import ROOT, main, outcomes, promised, verdict

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


@pytest.mark.parametrize("words", [["P99"], ["p14"], ["P14", "P99"], ["--help"], ["--fast"]])
def test_what_is_no_promise_is_refused_and_help_is_shown_before_any_test_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it began to run tests"))

    try:
        code = main(words)
    except SystemExit as end:  # of the parser
        code = int(end.code or 0)

    told = capsys.readouterr()
    assert code == (0 if words == ["--help"] else 2)
    assert "P14" in told.out + told.err or words == ["--fast"]
    assert not words[-1].startswith("P") or told.err.startswith("promises.py: promises.md has no P99; ")


def test_a_promise_is_broken_by_one_failure_and_not_held_by_what_was_not_tried(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    found = outcomes(tmp_path / "report.xml")
    x, y = "tests/a/test_x.py", "tests/a/test_y.py"

    assert verdict([f"{x}::test_one"], found) == "held"
    assert verdict([x], found) == "BROKEN"
    assert verdict([f"{x}::test_one", y], found).startswith("held, but")
    assert verdict([f"{x}::test_nowhere"], found).startswith("held, but")
