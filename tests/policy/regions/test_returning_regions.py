"""A region that was silent comes back to a parent that has lent its watts on."""

from test_lending import LEASE_S, WAIT_S, demand, met, say

BACK_S = 2 * LEASE_S + WAIT_S


def test_watts_that_ran_out_are_not_given_again_because_more_could_be_drawn_there():
    found = met()
    found.heard(demand("a", 4, (1, 3), granted_w=800.0, counted_w=800.0), 0.3)
    say(found, 0.3, 700.0, 100.0)  # never arrives, and then nothing is heard

    found.heard(demand("a", 5, (1, 3), counted_w=850.0), BACK_S)

    assert say(found, BACK_S, 700.0, 100.0, limit_w=900.0)["a"].hard_w == 100.0
