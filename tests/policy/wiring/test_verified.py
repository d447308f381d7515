"""When the coordinator writes that its sums hold by read-back, the moment from which a run counts."""

from dataclasses import replace

from wired_site import Wired, rules

from easyrider.tree import ModeRule


async def open_site(pdu_w: float, declared_w: float | None) -> Wired:
    """Node `a` is limited and `b` is not, so that no domain is closed; no meter."""
    known = rules(pdu_w=pdu_w, meters=(), target_w=pdu_w, unmanaged_max_w=declared_w)
    modes = tuple(ModeRule(selector={"node": (n,)}, mode=m) for n, m in (("a", "enforce"), ("b", "observe")))
    wired = Wired(replace(known, modes=modes))
    await wired.seconds(15)
    assert wired.picture.safety.lead.phase == "leading"
    assert wired.coordinator.sums is not None
    assert not wired.coordinator.sums.closed.any()
    return wired


async def test_where_every_board_is_limited_the_sum_rule_is_proved(led: Wired) -> None:
    assert [entry["proved"] for entry in led.journal.of("verified")] == [True]


async def test_where_no_domain_is_closed_the_sums_hold_against_the_load_that_is_declared() -> None:
    site = await open_site(3000.0, declared_w=1400.0)

    assert [entry["proved"] for entry in site.journal.of("verified")] == [False]


async def test_where_nothing_is_declared_or_metered_nothing_is_called_verified() -> None:
    site = await open_site(6000.0, declared_w=None)

    assert site.journal.of("verified") == []


async def test_sums_over_the_limit_are_not_called_verified_where_no_domain_is_closed() -> None:
    site = await open_site(1900.0, declared_w=1400.0)

    assert site.journal.of("verified") == []
