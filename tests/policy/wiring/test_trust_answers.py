"""How far each scope has come, as the leader answers."""

import json
from typing import Any

from test_staging import ALL, site

from easyrider.gates import DAY_S, Gates
from easyrider_policy.core.stages import Returned, Stage
from easyrider_policy.trust_answers import trust


def told(wired: Any) -> dict[str, Any]:
    (found,) = json.loads(trust(wired.picture))["scopes"]
    return dict(found)


async def test_a_scope_in_shadow_shows_its_numbers_and_what_pilot_asks_for() -> None:
    wired = await site("shadow", seconds=2.0)
    wired.picture.stages.scopes[ALL].stages["shadow"] = Stage(
        watched_s=3 * DAY_S,
        job_s=7200.0,
        foretold=144.0,
        capped_s=100.0,
        false_s=5.0,
        peaks=2,
        leads=2,
        lead_s=9.0,
    )

    found = told(wired)

    assert (found["scope"], found["selector"], found["gpus"]) == (ALL, {"node": ["*"]}, 4)
    assert (found["declared"], found["mode"], found["next"], found["met"]) == (
        "shadow",
        "shadow",
        "pilot",
        False,
    )
    shadow = found["stages"]["shadow"]
    assert (shadow["days"], shadow["job_hours"], shadow["foretold_slowdown"]) == (3.0, 2.0, 0.02)
    assert (shadow["false_cap_ratio"], shadow["missed_peaks"], shadow["lead_s"]) == (0.05, 0, 4.5)
    assert (shadow["happened_slowdown"], shadow["slowdown_error"]) == (None, None)
    assert {check["name"]: check["met"] for check in found["checks"]} == {
        "shadow_days": False, "false_cap_ratio": True, "missed_peaks": True, "least_lead_s": True
    }  # fmt: skip


async def test_one_in_enforce_has_nothing_above_it_and_one_taken_back_says_why() -> None:
    wired = await site("enforce", Gates(forecasts=True), seconds=2.0)
    top = told(wired)
    wired.picture.stages.take_back(
        Returned(scope=ALL, mode="shadow", cause="forecast", detail="no fresh forecast", version=1)
    )
    wired.picture.modes_moved = True
    await wired.seconds(0.5)

    back = told(wired)

    assert (top["next"], top["met"], top["taken_back"]) == (None, None, None)
    assert [check["name"] for check in top["checks"]] == ["slowdown_error", "enforce_trusted_ratio"]
    assert (back["declared"], back["mode"]) == ("enforce", "shadow")
    assert back["taken_back"] == {"cause": "forecast", "detail": "no fresh forecast"}
