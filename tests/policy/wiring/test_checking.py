"""`easyrider-policy --check FILE`, as a person or a command line calls it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from wired_site import rules

from easyrider.tree import CurvePoint, Leases
from easyrider.tree_reader import dump
from easyrider_policy.checking import check


def test_rules_that_fit_are_shown_with_their_margins(tmp_path: Path) -> None:
    (tmp_path / "site.json").write_bytes(dump(rules()))

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_policy", "--check", str(tmp_path / "site.json")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0
    assert "tree site version 1 fits" in done.stdout
    assert "pdu: fallbacks and fixed loads 1200 W of 2400 W" in done.stdout
    assert done.stderr == ""


def test_every_fault_is_named_with_its_numbers(tmp_path: Path, capsys) -> None:
    known = rules(pdu_w=1100.0, curve=(CurvePoint(multiple=3.0, time_s=1.0),))
    (tmp_path / "site.json").write_bytes(dump(replace(known, leases=Leases(ttl_s=12.0))))

    code = check(tmp_path / "site.json")

    told = capsys.readouterr()
    assert code == 2
    assert "3 faults" in told.err
    assert "1200 W" in told.err
    assert "1100 W" in told.err
    assert "carries for" in told.err
    assert told.out == ""


def test_a_curve_is_shown_with_the_time_it_carries_the_worst(tmp_path: Path, capsys) -> None:
    known = rules(curve=(CurvePoint(multiple=1.3, time_s=600.0), CurvePoint(multiple=3.0, time_s=120.0)))
    (tmp_path / "site.json").write_bytes(dump(known))

    code = check(tmp_path / "site.json")

    assert code == 0
    assert "its capacity, which its curve carries 600 s" in capsys.readouterr().out


def test_a_file_that_is_not_there_or_no_document_is_a_fault(tmp_path: Path, capsys) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff")

    assert check(tmp_path / "absent.yaml") == 2
    assert check(tmp_path / "bad.yaml") == 2
    assert "absent.yaml" in capsys.readouterr().err
