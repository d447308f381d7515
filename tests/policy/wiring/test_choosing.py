"""A coordinator with a plug-in policy: in shadow it plans; over boards it is refused, and the product plans."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from wired_box import REGION, at, reading
from wired_site import Wired, rules

from easyrider import subjects
from easyrider.tree import Contingency
from easyrider_policy import choosing
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import decided


class Flat:
    """The same watts for everybody."""

    def __init__(self, watts: float) -> None:
        self.watts = watts

    def plan(self, observation: Any, walls: Any, situation: Any, memory: Any, _pacing: Any) -> Any:
        limit_w = np.full(observation.layout.job_count, self.watts)
        return decided(observation, walls, situation, memory, limit_w, "flat")


def with_flat(wired: Wired, monkeypatch: pytest.MonkeyPatch, watts: float = 222.0) -> None:
    """The wired site with this policy chosen."""
    monkeypatch.setattr(choosing, "load", lambda _name: Flat(watts))
    tell = wired.coordinator.untold.append
    wired.coordinator._planner = choosing.planner("flat", lambda: wired.picture.rules, tell)


async def run(mode: str, monkeypatch: pytest.MonkeyPatch, **other: Any) -> tuple[Wired, Any]:
    """The site after ten seconds, and what was said of the policy."""
    wired = Wired(replace(rules(mode=mode), **other))
    with_flat(wired, monkeypatch)
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(10)
    return wired, wired.bus.events("policy_refused")


async def test_in_shadow_its_plans_are_said_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    wired, said = await run("shadow", monkeypatch)

    assert wired.coordinator.decision is not None
    assert set(wired.coordinator.decision.reasons) == {"flat"}
    assert np.isnan(wired.coordinator.decision.wanted_w).all()
    assert all((np.asarray(box.limit_w) == 700.0).all() for box in wired.boxes.values())
    assert said == []


async def test_in_enforce_it_is_refused_once_with_the_reason_and_the_product_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wired, said = await run("enforce", monkeypatch)

    assert wired.coordinator.decision is not None
    assert "flat" not in wired.coordinator.decision.reasons
    assert [event["policy"] for event in said] == ["flat"]
    assert "do not allow it by name" in said[0]["why"]
    assert [line["why"] for line in wired.journal.of("policy_refused")] == [said[0]["why"]]
    assert all(limit_w != 222.0 for box in wired.boxes.values() for limit_w in box.limit_w)


async def test_in_enforce_it_decides_where_the_rules_allow_it_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wired, said = await run("enforce", monkeypatch, policies=("flat",))

    assert said == []
    assert all(limit_w == pytest.approx(222.0) for box in wired.boxes.values() for limit_w in box.limit_w)


async def test_a_supply_that_falls_is_kept_by_the_product_where_the_policy_would_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    battery = Contingency(name="battery", when="on_battery", hard_limit_w=1800.0, target_w=1700.0)
    wired = Wired(replace(rules(contingencies=(battery,)), policies=("flat",)))
    with_flat(wired, monkeypatch, watts=500.0)
    wired.metered = True
    pdu = wired.picture.fleet.domain_index["pdu"]

    def supplied(on_battery: bool) -> None:
        modules = reading(wired.now_s, 2000.0, meter="u", domain="ups", modules_ok=5, modules_total=5)
        wired.desk.on_meter(modules, at(subjects.meter(REGION, "u"), wired.now_s))
        mains = reading(wired.now_s, wired.wall_w(), on_battery=on_battery)
        wired.desk.on_meter(mains, at(subjects.meter(REGION, "m"), wired.now_s))

    for second in range(30):
        supplied(False)
        if second == 0:
            for name in "ab":
                wired.starts(f"job-{name}", name)
        await wired.seconds(1)
    assert wired.coordinator.decision is not None
    assert set(wired.coordinator.decision.reasons) == {"flat"}

    for _ in range(30):
        supplied(True)
        await wired.seconds(1)

    assert wired.coordinator.sums is not None
    assert wired.coordinator.sums.hard_w[pdu] == 1800.0
    assert wired.coordinator.sums.room_w[pdu] >= 0.0
    assert "flat" not in wired.coordinator.decision.reasons
    (said,) = wired.bus.events("policy_refused")
    assert "pdu could draw" in said["why"]


def test_with_no_name_the_products_plan_plans() -> None:
    assert choosing.planner(None, rules, lambda _tiding: None) is plan
