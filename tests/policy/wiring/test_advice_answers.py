"""Advice as the leader answers it, from what it knows; no limit moves by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_asks import Asker
from wired_site import Wired

from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider_policy.advice_answers import UNPLANNED, AdviceAnswers


def forecast(*jobs: str, period_s: float) -> PowerForecast:
    soon = HorizonForecast(horizon_s=2.0, mean_w=900.0, peak_w=900.0, peak_q90_w=900.0, peak_q99_w=900.0)
    series = tuple(
        SeriesForecast(
            scope="job", id=name, gpu_count=2, draw=(soon,), demand=(soon,), period_s=period_s, confidence=0.9,
            reasons=(), model="m", censored=0.0, basis="observed",
        )
        for name in jobs
    )  # fmt: skip
    return PowerForecast(region="r", boot_id="b", seq=1, t_ns=0, mono_ns=0, series=series)


@pytest.fixture
def asker(led: Wired, tmp_path: Path) -> Asker:
    return Asker(led, tmp_path)


async def test_jobs_that_swing_together_below_one_pdu_are_told_to_part_and_no_limit_moves(
    led: Wired, asker: Asker
) -> None:
    for tenths in range(200):  # 2 s high, 2 s low, both at once
        for box in led.boxes.values():
            box.draw_w = [600.0 if tenths % 40 < 20 else 250.0] * len(box.draw_w)
        await led.look()
    led.picture.take_forecast(forecast("job-a", "job-b", period_s=4.0), led.now_s)
    before = {name: list(box.limit_w) for name, box in led.boxes.items()}

    told: dict[str, Any] = await asker.body("advice_offsets")

    pdu = next(row for row in told["domains"] if row["domain"] == "pdu")
    (group,) = pdu["groups"]
    assert {job["job"] for job in group["jobs"]} == {"job-a", "job-b"}
    assert sorted(job["offset_s"] for job in group["jobs"]) == [0.0, pytest.approx(2.0, abs=0.2)]
    assert group["avoided_w"] > 0.2 * group["peak_w"]
    assert {name: list(box.limit_w) for name, box in led.boxes.items()} == before


async def test_without_periods_there_is_nothing_to_gain_and_each_job_is_told_why(asker: Asker) -> None:
    told = await asker.body("advice_offsets")

    pdu = next(row for row in told["domains"] if row["domain"] == "pdu")
    assert (pdu["avoided_w"], pdu["groups"]) == (0.0, [])
    assert "nothing to gain" in pdu["says"]
    assert {row["why"] for row in pdu["left_out"]} == {"no forecast of it is fresh"}


async def test_where_every_board_is_taken_nothing_can_start_and_a_job_waits_for_one_to_end(
    asker: Asker,
) -> None:
    told = await asker.body("advice_fragmentation", json.dumps({"gpus": 2, "peak_w": 300.0}))

    assert [(row["branch"], row["idle"], row["gpus"]) for row in told["branches"]] == [("pdu", 0, 0)]
    assert (told["largest"], told["in_sum"], told["index"]) == (0, 0, None)
    (step,) = told["plan"]
    assert (step["act"], step["branches"], len(step["drains"])) == ("drain", ["pdu"], 1)


async def test_boards_that_are_idle_can_start_as_far_as_the_pdu_has_room(tmp_path: Path) -> None:
    wired = Wired()
    wired.metered = True
    for box in wired.boxes.values():
        box.draw_w = [100.0] * len(box.draw_w)
    await wired.seconds(2)
    wired.starts("job-a", "a")
    await wired.seconds(40)

    told = await Asker(wired, tmp_path).body("advice_fragmentation", json.dumps({"gpus": 2, "peak_w": 400.0}))
    dear = await Asker(wired, tmp_path).body(
        "advice_fragmentation", json.dumps({"gpus": 2, "peak_w": 9999.0})
    )

    assert (told["branches"][0]["idle"], told["largest"], told["index"]) == (2, 2, 0.0)
    assert told["plan"][0]["act"] == "start"
    assert dear["peak_w"] == 9999.0


async def test_what_is_no_job_is_refused_with_what_is_wrong(asker: Asker) -> None:
    for asked in ("gpus=8", '{"gpus": 0}', '{"watts": 5}'):
        answer = await asker.says("advice_fragmentation", asked)

        assert answer is not None
        assert not answer.ok
        assert "job" in answer.reason


async def test_before_anything_is_planned_what_could_start_is_unknown_and_not_nothing() -> None:
    wired = Wired()
    advice = AdviceAnswers(wired.coordinator, wired.clock.now_s)

    offsets = json.loads(await advice.offsets())
    told = json.loads(await advice.fragmentation(""))

    assert (offsets["domains"], offsets["says"]) == ([], UNPLANNED)
    assert (told["largest"], told["in_sum"], told["index"], told["says"]) == (None, None, None, UNPLANNED)


async def test_a_node_that_heat_slows_is_told_with_the_cooler_ones_where_as_many_boards_are_idle(
    led: Wired, asker: Asker
) -> None:
    calm: dict[str, Any] = await asker.body("advice_cooling")
    led.picture.observation.limiters.heat_w[:2] = 300.0
    led.picture.gathering.add_temperatures(np.arange(4), np.array([84.0, 88.0, 60.0, 61.0]))
    busy: dict[str, Any] = await asker.body("advice_cooling")
    led.picture.observation.layout.job_of[2:] = -1  # its job has ended

    told: dict[str, Any] = await asker.body("advice_cooling")
    led.picture.observation.unread_s[:] = 60.0
    silent: dict[str, Any] = await asker.body("advice_cooling")

    hot = {"node": "a", "boards": 2, "hottest_c": 88.0}
    assert (calm["nodes"], calm["says"]) == ([], "no board that is read is slowed by heat: nothing to move")
    assert busy["nodes"] == [hot | {"to": []}]
    assert told["nodes"] == [hot | {"to": ["b"]}]
    assert silent["nodes"] == []
