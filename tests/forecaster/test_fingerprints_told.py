"""What a forecast says of a job whose type is known."""

import dataclasses

import msgspec
import numpy as np
import pytest
from fingerprint_runs import MAX_W, TYPE, Runs, work
from forecast_region import make_region

from easyrider.fingerprints import Fingerprint, Startup
from easyrider_forecaster.core.confidence import UNTRIED, Evidence, judge
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.core.fingerprints_start import ahead


@pytest.fixture(scope="module")
def first() -> Fingerprint:
    (one,) = Runs().run(work(75)).store.values()
    return one


def test_a_job_of_a_known_type_is_foretold_from_its_fingerprint_and_says_how_well_it_fits():
    region = make_region({"n1": 1})
    shelf = region.engine.shelf
    beat = work(80, setup_s=8)

    def power(_node: str, t_s: float) -> float:
        return float(beat[min(round(10 * t_s) - 1, len(beat) - 1)])

    region.job("first", "n1")
    region.run(2.0, power)
    (of,) = shelf.wanted()
    shelf.memory.take(of, ())
    region.run(86.0, power)
    said = region.series("first")
    assert (said.basis, of.name, of.gpu_count) == ("observed", "type", 1)
    region.job("first", "n1", "ended")
    region.run(2.0, lambda _node, _t_s: 80.0)
    (learned,) = shelf.memory.due(5.0)
    shelf.memory.kept(learned)

    region.job("second", "n1", started_ns=2)
    begin_s = region.t_s
    region.run(7.0, lambda node, t_s: power(node, t_s - begin_s))
    before = region.series("second")
    region_start = learned.startup.settles_s
    assert before.next_rise_s == pytest.approx(region_start - 7.0, abs=2.0)
    region.run(8.0, lambda node, t_s: power(node, t_s - begin_s))
    after = region.series("second")

    assert before.basis == "fingerprint"
    assert before.confidence <= 0.3, "a name is all that speaks for it yet, and anybody may say a name"
    assert any("fingerprint" in reason for reason in before.reasons)
    assert before.demand[0].peak_q90_w == pytest.approx(learned.peak_w, abs=1)
    assert after.period_s == pytest.approx(3.0, rel=0.03)
    assert not any("unlike" in reason for reason in after.reasons)


def test_a_fingerprint_is_believed_beyond_a_guess_once_it_was_held_against_what_is_drawn():
    evidence = Evidence(**{field.name: np.zeros(3) for field in dataclasses.fields(Evidence)})
    evidence = dataclasses.replace(
        evidence, age_s=np.full(3, 90.0), present_share=np.ones(3), error_share=np.full(3, np.nan),
        agreement=np.full(3, np.nan), changed_s=np.full(3, np.inf), nameplate=np.ones(3, bool),
        match=np.array([np.nan, UNTRIED, 0.9]),
    )  # fmt: skip

    value = judge(evidence).value

    assert value[0] == value[1] <= 0.3
    assert value[2] == pytest.approx(0.7)


def test_the_rise_of_a_start_that_is_known_is_in_every_horizon_that_it_lies_within(first: Fingerprint):
    known = msgspec.structs.replace(
        first, calm_w=500.0, startup=Startup(mean_w=(90.0,) * 20 + (500.0,) * 5, settles_s=40.0)
    )

    early, near = ahead(known, 10.0), ahead(known, 32.0)

    assert early is not None
    assert near is not None
    assert early.rise_s == 30.0
    assert early.mean_w.tolist() == [90.0] * 5
    assert near.rises.tolist() == [False, False, False, True, True]
    assert near.mean_w[3] == pytest.approx(0.2 * 500 + 0.8 * 90)
    assert ahead(known, 100.0) is None
    assert ahead(msgspec.structs.replace(first, startup=Startup()), 1.0) is None


def test_no_peak_is_foretold_below_what_the_same_fingerprint_says_was_drawn(first: Fingerprint):
    shelf = Shelf()
    shelf.memory.take(TYPE, [msgspec.structs.replace(first, peak_w=first.mean_w, p99_w=first.mean_w + 80.0)])
    shelf.track("a", 0, TYPE, fresh=True)

    assert shelf.prior("a", MAX_W).peak_w == first.mean_w + 80.0
