"""Many that say the same at once are told in few events, and a small site in one for each."""

from easyrider import event_kinds
from easyrider_policy.core.crowds import NAMED, bounded
from easyrider_policy.core.tidings import Tiding


def quiet(count: int, silent: bool = True) -> list[Tiding]:
    return [Tiding("node_silent", {"node": f"n{node}", "silent": silent}) for node in range(count)]


def test_up_to_so_many_are_told_one_by_one() -> None:
    assert list(bounded(quiet(NAMED))) == quiet(NAMED)


def test_of_more_the_last_one_named_says_how_many_there_are_beside() -> None:
    told = list(bounded(quiet(1000)))

    assert told[:-1] == quiet(NAMED - 1)
    assert told[-1].data == {"node": f"n{NAMED - 1}", "silent": True, "others": 1000 - NAMED}
    assert all(event_kinds.check(kind, data) for kind, data in told)


def test_beginnings_and_ends_are_told_apart() -> None:
    told = list(bounded(quiet(40) + quiet(40, silent=False)))

    assert [tiding.data["others"] for tiding in told if "others" in tiding.data] == [40 - NAMED] * 2
    assert sum(bool(tiding.data["silent"]) for tiding in told) == NAMED


def test_an_infeasible_domain_is_not_lost_among_those_that_can_be_kept_again() -> None:
    many = [Tiding("infeasible", {"domain": f"d{row}", "missing_w": 0.0}) for row in range(100)]
    one = Tiding("infeasible", {"domain": "hall", "missing_w": 900.0})

    told = list(bounded([*many, one]))

    assert one in told
    assert len(told) == NAMED + 1


def test_other_kinds_are_told_every_one() -> None:
    leaving = [Tiding("leaving", {"node": f"n{node}", "place": "asks"}) for node in range(100)]

    assert list(bounded(leaving)) == leaving
