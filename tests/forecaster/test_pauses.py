"""What training code says of checkpoints goes before what was learned of them."""

from forecast_region import Region, at

from easyrider.messages import PhaseMark


def _mark(region: Region, phase: str) -> PhaseMark:
    return PhaseMark(
        region="r", node="n1", boot_id="boot-1", job="j", phase=phase, begins=True, expected_s=None, t_ns=0,
        mono_ns=round(region.now_s * 1e9),
    )  # fmt: skip


def test_a_checkpoint_that_is_said_to_begin_lowers_the_forecast_before_power_falls(region: Region) -> None:
    region.job("j", "n1")
    region.run(45, lambda node, t_s: 600.0 if t_s <= 25 or t_s > 35 else 150.0)
    before_w = at(region.series("j").demand, 5).mean_w

    region.engine.intake.take_mark(_mark(region, "checkpoint"), region.now_s + 0.002)
    region.run(1, lambda node, t_s: 600.0)

    assert before_w > 8 * 550.0
    assert at(region.series("j").demand, 5).mean_w < before_w - 8 * 50.0
    assert region.series("j").next_fall_s is not None
