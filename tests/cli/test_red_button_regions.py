"""The red button where regions have the nodes: nothing is foretold from the top alone."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from test_red_button import RULES, FakeDoor, released

from easyrider.tree import Domain, Region
from easyrider_cli import free_command, release_command
from easyrider_cli.doors import Done, NoAnswer, Refused, Scope

REGIONS = replace(
    RULES,
    domains=(*RULES.domains, Domain(id="far", kind="pdu", parent="ups", rating_w=4000.0)),
    regions=(
        Region(id="local"),
        Region(id="hall", parent="local", domain="pdu", guaranteed_w=700.0),
    ),
)


class LendingDoor(FakeDoor):
    """The top has no boards; the hall has them all, unless it is `deaf`."""

    def __init__(self, room_w: float = 2000.0) -> None:
        super().__init__(room_w)
        self.known, self.deaf, self.overrides, self.freed = (
            REGIONS,
            False,
            list[str](),
            list[tuple[str, str]](),
        )

    def state(self, region: str = "") -> dict[str, Any]:
        if region and self.deaf:
            raise NoAnswer(f"the coordinator of region {region}", "nobody leads")
        below = super().state()

        def row(domain: str, hard_w: float, room_w: float, regions: list[str], governed_by: str = "") -> Any:
            return {
                "domain": domain, "hard_limit_w": hard_w, "room_w": room_w, "held": [], "regions": regions,
                "governed_by": governed_by,
            }  # fmt: skip

        if region:
            return below | {"region": region, "domains": [row("pdu", 1800.0, 0.0, [])]}
        return below | {
            "boards": [], "nodes": [], "releases": [],
            "domains": [row("ups", 9000.0, self.room_w, ["hall"]), row("pdu", 4000.0, 2200.0, ["hall"], "hall")],
        }  # fmt: skip

    def release(self, scope: Scope, reason: str, override: str = "") -> Done:
        self.overrides.append(override)
        return super().release(scope, reason)

    def free(self, kind: str, name: str) -> float | None:
        self.freed.append((kind, name))
        return 1200.0


def test_boards_of_a_region_are_foretold_and_watched_until_they_are_let_go() -> None:
    door, said = LendingDoor(), list[str]()

    found = released(door, "all", said=said)

    assert (found.gpus, found.nodes) == (4, ["a", "b"])
    assert found.done
    assert "4 GPUs on a, b" in said[0]


def test_what_the_sums_above_a_region_forbid_is_refused_with_the_watts() -> None:
    door = LendingDoor(room_w=100.0)

    found = released(door, "all")

    # Four boards rise by 300 W each above what is lent to the hall and counted there.
    assert found.forbidden_w == {"ups": pytest.approx(1100.0)}
    assert door.known is REGIONS


def test_a_region_that_is_silent_is_not_guessed_at_and_an_override_says_why_all_the_same() -> None:
    door = LendingDoor()
    door.deaf = True

    with pytest.raises(Refused, match=r"hall.*--override"):
        released(door, "all")
    assert door.known is REGIONS
    found = release_command.release(door, {}, "", 0.0, print, override="the hall is being rebuilt")

    assert door.overrides == ["the hall is being rebuilt"]
    assert not found.done
    assert "not watched" in found.why


def test_a_region_or_node_is_freed_and_what_follows_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    door = LendingDoor()

    free_command.free(door, "region", "hall", False, Console(width=200))

    assert door.freed == [("region", "hall")]
    assert "guaranteed share" in capsys.readouterr().out
    with pytest.raises(Refused, match="neither"):
        free_command.free(door, "rack", "hall", False, Console())
