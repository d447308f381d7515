"""A wired site is scored as plans are made: what was watched, what would have been capped, and what is taken back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from wired_site import Wired, rules

from easyrider.gates import Gates
from easyrider_policy.core.stages import NONE, Stage

ALL = "node=*"


async def site(mode: str, gates: Gates | None = None, seconds: float = 12.0, **of_pdu: Any) -> Wired:
    """Two jobs of two boards each, in this mode."""
    wired = Wired(replace(rules(mode=mode, **of_pdu), gates=gates or Gates()))
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(seconds)
    return wired


def stage(wired: Wired) -> Stage:
    return wired.picture.stages.scopes[ALL].now()


def paced(wired: Wired, slow: float) -> None:
    """Iterations of every job say that it is slowed by so much."""
    paces = wired.picture.observation.paces
    paces.slow[:], paces.slow_heard[:] = slow, 100.0


async def test_each_scope_is_watched_for_as_long_as_its_boards_are_read() -> None:
    wired = await site("shadow")

    assert wired.picture.stages.scopes[ALL].mode == "shadow"
    assert stage(wired).watched_s == pytest.approx(13.0, abs=2.0)
    assert stage(wired).job_s == pytest.approx(24.0, abs=6.0)
    assert wired.picture.stages.scopes[NONE].now().watched_s == 0.0

    for box in wired.boxes.values():
        box.dumb = True
    await wired.seconds(4)
    before_s = stage(wired).watched_s
    await wired.seconds(3)
    assert stage(wired).watched_s == before_s


async def test_in_shadow_caps_that_would_have_slowed_jobs_are_counted_and_what_happened_is_not_known() -> (
    None
):
    wired = await site("shadow", seconds=55.0, pdu_w=1800.0)

    told = stage(wired)
    assert told.capped_s > 10.0
    assert told.foretold > 0.0
    assert told.compared_s == 0.0
    assert told.false_s == 0.0
    assert told.peaks >= 1, "nobody held what they draw"
    assert all((np.asarray(box.limit_w) == 700.0).all() for box in wired.boxes.values())


async def test_a_slowdown_nobody_could_foretell_is_left_out_and_the_others_count_on() -> None:
    wired = await site("shadow")
    before = stage(wired)
    job_s, foretold = before.job_s, before.foretold

    for _ in range(40):
        last = wired.coordinator.staging._before
        if last is not None:
            last.slowdown[0] = np.nan
        await wired.look()

    told = stage(wired)
    assert job_s + 1.5 < told.job_s < job_s + 6.0, "one job of two, for four seconds"
    assert np.isfinite(told.foretold)
    assert told.foretold >= foretold


async def test_in_pilot_the_slowdown_foretold_is_held_against_what_happened() -> None:
    wired = await site("pilot")

    for _ in range(10):
        paced(wired, 0.1)
        await wired.seconds(1)

    told = stage(wired)
    assert told.compared_s == pytest.approx(20.0, abs=4.0)
    assert told.happened / told.compared_s == pytest.approx(0.1)
    assert told.capped_s == 0.0, "its limits are written: nothing is as if"


async def test_jobs_slowed_far_beyond_what_was_foretold_take_their_scope_back_to_shadow() -> None:
    wired = await site("enforce", Gates(beyond_s=5.0))
    assert wired.picture.managed.all()

    for _ in range(8):
        paced(wired, 0.9)
        await wired.seconds(1)

    assert not wired.picture.managed.any()
    assert wired.picture.stages.scopes[ALL].mode == "shadow"
    (lost,) = wired.bus.events("trust_lost")
    assert (lost["scope"], lost["from"], lost["to"], lost["cause"]) == (ALL, "enforce", "shadow", "slowdown")
    assert "90%" in lost["detail"]
    assert lost["gpus"] == 4
    assert "slowdown error" in lost["evidence"]


async def test_a_slowdown_that_was_foretold_takes_nobody_back() -> None:
    wired = await site("enforce", Gates(beyond_s=5.0, slowdown_beyond=0.95))

    for _ in range(8):
        paced(wired, 0.9)
        await wired.seconds(1)

    assert wired.picture.managed.all()


async def test_forecasts_that_collapse_take_back_only_where_the_gate_asks_for_them() -> None:
    asks = await site("enforce", Gates(forecasts=True, collapse_s=6.0))
    asks_not = await site("enforce", Gates(collapse_s=6.0))

    assert [one["cause"] for one in asks.bus.events("trust_lost")] == ["forecast"]
    assert asks_not.bus.events("trust_lost") == []
    assert asks_not.picture.managed.all()


async def test_a_gate_that_is_met_is_told_once_with_its_numbers() -> None:
    wired = await site("shadow", Gates(shadow_days=5.0 / 86400.0))

    (met,) = wired.bus.events("gate_met")
    assert (met["scope"], met["mode"], met["next"]) == (ALL, "shadow", "pilot")
    assert "shadow days" in met["evidence"]


async def test_while_a_plug_in_policy_plans_nothing_is_counted_for_the_product() -> None:
    wired = await site("shadow")
    plan = wired.coordinator._planner
    wired.coordinator._planner = lambda *known: replace(
        decision := plan(*known), memory=replace(decision.memory, solution=None)
    )
    await wired.seconds(2)
    before_s = stage(wired).watched_s

    await wired.seconds(3)

    assert stage(wired).watched_s == before_s
