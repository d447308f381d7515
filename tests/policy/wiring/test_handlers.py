"""What the desk makes of messages: whose word counts, how old it is, and what it may change."""

import numpy as np
import pytest
from wired_box import REGION, Box, at, frame, job, mono_ns, reading
from wired_site import Wired

from easyrider import subjects
from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast


@pytest.fixture
def heard() -> Wired:
    """Both boxes have spoken once, and the fleet follows."""
    wired = Wired()
    for box in wired.boxes.values():
        say(wired, box)
    wired.picture.follow()
    return wired


def say(wired: Wired, box: Box, **other: object) -> None:
    state = box.state(wired.now_s, **other)
    wired.desk.on_state(state, at(subjects.state(REGION, box.name), wired.now_s))


def show(wired: Wired, box: Box, arrives_s: float | None = None, **other: object) -> None:
    now_s = wired.now_s if arrives_s is None else arrives_s
    wired.desk.on_frame(box.frame(wired.now_s, **other), at(subjects.frame(REGION, box.name), now_s))


def sampled(wired: Wired) -> np.ndarray:
    return wired.picture.gathering.take()[-1]


def test_a_frame_fills_the_columns_of_its_own_boards_only(heard: Wired) -> None:
    show(heard, heard.boxes["b"])

    assert np.isnan(sampled(heard)).tolist() == [True, True, False, False]


def test_a_frame_of_boards_that_are_another_nodes_fills_nothing(heard: Wired) -> None:
    stolen = frame("a", ["b0", "b1"], [[600.0, 600.0]], [[700.0, 700.0]], gpus="b0,b1", mono_ns=mono_ns(1000))

    heard.desk.on_frame(stolen, at(subjects.frame(REGION, "a"), heard.now_s))

    assert np.isnan(sampled(heard)).all()


def test_a_frame_whose_list_of_boards_is_unknown_waits_for_the_list(heard: Wired) -> None:
    swapped = {"mono_ns": mono_ns(1000.0), "boot_id": "boot-1"}
    where = at(subjects.frame(REGION, "a"), heard.now_s)

    heard.desk.on_frame(frame("a", ["a1", "a0"], [[500.0, 600.0]], [[700.0, 700.0]], **swapped), where)
    before = sampled(heard)
    told = frame("a", ["a1", "a0"], [[500.0, 600.0]], [[700.0, 700.0]], gpus="a1,a0", **swapped)
    heard.desk.on_frame(told, where)

    assert np.isnan(before).all()
    assert sampled(heard)[:2].tolist() == [600.0, 500.0]


def test_only_a_few_lists_of_boards_are_remembered_per_node(heard: Wired) -> None:
    for number in range(50):
        heard.picture.know_list("a", [f"a{number}"])

    assert len(heard.picture._lists["a"]) <= 4


def test_samples_of_a_frozen_bus_are_no_reading_but_raise_what_counts(heard: Wired) -> None:
    box = heard.boxes["a"]
    show(heard, box)
    sampled(heard)
    box.limit_w = [650.0, 650.0]
    heard.picture.safety.ledger.seen_w[:] = 0.0

    show(heard, box, arrives_s=heard.now_s + 6.0)

    assert np.isnan(sampled(heard)).all()
    assert heard.picture.safety.ledger.seen_w[:2].tolist() == [650.0, 650.0]
    assert heard.picture.frames_s["a"] == pytest.approx(heard.now_s)


def test_samples_of_an_earlier_boot_are_no_reading(heard: Wired) -> None:
    say(heard, heard.boxes["a"], boot_id="boot-2", mono_ns=5)

    show(heard, heard.boxes["a"], boot_id="boot-1")

    assert np.isnan(sampled(heard)).all()


def test_nobody_speaks_for_another_node(heard: Wired) -> None:
    forged = heard.boxes["b"].state(heard.now_s + 5.0, boot_id="boot-9")
    nonces = heard.picture.safety.ledger.roll.nonce.copy()

    heard.desk.on_state(forged, at(subjects.state(REGION, "a"), heard.now_s + 5.0))
    heard.desk.on_frame(heard.boxes["b"].frame(heard.now_s), at(subjects.frame(REGION, "a"), heard.now_s))

    assert (heard.picture.safety.ledger.roll.nonce == nonces).all()
    assert heard.picture.safety.ledger.roll.boot == ["boot-1", "boot-1"]
    assert np.isnan(sampled(heard)).all()


def test_a_node_of_another_tree_or_of_none_is_left_aside(heard: Wired) -> None:
    stranger = Box("c")

    say(heard, heard.boxes["a"], tree="other", highest_epoch=9)
    say(heard, stranger, highest_epoch=9)

    assert heard.picture.safety.lead.highest_epoch == 0
    assert "c0" not in heard.picture.boards


def test_an_absurd_epoch_ends_nobodys_lead(heard: Wired) -> None:
    heard.picture.safety.taken(1, heard.now_s, heard.now_s)

    say(heard, heard.boxes["a"], highest_epoch=2**62)

    assert heard.picture.safety.lead.phase == "holding"
    assert heard.picture.safety.lead.highest_epoch == 1


def test_a_higher_epoch_that_a_node_has_seen_ends_the_lead(heard: Wired) -> None:
    heard.picture.safety.taken(1, heard.now_s, heard.now_s)

    say(heard, heard.boxes["a"], highest_epoch=2)

    assert heard.picture.safety.lead.phase == "contending"


def meter(wired: Wired, power_w: float | None = 2600.0, name: str = "m", **other: object) -> None:
    message = reading(wired.now_s, power_w, meter=name, **other)
    wired.desk.on_meter(message, at(subjects.meter(REGION, name), wired.now_s))


def present_w(wired: Wired) -> float:
    return float(wired.picture.meters.present_w[wired.picture.fleet.domain_index["pdu"]])


async def test_what_a_meter_shows_above_our_boards_is_unmanaged() -> None:
    wired = Wired()
    wired.boxes["a"].draw_w = wired.boxes["b"].draw_w = [150.0, 150.0]
    await wired.seconds(1)

    meter(wired, 4 * 150.0 + 2 * 100.0 + 77.0)

    assert present_w(wired) == pytest.approx(77.0, abs=0.5)


def test_before_every_node_was_met_a_meter_proves_nothing() -> None:
    wired = Wired()
    say(wired, wired.boxes["a"])
    wired.picture.follow()

    meter(wired)

    assert np.isnan(present_w(wired))


async def test_one_node_unread_for_a_moment_makes_the_meter_prove_nothing_and_soon_counts_as_foreign() -> (
    None
):
    wired = Wired()
    wired.metered = True
    await wired.seconds(2)
    wired.boxes["b"].dumb = True

    await wired.seconds(7)
    doubtful = wired.picture.meters.estimates(wired.now_s).reasons
    await wired.seconds(8)

    assert doubtful, "its age grows"
    assert not wired.picture.meters.estimates(wired.now_s).reasons, "one dead node keeps no site from rising"
    wired.picture.meters.present_w[:] = np.nan
    wired.picture.meters._since_s[:] = np.nan
    meter(wired, wired.wall_w())
    assert present_w(wired) == pytest.approx(
        100.0 + sum(map(min, wired.boxes["b"].draw_w, wired.boxes["b"].limit_w))
    )


def test_a_meter_that_the_rules_do_not_list_for_a_domain_is_no_meter_of_it(heard: Wired) -> None:
    meter(heard, name="other", modules_total=5, modules_ok=1)

    assert heard.picture.facility.share.tolist() == [1.0, 1.0]
    assert heard.picture.meters.heard_s.max() == -np.inf


@pytest.mark.parametrize("wrong", [{"quality": "suspect"}, {"power_w": None}, {"power_w": -5.0}])
async def test_a_reading_that_is_not_good_is_none(wrong: dict[str, object]) -> None:
    wired = Wired()
    await wired.seconds(1)

    meter(wired, **{"power_w": 2600.0, **wrong})

    assert wired.picture.meters.heard_s.max() == -np.inf


async def test_a_meter_behind_its_gate_teaches_the_planner_nothing() -> None:
    wired = Wired()
    await wired.seconds(1)

    meter(wired, gated=False)

    assert wired.coordinator._meter_w == {}


async def test_a_meter_that_claims_to_speak_once_an_hour_is_silent_after_three_minutes() -> None:
    wired = Wired()
    await wired.seconds(1)

    meter(wired, period_s=3600.0)

    assert wired.picture.meters.estimates(wired.now_s + 170.0).reasons == {}
    assert wired.picture.meters.estimates(wired.now_s + 190.0).reasons


def test_a_job_of_a_node_outside_the_rules_is_left_aside(heard: Wired) -> None:
    heard.desk.on_job(job(heard.now_s, "z"), at(subjects.job(REGION, "j1"), heard.now_s))

    assert heard.picture.jobs.entries == {}


def series(name: str, peak_w: float, confidence: float = 0.9, boards: int = 2) -> SeriesForecast:
    ahead = tuple(
        HorizonForecast(horizon_s=h, mean_w=peak_w, peak_w=peak_w, peak_q90_w=peak_w, peak_q99_w=peak_w)
        for h in (1.0, 3.0, 10.0)
    )
    return SeriesForecast(
        scope="job", id=name, gpu_count=boards, draw=ahead, demand=ahead, period_s=None,
        confidence=confidence, reasons=(), model="ets", censored=0.0, basis="observed",
    )  # fmt: skip


def forecast(wired: Wired, *told: SeriesForecast, made_s: float | None = None) -> None:
    now_s = wired.now_s
    message = PowerForecast(
        region=REGION, boot_id="f", seq=1, t_ns=0, mono_ns=mono_ns(now_s if made_s is None else made_s), series=told
    )  # fmt: skip
    wired.desk.on_forecast(message, at(subjects.forecast(REGION), now_s))


async def two_jobs() -> Wired:
    wired = Wired()
    await wired.seconds(1)
    wired.starts("j1", "a")
    wired.starts("j2", "b")
    await wired.seconds(0.2)
    return wired


async def test_a_forecast_that_comes_in_two_messages_is_one() -> None:
    wired = await two_jobs()

    forecast(wired, series("j1", 1000.0, confidence=0.8))
    forecast(wired, series("j2", 1000.0, confidence=0.4))

    assert wired.picture.confidence(wired.now_s) == pytest.approx(0.6)


async def test_a_forecast_is_forgotten_after_three_of_its_periods() -> None:
    wired = await two_jobs()
    forecast(wired, series("j1", 1000.0))

    assert wired.picture.confidence(wired.now_s + 2.9) is not None
    assert wired.picture.confidence(wired.now_s + 3.1) is None


async def test_a_forecast_that_was_held_up_is_left_aside() -> None:
    wired = await two_jobs()
    forecast(wired, series("j1", 1000.0, confidence=0.9))
    wired.clock.at_s += 6.0

    forecast(wired, series("j1", 1000.0, confidence=0.9), made_s=wired.now_s - 5.0)

    assert wired.picture.confidence(wired.now_s) is None


@pytest.mark.parametrize("watts", [0.0, 1e9])
async def test_an_absurd_forecast_changes_no_sum_and_no_limit_above_what_fits(watts: float) -> None:
    wired = await two_jobs()
    for _ in range(30):
        forecast(
            wired,
            series("j1", watts, 1.0, boards=10**6),
            series("j2", watts, 1.0),
            series("nobody", watts, 1.0),
        )
        await wired.seconds(0.5)

    sums = wired.picture.safety.sums(
        wired.now_s, wired.picture.managed, wired.picture.hard_w, wired.picture.meters.estimates(wired.now_s)
    )
    assert (sums.room_w[sums.closed] >= -1e-6).all()
    assert sum(sum(box.limit_w) for box in wired.boxes.values()) + 200.0 <= 2400.0 + 1e-6
    assert len(wired.picture.trust._told) == 2
