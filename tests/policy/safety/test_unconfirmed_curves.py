"""A preset's curve justifies nothing that is enforced until somebody vouches for it."""

import dataclasses

import pytest
from small_site import rules

from easyrider.tree import ModeRule, TripCurve
from easyrider.trip_presets import presets
from easyrider_policy.core import checks

PRESET = TripCurve(preset="ul489", points=presets()["ul489"])


def under(mode: str, curve: TripCurve, **selector: tuple[str, ...]):
    site = rules(3000.0, guard=True, curve=curve)
    return dataclasses.replace(site, modes=(ModeRule(selector=selector or {"rack": ("pdu",)}, mode=mode),))


def test_enforce_below_an_unconfirmed_preset_is_refused_and_told_what_is_missing():
    (fault,) = checks.faults(under("enforce", PRESET))

    assert "domains[pdu].curve is the preset ul489, unverified" in fault
    assert "confirmed_by" in fault


@pytest.mark.parametrize("mode", ["observe", "shadow", "pilot"])
def test_every_mode_short_of_enforce_may_begin_with_it(mode):
    assert checks.faults(under(mode, PRESET)) == []


def test_a_job_that_would_be_enforced_there_counts_too():
    assert len(checks.faults(under("enforce", PRESET, queue=("night",)))) == 1


@pytest.mark.parametrize(
    "curve", [dataclasses.replace(PRESET, confirmed_by="H. Weber"), TripCurve(points=PRESET.points)]
)
def test_a_confirmed_curve_or_ones_own_is_taken(curve):
    assert checks.faults(under("enforce", curve)) == []


def test_the_timing_rule_reads_a_preset_like_any_curve():
    steep = TripCurve(preset="iec60898-b", confirmed_by="H. Weber", points=presets()["iec60898-b"])
    unguarded = rules(1400.0, curve=steep)

    assert any("which its curve carries for" in fault for fault in checks.faults(unguarded))
