"""What the red button asks of its door, what it refuses by itself, and what people and machines are told."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from easyrider.tree import Domain, HoldRule, ModeRule, Node, NodeClass, Rules
from easyrider.tree_reader import read, to_document
from easyrider_cli import hold_command, release_command
from easyrider_cli.api_door import ApiDoor, BadApi
from easyrider_cli.doors import Done, Refused, Scope
from easyrider_policy_api.core import edits, releasing

RULES = Rules(
    id="site",
    version=3,
    domains=(
        Domain(id="ups", kind="ups", rating_w=9000.0),
        Domain(id="pdu", kind="pdu", parent="ups", rating_w=4000.0),
    ),
    classes={"box": NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)},
    nodes=tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab"),
    modes=(ModeRule(selector={"node": ("*",)}, mode="enforce"),),
)  # fmt: skip


def board(uuid: str, **other: Any) -> dict[str, Any]:
    told = {
        "uuid": uuid, "node": uuid[0], "mode": "enforce", "job": None, "controlled": True, "settable": True,
        "min_w": 200.0, "max_w": 700.0, "baseline_w": 700.0, "counted_w": 400.0, "overshoot": 1.0,
    }  # fmt: skip
    return {**told, **other}


class FakeDoor:
    """Rules and a state in memory; a board that may leave is let go with the next look."""

    def __init__(self, room_w: float = 2000.0) -> None:
        self.known, self.in_force, self.released_for = RULES, True, ""
        self.boards = [board(f"{n}{i}") for n in "ab" for i in (0, 1)]
        self.room_w = room_w
        self.waits: list[dict[str, Any]] = []

    def rules(self) -> Rules:
        return self.known

    def state(self) -> dict[str, Any]:
        held = [hold.id for hold in self.known.holds]
        return {
            "region": "local", "boards": self.boards, "jobs": [], "releases": self.waits, "left_out": {"boards": 0},
            "domains": [{"domain": d, "room_w": self.room_w, "held": held} for d in ("ups", "pdu")],
            "nodes": [{"node": n, "held": False} for n in "ab"],
        }  # fmt: skip

    def hold(self, hold: HoldRule) -> Done:
        return self._take(edits.with_hold(self.known, hold))

    def clear(self, hold_id: str) -> Done:
        return self._take(edits.without_hold(self.known, hold_id))

    def release(self, scope: Scope, reason: str) -> Done:
        self.released_for = reason
        done = self._take(releasing.released(self.known, scope, reason, ""))
        gone = scope.get("node", ("a", "b"))
        self.boards = [board(b["uuid"], controlled=b["node"] not in gone) for b in self.boards]
        return done

    def _take(self, rules: Rules) -> Done:
        self.known = replace(rules, version=self.known.version + 1)
        return Done(
            version=self.known.version, in_force=self.in_force, why="" if self.in_force else "nobody leads"
        )


def released(door: FakeDoor, *words: str, said: list[str] | None = None) -> release_command.Released:
    scope = release_command.scope_of(words, ())
    return release_command.release(door, scope, "why not", 1.0, [].append if said is None else said.append)


def test_a_hold_says_who_when_where_and_why() -> None:
    door = FakeDoor()

    told = hold_command.hold(door, ["pdu"], "a smell of burning")

    (hold,) = door.known.holds
    assert (hold.id, hold.domains, hold.reason) == (told["id"], ("pdu",), "a smell of burning")
    assert hold.by
    assert hold.since.endswith("Z")
    assert told["in_force"]


def test_clear_takes_away_all_or_those_named_and_says_what_is_left() -> None:
    door = FakeDoor()
    first = hold_command.hold(door, ["pdu"], "")["id"]
    second = hold_command.hold(door, [], "")["id"]

    by_domain = hold_command.clear(door, (), ["pdu"])
    assert (by_domain["cleared"], by_domain["left"]) == ([first], [second])
    with pytest.raises(Refused, match="there is no hold nobody"):
        hold_command.clear(door, ["nobody"], ())
    assert hold_command.clear(door, (), ())["cleared"] == [second]
    assert hold_command.clear(door, (), ())["cleared"] == []


def test_a_hold_that_nobody_has_in_force_yet_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    door = FakeDoor()
    door.in_force = False

    told = hold_command.hold(door, [], "")

    assert hold_command.show(told, True, Console()) == 1
    assert json.loads(capsys.readouterr().out)["why"] == "nobody leads"
    assert hold_command.show(told, False, Console(width=300)) == 1
    assert "not in force yet: nobody leads" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["n1"], ["rack="], ["colour=red"], [], ["node=a,"]])
def test_what_is_no_scope_is_refused(words: list[str]) -> None:
    with pytest.raises(Refused):
        release_command.scope_of(words, ())


def test_a_scope_is_keys_and_values() -> None:
    assert release_command.scope_of(["rack=pdu", "queue=a,b"], ()) == {"rack": ("pdu",), "queue": ("a", "b")}
    assert release_command.scope_of([], ["a", "b"]) == {"node": ("a", "b")}
    assert release_command.scope_of(["all"], ()) == {}


def test_a_release_is_done_when_every_board_is_let_go() -> None:
    door = FakeDoor()

    found = released(door, "node=a")

    assert (found.done, found.gpus, found.nodes) == (True, 2, ["a"])
    assert door.released_for == "why not"
    assert [rule.mode for rule in door.known.modes] == ["enforce", "observe"]


def test_a_reason_is_as_long_as_the_api_takes_one_by_every_door() -> None:
    door = FakeDoor()

    with pytest.raises(Refused, match="500 at most"):
        hold_command.hold(door, [], 501 * "x")
    with pytest.raises(Refused, match="500 at most"):
        release_command.release(door, {"node": ("a",)}, 501 * "x", 1.0, [].append)

    assert door.known == RULES
    assert hold_command.hold(door, [], 500 * "x")["in_force"]


@pytest.mark.parametrize("words", [["node=nope"], ["rack=pdu", "node=a", "node=nope"], ["class=nope"]])
def test_a_release_of_what_no_rules_name_is_refused_by_name(words: list[str]) -> None:
    door = FakeDoor()

    with pytest.raises(Refused, match="nope"):
        released(door, *words)

    assert door.known == RULES


def test_a_release_that_the_sums_forbid_changes_nothing_and_says_what_lacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    door = FakeDoor(room_w=100.0)

    found = released(door, "node=a")

    # 2 boards rise by 300 W each; there are 100 W, and the other two can give 150 W each.
    assert found.forbidden_w == {"ups": pytest.approx(200.0), "pdu": pytest.approx(200.0)}
    assert not found.done
    assert door.known is RULES
    assert release_command.show(found, False, Console(width=300)) == 1
    assert "refused, nothing was changed" in capsys.readouterr().out


def test_a_release_under_a_hold_is_refused_by_its_name() -> None:
    door = FakeDoor()
    held = hold_command.hold(door, [], "")["id"]

    found = released(door, "node=a")

    assert held in found.why
    assert not found.done
    assert door.known.version == 4


def test_what_is_not_limited_has_nothing_to_release() -> None:
    door = FakeDoor()
    door.boards = [board(b["uuid"], controlled=False) for b in door.boards]

    found = released(door, "all")

    assert (found.done, found.gpus) == (True, 0)
    assert door.known is RULES


def test_progress_names_what_is_waited_for_and_time_runs_out_without_a_lie() -> None:
    door, said = FakeDoor(), []
    door.waits = [{"node": "a", "whole": False, "why": "room:pdu", "missing_w": {"pdu": 320.0}}]

    found = released(door, "node=a", said=said)

    assert not found.done
    assert "goes on by itself" in found.why
    assert any("a waits for room:pdu, missing 320 W in pdu" in line for line in said)
    assert found.waiting == {"a": "waits for room:pdu, missing 320 W in pdu"}


@pytest.mark.parametrize("section", ["boards", "jobs", "domains", "nodes"])
def test_more_rows_than_an_answer_holds_are_not_guessed_at(section: str) -> None:
    door = FakeDoor()
    whole = door.state()
    door.state = lambda: {**whole, "left_out": {section: 9000}}  # type: ignore[method-assign]

    with pytest.raises(Refused, match="cannot be foretold"):
        released(door, "node=a")


def test_a_release_before_anything_is_counted_is_refused_in_one_line_and_changes_nothing() -> None:
    door = FakeDoor()
    door.room_w = None  # type: ignore[assignment]

    with pytest.raises(Refused, match=r"ups.* is not counted yet: ask again.*--override") as refused:
        released(door, "node=a")

    assert "\n" not in str(refused.value)
    assert door.known is RULES


@pytest.mark.parametrize(
    "url",
    ["http://10.0.0.5:8480", "ftp://here", "10.0.0.5:8480", "https://user:word@host", "https://host?token=x"],
)
def test_a_token_is_never_sent_in_the_clear_or_to_what_is_no_api(url: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("erk_secret\n")
    with pytest.raises(BadApi) as fault:
        ApiDoor(url, tmp_path / "token")
    assert "erk_secret" not in str(fault.value)


@pytest.mark.parametrize("content", ["", "two words", "na\u00efve"])
def test_a_file_without_a_token_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(BadApi, match="holds no token"):
        ApiDoor("http://127.0.0.1:1", tmp_path / "token")


def test_the_example_of_the_page_is_read_as_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "red-button.md").read_text()
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    head = yaml.safe_dump({key: rows for key, rows in to_document(RULES).items() if key != "targets"})

    rules = read(head + example, "the page")

    assert rules.targets[0].target_w == 20000
    assert rules.pilot_floor_w == 350
