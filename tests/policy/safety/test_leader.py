"""Who leads."""

import pytest

from easyrider.tree import Leases
from easyrider_policy.core import leader
from easyrider_policy.core.leader import Lead

LEASES = Leases()


def leads(at_s: float = 100.0) -> Lead:
    """Epoch 5, taken at `at_s`."""
    return leader.taken(leader.seen(Lead(), 4), 5, at_s, at_s)


def test_an_epoch_from_the_store_must_be_above_every_epoch_seen():
    lead = leader.taken(leader.seen(Lead(), 7), 7, 0.0, 0.0)

    assert lead.phase == "contending"
    assert "not above 7" in lead.why


def test_a_new_leader_holds_first_and_leads_after_ttl_and_a_heartbeat():
    lead = leads()

    holding = leader.passed(leader.renewed(lead, 105.0), LEASES, 105.9)
    leading = leader.passed(holding, LEASES, 106.0)

    assert (holding.phase, leading.phase) == ("holding", "leading")


def test_a_higher_epoch_seen_anywhere_ends_the_lead_and_is_never_bumped_in_place():
    lead = leader.acked(leads(), 6, 101.0)

    assert lead.phase == "contending"
    assert lead.highest_epoch == 6
    assert lead.epoch == 5


def test_a_store_that_answers_no_ends_the_lead_at_once():
    assert not leader.may_publish(leader.not_ours(leads()), LEASES, 100.1)


def test_a_process_that_was_frozen_past_its_lease_publishes_nothing_when_it_wakes():
    lead = leader.renewed(leads(), 103.0)

    assert leader.may_publish(lead, LEASES, 108.0)
    assert not leader.may_publish(lead, LEASES, 108.1)
    assert leader.passed(lead, LEASES, 108.1).phase == "contending"


def test_the_lease_counts_from_the_start_of_the_renewal_not_from_its_answer():
    lead = leader.taken(Lead(), 1, started_s=100.0, now_s=104.0)

    assert not leader.may_publish(lead, LEASES, 105.1)


def test_while_the_store_does_not_answer_a_leader_goes_on_as_long_as_acks_show_its_epoch():
    lead = leads()
    for second in range(101, 130):
        lead = leader.unanswered(lead, float(second))
        lead = leader.acked(lead, 5, float(second))

        assert leader.may_publish(lead, LEASES, second + 0.9)


def test_an_ack_that_comes_late_does_not_make_the_newest_older():
    lead = leader.acked(leader.acked(leads(), 5, 103.0), 5, 101.0)

    assert lead.acked_s == 103.0


def test_while_the_store_does_not_answer_and_no_ack_comes_it_stops():
    lead = leads()
    for second in range(101, 110):
        lead = leader.unanswered(lead, float(second))

    assert not leader.may_publish(lead, LEASES, 109.5)


def test_a_process_frozen_while_the_store_was_silent_stops_when_it_wakes():
    lead = leader.acked(leader.unanswered(leads(), 104.0), 5, 104.0)

    assert not leader.may_publish(lead, LEASES, 107.0)


@pytest.mark.parametrize("step", [leader.not_ours, lambda lead: leader.renewed(lead, 1.0)])
def test_a_contender_stays_one_whatever_old_answers_come(step):
    assert step(Lead()).phase == "contending"


def test_the_lead_is_settled_once_the_hold_is_over_or_while_another_leads():
    fresh = Lead()
    holding = leader.taken(fresh, 1, 100.0, 100.1)
    leading = leader.passed(leader.renewed(holding, 106.0), LEASES, 106.2)

    assert not leader.settled(fresh)
    assert not leader.settled(leader.seen(fresh, 0))
    assert not leader.settled(holding)
    assert leader.settled(leading)
    assert not leader.settled(leader.not_ours(leading))
    assert leader.settled(leader.seen(leader.not_ours(leading), 2))
