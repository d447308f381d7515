"""Every promise with its tests: runs what docs/promises.md names and says of each whether it held.

python tests/shared/promises.py [P14 P24 ...]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "promises.md"
_ROW = re.compile(r"^\| (P\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[^`]+)`")


def promised() -> dict[str, tuple[str, list[str]]]:
    """By number: the promise, and the tests that show it (pytest's ids of files or functions)."""
    return {row[1]: (row[2].strip(), _TEST.findall(row[3])) for row in _ROW.finditer(PAGE.read_text())}


def outcomes(report: Path) -> dict[str, list[str]]:
    """By test function, how each of its cases ended: passed, failed or skipped."""
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        name = f"{file}::{case.get('name', '').partition('[')[0]}"
        ends = {child.tag for child in case}
        end = "failed" if ends & {"failure", "error"} else "skipped" if "skipped" in ends else "passed"
        found.setdefault(name, []).append(end)
    return found


def verdict(tests: list[str], found: dict[str, list[str]]) -> str:
    """Held, broken, or not tried where some of it was skipped or is missing."""
    ends = [
        [end for name, told in found.items() if name == t or name.startswith(t + "::") for end in told]
        for t in tests
    ]
    if any("failed" in told for told in ends):
        return "BROKEN"
    if any(not told or "skipped" in told for told in ends):
        return "held, but not all of it was tried here"
    return "held"


def main(arguments: list[str]) -> int:
    """Exit code: 0 where none is broken, 2 where what was asked is no promise."""
    known = list(promised())
    parser = argparse.ArgumentParser(prog="promises.py", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("promise", nargs="*", help=f"of {', '.join(known)}; default: all")
    wanted = parser.parse_args(arguments).promise
    if unknown := [word for word in wanted if word not in known]:
        print(
            f"promises.py: {PAGE.name} has no {', '.join(unknown)}; there is {', '.join(known)}",
            file=sys.stderr,
        )
        return 2
    rows = {number: row for number, row in promised().items() if not wanted or number in wanted}
    tests = sorted({test for _, named in rows.values() for test in named})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *tests]
        subprocess.run(command, cwd=ROOT, check=False)
        found = outcomes(report)
    verdicts = {number: verdict(named, found) for number, (_, named) in rows.items()}
    for number, (promise, _) in rows.items():
        print(f"{number:>4}  {verdicts[number]}: {promise}")
    return int("BROKEN" in verdicts.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
