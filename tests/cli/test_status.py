"""How things stand, in one look: over all regions, with what is silent said by name and never left out."""

import json
from typing import Any

import pytest
from rich.console import Console
from test_red_button_regions import REGIONS

from easyrider_cli import status_command
from easyrider_cli.doors import NoAnswer


def domain(name: str, **other: Any) -> dict[str, Any]:
    told = {
        "domain": name, "kind": "pdu", "observed_w": 1000.0, "target_w": 2000.0, "counted_w": 1500.0,
        "hard_limit_w": 2500.0, "missing_w": 0.0, "sum_rule": "proved", "no_raise": "", "losses": [],
        "time_to_trip_s": None, "governed_by": "", "regions": [],
    }  # fmt: skip
    return told | other


class StandingDoor:
    """The top and its hall. `deaf`: the hall says nothing."""

    deaf = False

    def __init__(self) -> None:
        self.halls = [domain("pdu", observed_w=None)]
        self.version = REGIONS.version

    def rules(self) -> Any:
        return REGIONS

    def state(self, region: str = "") -> dict[str, Any]:
        if region and self.deaf:
            raise NoAnswer(f"the coordinator of region {region}", "nobody leads")
        boards = [
            {"mode": mode, "controlled": mode == "enforce"} for mode in ("enforce", "enforce", "observe")
        ]
        whole = {
            "region": region or "local",
            "lead": {"phase": "leading", "epoch": 3},
            "rules": {"version": self.version},
            "reactive": False,
            "nodes": [{"node": "a", "held": True}] if region else [],
            "boards": boards if region else [],
            "left_out": {"boards": 0},
            "silent_nodes": [],
            "releases": [{"node": "a", "why": "room:pdu", "whole": False}] if region else [],
            "demotions": [],
        }
        above = [domain("ups"), domain("pdu", governed_by="hall", observed_w=7.0)]
        return whole | {"domains": self.halls if region else above}


def test_every_scope_is_told_by_its_own_coordinator() -> None:
    told = status_command.status(StandingDoor())  # type: ignore[arg-type]

    assert [(row["region"], row["domain"], row["observed_w"]) for row in told["domains"]] == [
        ("local", "ups", 1000.0),
        ("hall", "pdu", None),
    ]
    assert told["gpus"] == {"known": 3, "left_out": 0, "by_mode": {"enforce": 2, "observe": 1}, "limited": 2}
    assert status_command.show(told, True, Console()) == 0


def test_people_read_what_is_unknown_held_and_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    told = status_command.status(StandingDoor())  # type: ignore[arg-type]

    status_command.show(told, False, Console(width=200))

    shown = capsys.readouterr().out
    for words in ("unknown", "the guardian of a", "a waits for room:pdu", "2 in enforce", "leading, epoch 3"):
        assert words in shown


def test_a_region_that_is_silent_is_named_and_its_domain_told_by_its_parent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    door = StandingDoor()
    door.deaf = True

    told = status_command.status(door)  # type: ignore[arg-type]

    assert told["silent_regions"] == {"hall": "nobody leads"}
    assert [row["observed_w"] for row in told["domains"]] == [1000.0, 7.0]
    assert status_command.show(told, True, Console()) == 1
    assert json.loads(capsys.readouterr().out)["silent_regions"]


@pytest.mark.parametrize("wrong", ["infeasible", "behind"])
def test_what_is_wrong_is_in_the_exit_code(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    door = StandingDoor()
    if wrong == "infeasible":
        door.halls = [domain("pdu", missing_w=1500.0)]
    else:
        door.version = REGIONS.version - 1

    assert status_command.show(status_command.status(door), False, Console(width=200)) == 1  # type: ignore[arg-type]
    assert (
        "INFEASIBLE by 1.50 kW" if wrong == "infeasible" else "has version 2 of the rules"
    ) in capsys.readouterr().out
