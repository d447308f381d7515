"""Newer rules raise a mode where its gate is met, or where the operator says why it is passed over; else they wait."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from wired_box import REGION, TREE, at
from wired_site import Wired, rules, with_modes

from easyrider import subjects, wire
from easyrider.gates import DAY_S, Gates
from easyrider.messages import Plan
from easyrider.tree import ModeRule, Rules
from easyrider.tree_reader import dump
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.adapters.stages_file import StagesFile
from easyrider_policy.core.stages import Returned, Stage
from easyrider_policy.leaders_word import LeadersWord
from easyrider_policy.rulebook import Rulebook
from easyrider_policy.stage_keeping import StageKeeper

ALL = "node=*"


class Led:
    """A site that leads in this mode, and the book of its rules."""

    def __init__(self, folder: Path, wired: Wired) -> None:
        kept = RulesFolder(folder)
        kept.open()
        self.wired, self.picture, self.store = wired, wired.picture, wired.store
        self.word = LeadersWord(wired.picture, wired.clock.now_s)
        self.rulebook = Rulebook(
            wired.store, kept, wired.picture, TREE, wired.scribe.note, wired.news.say, self.word.version
        )

    async def offer(self, newer: Rules) -> list[str]:
        """What the coordinator has against rules that somebody saved; nothing: they are in force."""
        await self.store.save_rules(TREE, newer.version, dump(newer))
        judged = await self.rulebook.asked()
        await self.wired.seconds(0.2)
        return [*judged.faults]

    async def hear(self, leader: Wired) -> None:
        """The newest plan of another coordinator, now."""
        await leader.seconds(2)
        plan = leader.said(Plan)[-1]
        self.word.on_plan(wire.encode(plan), at(subjects.plan(REGION), self.wired.now_s))

    def saw(self, **stage: float) -> None:
        """So much was seen of the scope in its mode."""
        scope = self.picture.stages.scopes[ALL]
        scope.stages[scope.mode] = Stage(**stage)  # type: ignore[arg-type]

    @property
    def mode(self) -> str:
        return self.picture.stages.scopes[ALL].mode


async def led(folder: Path, mode: str, **of_rules: object) -> Led:
    wired = Wired(replace(rules(1, mode=mode), **of_rules))  # type: ignore[arg-type]
    await wired.seconds(2)
    assert wired.picture.safety.lead.phase != "contending"
    return Led(folder, wired)


async def test_a_rise_whose_gate_is_not_met_is_refused_with_the_numbers(tmp_path: Path) -> None:
    site = await led(tmp_path, "shadow")
    site.saw(watched_s=3 * DAY_S, capped_s=100.0, false_s=40.0)

    (fault,) = await site.offer(with_modes(rules(), "pilot", 2))

    assert "node=* may not rise from shadow to pilot yet" in fault
    assert "shadow days 3.00 of 7" in fault
    assert "false cap ratio 0.4 of 0.05" in fault
    assert "override" in fault
    assert (site.picture.rules.version, site.mode) == (1, "shadow")
    assert site.wired.bus.events("mode_change") == []


async def test_a_rise_through_its_gate_is_told_with_its_evidence(tmp_path: Path) -> None:
    site = await led(tmp_path, "shadow")
    site.saw(watched_s=8 * DAY_S)

    assert await site.offer(with_modes(rules(), "pilot", 2)) == []

    (told,) = site.wired.bus.events("mode_change")
    assert (told["scope"], told["from"], told["to"], told["gate"]) == (ALL, "shadow", "pilot", "met")
    assert "shadow days 8.00 of 7" in told["evidence"]
    assert site.picture.managed.all()


async def test_an_override_passes_the_gate_over_once_and_is_told(tmp_path: Path) -> None:
    site = await led(tmp_path, "shadow")
    assert await site.offer(with_modes(rules(), "pilot", 2, override="a test hall")) == []
    (told,) = site.wired.bus.events("mode_change")
    assert (told["gate"], told["override"]) == ("overridden", "a test hall")

    assert await site.offer(with_modes(rules(), "enforce", 3, override="a test hall")) != []

    assert site.mode == "pilot"


async def test_gates_that_are_loosened_along_with_the_rise_do_not_count_yet(tmp_path: Path) -> None:
    site = await led(tmp_path, "shadow")
    loose = Gates(shadow_days=0.0)

    assert await site.offer(replace(with_modes(rules(), "pilot", 2), gates=loose)) != []
    assert await site.offer(replace(rules(3, mode="shadow"), gates=loose)) == []
    assert await site.offer(replace(with_modes(rules(), "pilot", 4), gates=loose)) == []


async def test_another_selector_over_the_same_boards_is_no_way_around(tmp_path: Path) -> None:
    site = await led(tmp_path, "observe")
    rack = (ModeRule(selector={"rack": ("pdu",)}, mode="enforce"),)

    (fault,) = await site.offer(replace(rules(2), modes=rack))

    assert "node=* may not rise from observe to enforce" in fault


async def test_boards_that_nobody_has_told_of_yet_rise_no_sooner(tmp_path: Path) -> None:
    wired = Wired(rules(1, mode="observe"))
    for box in wired.boxes.values():
        box.dumb = True
    await wired.leadership.once(wired.now_s)
    wired.picture.follow()
    site = Led(tmp_path, wired)

    assert await site.offer(with_modes(rules(), "enforce", 2)) != []


async def test_a_word_for_jobs_none_of_which_runs_is_told(tmp_path: Path) -> None:
    site = await led(tmp_path, "shadow")
    ours = ModeRule(selector={"job": ("j*",)}, mode="enforce", override="ours")
    assert await site.offer(replace(rules(2), modes=(*rules(1, mode="shadow").modes, ours))) == []

    (told,) = site.wired.bus.events("mode_change")
    assert (told["scope"], told["gpus"], told["gate"], told["override"]) == (ALL, 0, "overridden", "ours")


async def test_going_down_asks_for_nothing(tmp_path: Path) -> None:
    site = await led(tmp_path, "enforce")

    assert await site.offer(with_modes(rules(), "observe", 2)) == []


async def contender(folder: Path, mode: str = "shadow") -> Led:
    """A coordinator that waits to lead, as each does that starts."""
    wired = Wired(rules(1, mode=mode))
    wired.fit = False
    await wired.seconds(1)
    assert wired.picture.safety.lead.phase == "contending"
    return Led(folder, wired)


async def test_a_contender_follows_what_a_live_leader_adopted(tmp_path: Path) -> None:
    site = await contender(tmp_path)
    await site.hear(Wired(rules(2, mode="pilot"), owner="them"))

    assert await site.offer(with_modes(rules(), "pilot", 2)) == []

    assert site.mode == "pilot"
    (line,) = site.wired.journal.of("mode_change")
    assert (line["gate"], line["override"]) == ("followed", "")


@pytest.mark.parametrize("leader", [None, 1, 3], ids=["nobody", "one that has not", "one that passed it by"])
@pytest.mark.parametrize("override", ["", "a new hall"])
async def test_a_contender_waits_with_a_rise_that_no_live_leader_has_in_force(
    tmp_path: Path, override: str, leader: int | None
) -> None:
    site = await contender(tmp_path)
    if leader is not None:
        await site.hear(Wired(rules(leader, mode="shadow"), owner="them"))

    (why,) = await site.offer(with_modes(rules(), "enforce", 2, override=override))
    await site.rulebook.once()

    assert "wait" in why
    assert (site.picture.rules.version, site.mode) == (1, "shadow")
    assert RulesFolder(tmp_path).newest() is None
    assert len(site.wired.journal.of("rules_wait")) == 1


async def test_what_waited_is_followed_once_a_leader_has_it(tmp_path: Path) -> None:
    site = await contender(tmp_path)
    await site.offer(with_modes(rules(), "pilot", 2))

    await site.hear(Wired(rules(2, mode="pilot"), owner="them"))
    await site.rulebook.once()

    assert site.picture.rules.version == 2


async def test_a_rise_saved_while_nobody_led_is_judged_by_whoever_leads_next(tmp_path: Path) -> None:
    site = await contender(tmp_path, "observe")
    await site.offer(with_modes(rules(), "enforce", 2))

    site.wired.fit = True
    await site.wired.seconds(2)
    await site.rulebook.once()
    await site.wired.seconds(1)

    assert (site.picture.rules.version, site.mode) == (1, "observe")
    assert not site.picture.managed.any()
    (line,) = site.wired.journal.of("rules_refused")
    assert "node=* may not rise from observe to enforce yet" in line["faults"][0]


async def test_a_word_saved_while_nobody_led_counts_once_somebody_does_and_is_told(tmp_path: Path) -> None:
    site = await contender(tmp_path, "observe")
    await site.offer(with_modes(rules(), "enforce", 2, override="a new hall"))

    site.wired.fit = True
    await site.wired.seconds(2)
    await site.rulebook.once()

    (told,) = site.wired.bus.events("mode_change")
    assert (told["gate"], told["override"]) == ("overridden", "a new hall")


@pytest.mark.parametrize("known", [(), (ModeRule(selector={"queue": ("q",)}, mode="observe"),)])
async def test_a_rise_of_jobs_that_a_contender_has_not_heard_of_waits_too(
    tmp_path: Path, known: tuple[ModeRule, ...]
) -> None:
    wired = Wired(replace(rules(1, mode="observe"), modes=known))
    queue = (ModeRule(selector={"queue": ("q",)}, mode="enforce"),)

    assert await Led(tmp_path, wired).offer(replace(rules(2), modes=queue)) != []


@pytest.mark.parametrize("mode", ["shadow", "observe"])
async def test_a_contender_needs_nobody_for_rules_that_raise_nothing(tmp_path: Path, mode: str) -> None:
    site = await contender(tmp_path)

    assert await site.offer(replace(with_modes(rules(), mode, 2), margin_w=1.0)) == []
    assert site.picture.rules.version == 2


async def taken_back(folder: Path) -> Led:
    site = await led(folder, "enforce")
    back = Returned(scope=ALL, mode="shadow", cause="slowdown", detail="slow", version=1)
    site.picture.stages.take_back(back)
    site.picture.modes_moved = True
    await site.wired.seconds(0.5)
    assert not site.picture.managed.any()
    return site


async def test_a_scope_that_was_taken_back_stays_so_under_rules_about_something_else(tmp_path: Path) -> None:
    site = await taken_back(tmp_path)

    assert await site.offer(replace(rules(2), margin_w=1.0)) == []

    assert not site.picture.managed.any()
    assert site.wired.bus.events("mode_change") == []


@pytest.mark.parametrize("how", ["gate", "override"])
async def test_it_returns_by_its_gate_or_by_an_operators_word(tmp_path: Path, how: str) -> None:
    site = await taken_back(tmp_path)
    why = ""
    if how == "gate":
        site.saw(watched_s=8 * DAY_S)
        site.picture.stages.scopes[ALL].stages["pilot"] = Stage(watched_s=8 * DAY_S)
    else:
        why = "the job had a slow disk"

    assert await site.offer(with_modes(rules(), "enforce", 2, override=why)) == []

    assert site.picture.managed.all()
    assert site.picture.stages.returned == {}
    (told,) = site.wired.bus.events("mode_change")
    assert (told["from"], told["to"], told["gate"]) == (
        "shadow",
        "enforce",
        "met" if not why else "overridden",
    )


async def test_what_was_seen_outlives_a_restart_and_begins_anew_where_the_file_is_none(
    tmp_path: Path,
) -> None:
    site = await led(tmp_path, "shadow")
    keeper = StageKeeper(site.picture, StagesFile(tmp_path))
    site.picture.stages.follow({ALL: "shadow"})
    site.saw(watched_s=8 * DAY_S, peaks=3)
    await keeper.once()

    kept = StagesFile(tmp_path).read()
    (tmp_path / "stages.json").write_bytes(b"{")
    lost = StagesFile(tmp_path).read()

    assert msgspec.json.encode(kept) == msgspec.json.encode(site.picture.stages)
    assert kept.scopes[ALL].now().peaks == 3
    assert lost.scopes == {}
