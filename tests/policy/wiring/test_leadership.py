"""Who leads, against a store that answers, is silent, refuses or knows another."""

import pytest
from wired_box import REGION, TREE, at
from wired_site import Wired

from easyrider import subjects


@pytest.fixture
def wired() -> Wired:
    return Wired()


async def led(wired: Wired) -> Wired:
    await wired.leadership.once(wired.now_s)
    return wired


def phase(wired: Wired) -> str:
    return wired.picture.safety.lead.phase


async def test_a_free_lead_is_taken_and_then_renewed(wired: Wired) -> None:
    await led(wired)
    wired.clock.at_s += 4.0
    await wired.leadership.once(wired.now_s)
    wired.clock.at_s += 4.0

    assert phase(wired) == "holding"
    assert wired.picture.safety.may_publish(wired.now_s)


async def test_the_epoch_is_above_whatever_a_node_has_seen(wired: Wired) -> None:
    state = wired.boxes["a"].state(wired.now_s, highest_epoch=41)
    wired.desk.on_state(state, at(subjects.state(REGION, "a"), wired.now_s))

    await led(wired)

    assert wired.picture.safety.lead.epoch == 42


async def test_while_another_holds_it_nothing_is_taken_and_once_free_it_is(wired: Wired) -> None:
    await wired.store.take_lead(TREE, REGION, "other", 0, 5.0)

    await led(wired)
    before = phase(wired)
    wired.clock.at_s += 5.1
    await led(wired)

    assert before == "contending"
    assert wired.picture.safety.lead.epoch == 2


async def test_a_store_that_answers_with_another_ends_the_lead_at_once(wired: Wired) -> None:
    await led(wired)
    await wired.store.give_up_lead(TREE, REGION, "me", 1)
    await wired.store.take_lead(TREE, REGION, "other", 0, 5.0)

    await wired.leadership.once(wired.now_s)

    assert phase(wired) == "contending"
    assert not wired.picture.safety.may_publish(wired.now_s)


async def test_a_silent_store_ends_no_lead_while_nodes_ack_our_epoch(wired: Wired) -> None:
    await wired.seconds(3)
    wired.store.silent = "gone"

    await wired.seconds(12)

    assert phase(wired) == "leading"


async def test_a_silent_store_and_silent_nodes_end_it(wired: Wired) -> None:
    await wired.seconds(3)
    wired.store.silent = "gone"
    for box in wired.boxes.values():
        box.dumb = True

    await wired.seconds(12)

    assert phase(wired) == "contending"


async def test_nobody_starts_to_lead_while_the_store_is_silent_or_refuses(wired: Wired) -> None:
    wired.store.silent = "loading"
    await led(wired)
    wired.store.silent, wired.store.full = "", "read-only"
    await led(wired)

    assert phase(wired) == "contending"


async def test_an_instance_that_can_command_nobody_takes_no_lead(wired: Wired) -> None:
    wired.fit = False

    await led(wired)

    assert phase(wired) == "contending"


async def test_a_leader_without_a_bus_lets_the_lease_run_out_to_another(wired: Wired) -> None:
    await wired.seconds(3)
    wired.fit = False

    await wired.seconds(6)

    assert phase(wired) == "contending"
    assert await wired.store.take_lead(TREE, REGION, "other", 0, 5.0) == 2


async def test_a_clean_stop_frees_the_lead_for_another_and_does_not_take_it_again(wired: Wired) -> None:
    await led(wired)

    await wired.leadership.give_up()
    await wired.leadership.once(wired.now_s)

    assert phase(wired) == "contending"
    assert await wired.store.take_lead(TREE, REGION, "other", 0, 5.0) == 2


async def test_a_stop_with_a_silent_store_lets_the_lead_run_out(wired: Wired) -> None:
    await led(wired)
    wired.store.silent = "gone"

    await wired.leadership.give_up()

    assert phase(wired) == "contending"


async def test_a_higher_epoch_heard_while_the_store_answered_is_not_undercut(wired: Wired) -> None:
    class SlowStore(type(wired.store)):  # type: ignore[misc]
        async def take_lead(self, *args: object) -> int | None:
            epoch = await super().take_lead(*args)
            wired.picture.safety.lead = _seen(wired, 7)
            return epoch

    wired.store.__class__ = SlowStore

    await led(wired)

    assert phase(wired) == "contending"


def _seen(wired: Wired, epoch: int) -> object:
    from easyrider_policy.core import leader

    return leader.seen(wired.picture.safety.lead, epoch)
