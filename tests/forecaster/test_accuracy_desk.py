"""From a job's samples to the record of how right its forecasts were, in the store."""

import math

import numpy as np
import pytest
from forecast_region import Region

from easyrider import accuracy, metrics
from easyrider.accuracy import Accuracy
from easyrider.testing.fake_store import FakeStore
from easyrider_forecaster.accuracy_desk import KEPT_S, AccuracyDesk
from easyrider_forecaster.adapters import clocks
from easyrider_forecaster.core.arrays import HORIZONS_S


def load(_node: str, t_s: float) -> float:
    """SYNTHETIC: 9 s of compute, 1 s of communication."""
    return 200.0 if t_s % 10 > 9 else 600.0 + 5 * math.sin(t_s)


def desk_of(region: Region, store: FakeStore) -> AccuracyDesk:
    return AccuracyDesk(engine=region.engine, store=store, tree="site", region="r")


async def kept(store: FakeStore) -> dict[str, Accuracy]:
    found = await store.load_accuracies("site")
    return {kept_id: accuracy.decode(kept_id, data) for kept_id, (_moment, data) in found.items()}


async def test_a_running_job_has_a_record_and_it_stays_when_the_job_is_over(region: Region) -> None:
    store = FakeStore()
    region.job("llm", "n1")
    region.run(180, load)
    assert await desk_of(region, store).round()
    region.job("llm", "n1", "ended")
    region.run(3, load)
    assert await desk_of(region, store).round()

    one = (await kept(store))["r llm"]

    assert (one.job, one.gpu_count, one.type_key) == ("llm", 8, "type")
    first = one.demand[0]
    assert first.run.windows > 100
    assert first.assumed > 0  # before anything was seen
    assert first.run.mae_w is not None
    assert first.run.mae_w < 150
    assert one.rises.seen == pytest.approx(17, abs=1)
    assert one.rises.foretold > 5
    assert len(one.trail) > 10


async def test_of_a_job_that_begins_in_anothers_row_nothing_of_the_other_is_told(region: Region) -> None:
    store = FakeStore()
    region.job("first", "n1")
    region.run(60, load)
    region.job("first", "n1", "ended")
    region.job("second", "n1", started_ns=2)
    await desk_of(region, store).round()  # before its row was cleared
    assert await kept(store) == {}

    region.run(2, load)
    await desk_of(region, store).round()

    assert {kept_id: one.seconds for kept_id, one in (await kept(store)).items()} == {"r second": 2}


async def test_what_was_said_before_a_host_stood_still_is_not_held_against_what_came_after(
    region: Region,
) -> None:
    region.job("llm", "n1")
    region.run(60, load)
    (job,), ledger = region.engine.running(), region.engine.ledger
    seconds, longest = int(ledger.seconds[job.row]), HORIZONS_S.index(30)
    before = ledger.demand.sums(np.array([job.row]))[0][0, longest]
    region.t_s += 300.0

    played = iter(region.play(40, load))
    for _ in range(20):  # windows of 30 s that begin now have not passed
        next(played)

    assert ledger.seconds[job.row] == seconds + 20
    assert ledger.demand.sums(np.array([job.row]))[0][0, longest] == before > 0


async def test_a_store_that_is_away_costs_the_record_alone(region: Region) -> None:
    store = FakeStore()
    region.job("llm", "n1")
    region.run(5, load)
    store.silent = "away"
    assert not await desk_of(region, store).round()

    store.silent = ""

    assert await desk_of(region, store).round()
    assert set(await kept(store)) == {"r llm"}


async def test_what_is_older_than_a_week_is_forgotten(region: Region) -> None:
    store, now_s = FakeStore(), clocks.unix_ns() // 10**9
    await store.save_accuracy("site", now_s - KEPT_S - 60, {"r old": b"x"})
    await store.save_accuracy("site", now_s - KEPT_S + 60, {"r young": b"x"})

    await desk_of(region, store).round()

    assert set(await store.load_accuracies("site")) == {"r young"}


def told(line: str) -> float:
    found = [each for each in metrics.text().decode().splitlines() if each.startswith(f"easyrider_{line} ")]
    return float(found[0].rpartition(" ")[2]) if found else math.nan


async def test_metrics_tell_of_all_jobs_together_and_of_each_and_of_none_that_is_over(region: Region) -> None:
    region.job("llm", "n1")
    region.run(90, load)
    await desk_of(region, FakeStore()).round()
    one = 'forecast_job_mase_ratio{job="llm",side="demand"}'
    mase = told('forecast_mase_ratio{horizon_s="10",side="demand"}')

    assert mase == told(one) > 0
    assert 0 <= told('forecast_coverage99_ratio{horizon_s="1",side="draw"}') <= 1
    assert told('forecast_rises{what="seen"}') > 5
    assert 0 <= told('forecast_domain_coverage99_ratio{domain="pdu",side="draw"}') <= 1

    region.job("llm", "n1", "ended")
    await desk_of(region, FakeStore()).round()

    assert math.isnan(told(one))
    assert math.isnan(told('forecast_mase_ratio{horizon_s="10",side="demand"}'))
    assert told('forecast_windows_lately{horizon_s="10",side="demand"}') == 0
