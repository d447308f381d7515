"""Draw under present limits, demand as if there were none."""

import numpy as np
import pytest
from forecast_region import Region, at, every_watt


def _capped(region: Region, natural_w: float = 650.0) -> float:
    return min(natural_w, region.limit_w.get("n1", 700.0))


def test_draw_is_cut_at_the_enforced_limit_and_demand_is_not(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 650.0)
    region.limit_w["n1"] = 400.0
    region.run(2, lambda node, t_s: _capped(region))

    said = region.series("j")
    assert {h.peak_q99_w for h in said.draw} == {8 * 400.0}
    assert max(h.mean_w for h in said.draw) <= 8 * 400.0
    assert at(said.demand, 10).peak_w == pytest.approx(8 * 650.0, rel=0.01)


def test_a_capped_job_does_not_teach_that_it_wants_only_its_cap(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 650.0)
    region.limit_w["n1"] = 400.0
    region.run(180, lambda node, t_s: _capped(region))

    said = region.series("j")
    assert at(said.demand, 10).mean_w == pytest.approx(8 * 650.0, rel=0.02)
    assert at(said.demand, 30).peak_q99_w >= 8 * 645.0
    assert said.censored > 0.95
    assert said.confidence < 0.6
    assert any("hidden by a limit" in reason for reason in said.reasons)


def test_a_raised_limit_raises_the_draw_at_once(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 650.0)
    region.limit_w["n1"] = 400.0
    region.run(30, lambda node, t_s: _capped(region))
    region.limit_w["n1"] = 600.0
    region.run(1.2, lambda node, t_s: _capped(region))

    assert at(region.series("j").draw, 10).mean_w > 8 * 560.0


def test_a_job_capped_from_its_start_is_believed_to_want_the_nameplate(region: Region) -> None:
    region.limit_w["n1"] = 300.0
    region.job("j", "n1")
    region.run(90, lambda node, t_s: _capped(region))

    said = region.series("j")
    assert said.basis == "nameplate"
    assert at(said.demand, 10).peak_w == 8 * 700.0
    assert at(said.draw, 10).mean_w == pytest.approx(8 * 300.0, rel=0.01)


def test_a_job_that_fell_below_its_cap_is_believed_after_a_minute(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 650.0)
    region.run(65, lambda node, t_s: 300.0)

    assert at(region.series("j").demand, 10).peak_w == pytest.approx(8 * 300.0, rel=0.02)


def test_a_limit_at_the_device_maximum_hides_nothing(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 690.0)

    said = region.series("j")
    assert said.censored == 0.0
    assert said.basis == "observed"


def test_samples_just_after_a_raise_are_still_hidden_by_the_old_limit(region: Region) -> None:
    region.limit_w["n1"] = 400.0
    region.job("j", "n1")
    region.run(10.5, lambda node, t_s: 400.0)
    region.limit_w["n1"] = 700.0
    region.run(2.0, lambda node, t_s: 400.0 if t_s < 10.9 else 650.0)

    hidden = region.engine.outlook.history.hidden
    row = region.engine.intake.groups.job("j").row
    assert int(hidden[row].sum()) >= 106  # 10.5 s and the four slots in which the raise had not bitten yet


def test_until_twelve_seconds_of_data_the_basis_is_the_nameplate(region: Region) -> None:
    region.job("j", "n1")
    bases = {t_s: region.series("j").basis for t_s in region.play(20, lambda node, t_s: 600.0) if region.said}

    assert {basis for t_s, basis in bases.items() if t_s < 12} == {"nameplate"}
    assert {basis for t_s, basis in bases.items() if t_s > 14} == {"observed"}


def test_a_job_in_set_up_keeps_the_nameplate_as_demand_but_draws_what_it_draws(region: Region) -> None:
    region.job("j", "n1")
    region.run(30, lambda node, t_s: 130.0)

    said = region.series("j")
    assert at(said.draw, 10).mean_w == pytest.approx(8 * 130.0, rel=0.01)
    assert at(said.draw, 10).peak_q99_w == 8 * 700.0
    assert at(said.demand, 10).mean_w == 8 * 700.0


def test_every_forecast_is_ordered_and_inside_the_devices_range(region: Region) -> None:
    rng = np.random.default_rng(5)
    region.job("j", "n1")
    for _ in region.play(90, lambda node, t_s: list(rng.uniform(60, 700, 8))):
        watts = every_watt(region.said)
        assert (np.diff(watts, axis=1) >= -0.11).all()
        assert watts.min() >= 0
        assert watts.max() <= 8 * 700.0
