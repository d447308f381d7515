"""NetBox's power feeds become domains; what is wrong with them is named, all of it at once."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from easyrider.tree_reader import read
from easyrider_cli.import_command import NotImported, import_netbox
from easyrider_cli.netbox import imported

Row = dict[str, Any]


def panel(name: str, **custom: object) -> Row:
    return {"id": 1, "name": name, "site": {"name": "DC 1"}, "custom_fields": custom}


def feed(name: str, board: str, rack: str | None, kind: str = "primary", **other: object) -> Row:
    """A feed as the API tells it: 400 V between phases, 32 A, 80 %."""
    return {
        "name": name,
        "power_panel": {"name": board},
        "rack": None if rack is None else {"name": rack},
        "status": {"value": "active", "label": "Active"},
        "type": {"value": kind},
        "supply": {"value": "ac"},
        "phase": {"value": "three-phase"},
        "voltage": 400,
        "amperage": 32,
        "max_utilization": 80,
        **other,
    }


SITE: Row = {
    "power-panels": {"count": 2, "next": None, "results": [
        panel("MSB", easyrider_rating_w=100_000), panel("RPP A", easyrider_rating_w=60_000, easyrider_parent="MSB"),
        panel("RPP B", easyrider_rating_w=60_000, easyrider_parent={"id": 1, "name": "MSB"}),
    ]},
    "power-feeds": {"count": 3, "next": None, "results": [
        feed("R1 A", "RPP A", "R1"), feed("R1 B", "RPP B", "R1", "redundant"), feed("R2", "RPP A", "R2", amperage=16),
    ]},
}  # fmt: skip
REST = """
classes: {box: {overhead_w: 1000, overhead_slope: 1.2, gpu_min_w: 200, gpu_max_w: 700, gpu_count: 8}}
nodes:
  - {id: n1, domain: r1, class: box, fallback_w_per_gpu: 300}
  - {id: n2, domain: r2, class: box, fallback_w_per_gpu: 300}
domains:
  - {id: r1, meters: [pdu-r1], curve: {preset: iec60947-2}}
"""


def changed(**feeds: Row) -> Row:
    """The site with fields of its feeds replaced, by their names with _ for blanks."""
    site = copy.deepcopy(SITE)
    for row in site["power-feeds"]["results"]:
        row.update(feeds.get(row["name"].replace(" ", "_"), {}))
    return site


def run(tmp_path: Path, document: object, rest: str | None = None) -> tuple[int, str]:
    file, beside, errors = tmp_path / "netbox.json", tmp_path / "rest.yaml", io.StringIO()
    file.write_text(json.dumps(document))
    if rest is not None:
        beside.write_text(rest)
    code = import_netbox(file, None if rest is None else beside, "site", Console(file=errors, width=200))
    return code, errors.getvalue()


def test_a_feed_becomes_a_domain_of_its_volts_amperes_and_phases() -> None:
    found = {row["id"]: row for row in imported(SITE).domains}

    assert found["r1-a"]["rating_w"] == pytest.approx(3**0.5 * 400 * 32, abs=0.1)
    assert found["r1-a"]["target_share"] == 0.8
    assert (found["r1-a"]["phases"], found["r1-a"]["limit_a"], found["r1-a"]["voltage_v"]) == (3, 32.0, 400.0)
    assert found["r1-a"]["parent"] == "rpp-a"
    assert found["rpp-b"]["parent"] == "msb"


def test_direct_current_of_minus_48_volts_has_the_watts_of_48() -> None:
    site = changed(R2={"supply": {"value": "dc"}, "phase": {"value": "single-phase"}, "voltage": -48})

    assert next(row for row in imported(site).domains if row["id"] == "r2")["rating_w"] == 768.0


def test_a_rack_of_a_primary_and_a_redundant_feed_hangs_on_both_and_may_draw_what_one_carries() -> None:
    site = changed(R1_B={"amperage": 16})
    rack = next(row for row in imported(site).domains if row["id"] == "r1")

    assert rack["feeds"] == {"A": "r1-a", "B": "r1-b"}
    assert rack["rating_w"] == pytest.approx(3**0.5 * 400 * 16, abs=0.1)


def test_with_nodes_beside_it_the_whole_document_is_judged_and_can_be_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = changed(R2={"name": "R2 feed"})

    code, errors = run(tmp_path, site, REST)

    rules = read(capsys.readouterr().out, "imported")
    assert (code, errors) == (0, "")
    assert {d.id for d in rules.domains} == {"msb", "rpp-a", "rpp-b", "r1-a", "r1-b", "r2-feed", "r1", "r2"}
    assert next(d for d in rules.domains if d.id == "r1").meters == ("pdu-r1",)


def test_without_nodes_the_tree_alone_is_judged_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = run(tmp_path, changed(R2={"name": "R2 feed"}))

    assert code == 0
    assert yaml.safe_load(capsys.readouterr().out)["nodes"] == []


def test_what_is_not_in_service_is_left_out_and_told() -> None:
    found = imported(changed(R2={"status": {"value": "planned"}}))

    assert "feed R2 is planned: left out" in found.remarks
    assert "r2" not in {row["id"] for row in found.domains}


def test_a_panel_without_a_rating_is_left_out_rather_than_guessed() -> None:
    site = copy.deepcopy(SITE)
    site["power-panels"]["results"][1]["custom_fields"] = {}
    found = imported(site)

    assert "panel RPP A has no rating in NetBox" in found.remarks[0]
    assert "parent" not in next(row for row in found.domains if row["id"] == "r1-a")


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (changed(R1_A={"voltage": 0}), "feed R1 A: voltage is 0, no number above 0"),
        (changed(R1_A={"amperage": None}), "feed R1 A: amperage is None, no number above 0"),
        (changed(R1_A={"amperage": True}), "feed R1 A: amperage is True, no number above 0"),
        (changed(R1_A={"max_utilization": 120}), "feed R1 A: max_utilization is 120, outside 1..100"),
        (changed(R1_A={"phase": {"value": "two"}}), "feed R1 A: phase is 'two'"),
        (changed(R1_A={"supply": {"value": "dc"}}), "feed R1 A: is dc and three-phase"),
        (changed(R1_A={"power_panel": None}), "feed R1 A: names no power_panel"),
        (changed(R1_A={"type": {"value": "redundant"}}), "rack R1: its primary feed is missing"),
        (changed(R1_B={"type": {"value": "primary"}}), "rack R1: has the feeds r1-a, r1-b (primary, primary)"),
        (changed(R2={"amperage": 200}), "r2: is rated 138564 W, above the 60000 W of rpp-a"),
        (changed(R2={"name": "R1"}), "r1: is a feed and a rack; names must differ"),
        ({"power-feeds": []}, "power-feeds is empty"),
        ({"power-feeds": 3}, "power-feeds is no list of rows"),
        ({"power-feeds": [{"voltage": 3}]}, "power-feeds[0] has no name"),
        ({"power-feeds": {"results": [], "next": "https://x/?offset=50"}}, "one page of several"),
    ],
)  # fmt: skip
def test_a_fault_of_a_feed_is_named(tmp_path: Path, site: object, said: str) -> None:
    code, errors = run(tmp_path, site)

    assert code == 2
    assert said in errors


def test_a_loop_of_panels_and_a_panel_above_that_is_missing_are_named(tmp_path: Path) -> None:
    site = changed(R2={"name": "R2 feed"})
    site["power-panels"]["results"][0]["custom_fields"]["easyrider_parent"] = "RPP A"
    site["power-panels"]["results"][2]["custom_fields"]["easyrider_parent"] = "UPS 9"

    code, errors = run(tmp_path, site)

    assert code == 2
    assert "hangs below itself" in errors
    assert "panel RPP B: hangs below 'UPS 9', which is no panel with a rating" in errors


def test_fallbacks_that_do_not_fit_the_imported_feed_are_named_with_the_numbers(tmp_path: Path) -> None:
    site = changed(R2={"name": "R2 feed", "amperage": 5})

    code, errors = run(tmp_path, site, REST)

    assert code == 2
    assert "r2: fallbacks and fixed loads come to 3880 W, its smallest planned hard limit is 3464 W" in errors


def test_what_stands_beside_a_domain_that_netbox_does_not_have_is_named(tmp_path: Path) -> None:
    code, errors = run(tmp_path, changed(R2={"name": "R2 feed"}), REST.replace("{id: r1,", "{id: r7,"))

    assert code == 2
    assert "domains[r7] is no domain of NetBox" in errors


def test_a_file_that_is_no_json_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("feeds:")

    with pytest.raises(NotImported, match=r"x\.json"):
        import_netbox(tmp_path / "x.json", None, "site", Console(file=io.StringIO()))
