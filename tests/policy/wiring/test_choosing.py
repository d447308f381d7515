"""A coordinator with a plug-in policy: in shadow it plans; over boards it is refused, and the product plans."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from wired_site import Wired, rules

from easyrider_policy import choosing
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import decided


class Flat:
    """222 W for everybody."""

    def plan(self, observation: Any, walls: Any, situation: Any, memory: Any, _pacing: Any) -> Any:
        limit_w = np.full(observation.layout.job_count, 222.0)
        return decided(observation, walls, situation, memory, limit_w, "flat")


def with_flat(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The wired site with this policy chosen; what is journalled of it."""
    noted: list[dict[str, object]] = []
    monkeypatch.setattr(choosing, "load", lambda _name: Flat())
    wired.coordinator._planner = choosing.planner("flat", lambda: wired.picture.rules, noted.append)
    return noted


async def run(mode: str, monkeypatch: pytest.MonkeyPatch, **other: Any) -> tuple[Wired, Any]:
    wired = Wired(replace(rules(mode=mode), **other))
    noted = with_flat(wired, monkeypatch)
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(10)
    return wired, noted


async def test_in_shadow_its_plans_are_said_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    wired, noted = await run("shadow", monkeypatch)

    assert wired.coordinator.decision is not None
    assert set(wired.coordinator.decision.reasons) == {"flat"}
    assert np.isnan(wired.coordinator.decision.wanted_w).all()
    assert all((np.asarray(box.limit_w) == 700.0).all() for box in wired.boxes.values())
    assert noted == []


async def test_in_enforce_it_is_refused_once_with_the_reason_and_the_product_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wired, noted = await run("enforce", monkeypatch)

    assert wired.coordinator.decision is not None
    assert "flat" not in wired.coordinator.decision.reasons
    assert [line["what"] for line in noted] == ["policy_refused"]
    assert "do not allow it by name" in str(noted[0]["why"])
    assert all(limit_w != 222.0 for box in wired.boxes.values() for limit_w in box.limit_w)


async def test_in_enforce_it_decides_where_the_rules_allow_it_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wired, noted = await run("enforce", monkeypatch, policies=("flat",))

    assert noted == []
    assert all(limit_w == pytest.approx(222.0) for box in wired.boxes.values() for limit_w in box.limit_w)


def test_with_no_name_the_products_plan_plans() -> None:
    assert choosing.planner(None, rules, lambda _line: None) is plan
