"""A rules document is judged before a coordinator is given it."""

import copy
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from easyrider_cli.check_command import NoDocument, check
from easyrider_cli.site import rules_of
from easyrider_twin.rack import demo_world

GOOD = rules_of(demo_world(1, 120.0), tree="site", mode="enforce")


def judged(tmp_path: Path, document: dict[str, Any]) -> tuple[int, str]:
    file, errors = tmp_path / "rules.yaml", io.StringIO()
    file.write_text(yaml.safe_dump(document))
    return check(file, Console(file=errors, width=80)), errors.getvalue()


def test_a_good_document_is_told_with_the_sums_of_every_domain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, errors = judged(tmp_path, GOOD)

    said = capsys.readouterr().out
    assert (code, errors) == (0, "")
    assert "can be kept" in said
    assert "all at fallback" in said
    assert {line.split()[0] for line in said.splitlines()[2:]} == {"ups", "pdu"}


def test_fallbacks_that_do_not_fit_are_refused_with_the_numbers(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOD)
    for node in document["nodes"]:
        node["fallback_w_per_gpu"] = 600.0

    code, errors = judged(tmp_path, document)

    assert code == 2
    assert errors.count("fallbacks and fixed loads come to") == 2
    assert " W, its smallest planned hard limit" in errors


def test_every_fault_is_a_line_of_its_own(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOD)
    document["domains"][0]["rating_w"] = "much"
    document["nodes"][0]["domain"] = "nowhere"
    document["colour"] = "blue"

    code, errors = judged(tmp_path, document)

    assert code == 2
    assert "3 faults" in errors.splitlines()[0]
    assert len(errors.splitlines()) == 4
    for word in ("rating_w", "nowhere", "colour"):
        assert word in errors


def test_a_document_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(NoDocument, match="it is no text"):
        check(tmp_path / "rules.yaml", Console())


def test_a_domain_rated_above_what_feeds_it_is_remarked_on_and_not_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    pdu = next(domain for domain in document["domains"] if domain["id"] == "pdu")
    pdu["rating_w"], pdu["target_w"] = 300_000.0, 10_000.0

    code, errors = judged(tmp_path, document)

    assert (code, errors) == (0, "")
    said = " ".join(capsys.readouterr().out.split())
    assert "remark: domains[pdu] is rated 300000 W, above the" in said
    assert "W of ups above it" in said


def test_a_mode_of_a_node_that_no_rules_name_is_remarked_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    document["modes"].append(
        {"selector": {"node": ["node-77", "node-*"]}, "mode": "shadow", "reason": "", "since": ""}
    )

    code, errors = judged(tmp_path, document)

    assert (code, errors) == (0, "")
    said = " ".join(capsys.readouterr().out.split())
    place = f"modes[{len(document['modes']) - 1}].selector.node"
    assert f"remark: {place} names what these rules do not know: node-77; until" in said


def test_a_load_target_of_a_mistyped_year_is_remarked_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    document["targets"] = [
        {"id": "past", "domain": "pdu", "begins": "0001-01-01T17:00:00Z", "ends": "0001-01-01T18:00:00Z"},
        {"id": "far", "domain": "pdu", "begins": "9999-01-01T17:00:00Z", "ends": "9999-01-01T18:00:00Z"},
    ]
    for target in document["targets"]:
        target["target_w"] = 9000.0

    code, errors = judged(tmp_path, document)

    assert (code, errors) == (0, "")
    said = " ".join(capsys.readouterr().out.split())
    assert "remark: targets[past] ended at 0001-01-01T18:00:00Z" in said
    assert "remark: targets[far] begins at 9999-01-01T17:00:00Z, in more than a year" in said


def test_a_curve_below_its_rating_is_refused_by_name(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOD)
    ups = next(domain for domain in document["domains"] if domain["id"] == "ups")
    ups["curve"] = [{"multiple": 0.9, "time_s": 6000}, {"multiple": 1.5, "time_s": 10}]

    code, errors = judged(tmp_path, document)

    assert code == 2
    assert "domains[ups].curve multiple is 0.9, below 1" in " ".join(errors.split())


def test_what_is_probably_not_meant_of_modes_curves_and_load_targets_is_remarked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    document["modes"] = [
        {"selector": {"node": ["*"]}, "mode": "observe"},
        {"selector": {"node": ["*"]}, "mode": "shadow"},
    ]
    pdu = next(row for row in document["domains"] if row["id"] == "pdu")
    pdu["curve"] = {"preset": "iec60947-2"}
    document["targets"] = [
        {
            "id": "t", "domain": "pdu", "target_w": pdu["rating_w"],
            "begins": "2031-01-01T00:00:00Z", "ends": "2031-01-02T00:00:00Z",
        }
    ]  # fmt: skip

    code, _ = judged(tmp_path, document)

    said = capsys.readouterr().out
    assert code == 0
    assert "modes[1] says shadow of what modes[0] says observe of: the less active one counts" in said
    assert "domains[pdu].curve is the preset iec60947-2, unverified" in said
    assert "targets[t] allows" in said


def test_a_class_that_is_probably_mistyped_is_remarked_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    document["priorities"] = {"nromal": {"weight": 2.0}}

    assert judged(tmp_path, document) == (0, "")
    assert "remark: priorities names no class `normal` (it names nromal)" in capsys.readouterr().out
