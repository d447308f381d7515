"""What a supply can carry, as long as nobody has told."""

import pytest

from easyrider.messages import MeterReading
from easyrider.tree import Contingency, Domain, Node, NodeClass, Rules
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import Fleet, build


def fleet() -> Fleet:
    """A UPS of five modules that plans for the loss of one."""
    lost = Contingency(name="one_module", hard_limit_w=2400.0)
    ups = Domain(id="ups", kind="ups", rating_w=3000.0, supply_modules=5, contingencies=(lost,))
    box = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)
    node = Node(id="a", domain="ups", node_class="box", fallback_w_per_gpu=200.0)
    return build(Rules(id="site", version=1, domains=(ups,), classes={"box": box}, nodes=(node,)), [])


def told(modules_ok: int | None, quality: str = "good", gated: bool = True) -> MeterReading:
    """A reading of the UPS."""
    return MeterReading(
        region="r", meter="ups-1", domain="ups", boot_id="b", seq=1, t_ns=0, mono_ns=0, period_s=1.0,
        device="ups", quality=quality, gated=gated, modules_total=5, modules_ok=modules_ok,
    )  # fmt: skip


def test_a_supply_that_has_told_nothing_yet_carries_its_smallest_planned_limit():
    assert Facility(fleet()).share == pytest.approx([0.8])


def test_only_a_good_reading_of_a_gated_meter_gives_an_untold_supply_its_whole_limit():
    facility = Facility(fleet())

    assert facility.heard(told(None)) == ()
    assert facility.heard(told(5, gated=False)) == ()
    assert facility.heard(told(5, quality="suspect")) == ()
    assert facility.share == pytest.approx([0.8])
    assert facility.heard(told(5))[0].after == 1.0


def test_a_loss_is_believed_at_once_and_kept_while_the_register_is_silent():
    facility = Facility(fleet())
    facility.heard(told(5))

    assert facility.heard(told(3, quality="suspect", gated=False))[0].after == pytest.approx(0.6)
    assert facility.heard(told(None)) == ()
    assert facility.carried(fleet()).share == pytest.approx([0.6])
