"""What the coordinator finds worth an event: conditions that begin and end, each told once, in catalogued words."""

from collections.abc import Iterable

from easyrider import event_kinds
from easyrider.tree import HoldRule
from easyrider_policy.core.tidings import Draw, Slow, Tiding, Tidings


def told(tidings: Iterable[Tiding]) -> list[tuple[str, dict[str, object]]]:
    found = list(tidings)
    for tiding in found:
        event_kinds.check(tiding.kind, tiding.data)
    return [(tiding.kind, tiding.data) for tiding in found]


def test_a_domain_above_its_target_is_told_once_and_again_when_it_was_below_for_ten_seconds() -> None:
    tidings = Tidings()
    over, under = {"pdu": Draw(1200.0, 1000.0)}, {"pdu": Draw(900.0, 1000.0)}

    first = told(tidings.draws(over, ["pdu"], 0.0))
    still = told(tidings.draws(over, ["pdu"], 5.0))
    flicker = told(tidings.draws(under, [], 9.0))
    calm = told(tidings.draws(under, [], 15.1))

    assert first == [
        ("excursion", {"domain": "pdu", "above": True, "observed_w": 1200.0, "target_w": 1000.0})
    ]
    assert still == flicker == []
    assert calm == [("excursion", {"domain": "pdu", "above": False, "observed_w": 900.0, "target_w": 1000.0})]


def test_an_alarm_short_of_the_target_is_no_excursion() -> None:
    assert told(Tidings().draws({"pdu": Draw(999.0, 1000.0)}, ["pdu"], 0.0)) == []


def test_a_job_that_yields_beyond_its_class_is_told_once_each_way_also_when_it_ends_meanwhile() -> None:
    tidings = Tidings()

    begins = told(tidings.jobs({"j": Slow(0.31, 0.20, "hard:pdu")}, lambda _name: None, 0.0))
    still = told(tidings.jobs({"j": Slow(0.35, 0.20, "hard:pdu")}, lambda _name: None, 1.0))
    gone = told(tidings.jobs({}, lambda _name: None, 12.0))

    assert [(kind, data["job"], data["beyond"], data["reason"]) for kind, data in begins + gone] == [
        ("slowed", "j", True, "hard:pdu"),
        ("slowed", "j", False, "ended"),
    ]
    assert still == []


def test_a_job_that_is_back_within_its_bound_is_told_with_what_it_loses_now() -> None:
    tidings = Tidings()
    told(tidings.jobs({"j": Slow(0.31, 0.20, "hard:pdu")}, lambda _name: None, 0.0))

    ((_kind, data),) = told(tidings.jobs({}, lambda _name: Slow(0.05, 0.20, "target:pdu"), 12.0))

    assert (data["beyond"], data["slowdown"], data["reason"]) == (False, 0.05, "target:pdu")


def test_silence_of_meters_and_nodes_is_told_once_each_way() -> None:
    tidings = Tidings()

    begins = told(tidings.silent(["pdu"], ["n1"], 0.0))
    still = told(tidings.silent(["pdu"], ["n1"], 1.0))
    ends = told(tidings.silent([], [], 2.0))

    assert begins == [
        ("meter_silent", {"domain": "pdu", "silent": True}),
        ("node_silent", {"node": "n1", "silent": True}),
    ]
    assert still == []
    assert [data["silent"] for _kind, data in ends] == [False, False]


def test_trust_in_forecasts_is_told_when_it_turns() -> None:
    tidings = Tidings()

    at_first = told(tidings.trust(True, "no forecast yet"))
    earned = told(tidings.trust(False, ""))
    lost = told(tidings.trust(True, "the forecaster is silent"))

    assert at_first == []
    assert earned == [("reactive", {"reactive": False, "why": ""})]
    assert lost == [("reactive", {"reactive": True, "why": "the forecaster is silent"})]


def test_a_node_asks_leaves_and_is_back() -> None:
    tidings = Tidings()

    said = [
        *told(tidings.places(["n1"], [])),
        *told(tidings.places(["n1"], [])),
        *told(tidings.places([], ["n1"])),
        *told(tidings.places([], [])),
    ]

    assert [data["place"] for _kind, data in said] == ["asks", "left", "here"]


def test_a_hold_is_told_when_it_is_set_and_when_it_is_taken_away() -> None:
    tidings, hold = Tidings(), HoldRule(id="h1", domains=("pdu",), reason="work on the feed", by="ada")

    said = [*told(tidings.holds([hold])), *told(tidings.holds([hold])), *told(tidings.holds([]))]

    assert [(data["id"], data["held"], data["by"]) for _kind, data in said] == [
        ("h1", True, "ada"),
        ("h1", False, "ada"),
    ]
