"""What the API decides, by itself: releases, owners' answers, dry runs, differences, readings of JSON."""

import copy
from typing import Any

import pytest
from site_rules import DOCUMENT, SAVED_JOBS, STATE, document

from easyrider.errors import BadTree
from easyrider.tree import MODES, Mode, ModeRule, Rules
from easyrider.tree_reader import read_document
from easyrider_policy.core.modes import mode_of
from easyrider_policy_api.core import owner
from easyrider_policy_api.core.changes import MOST_BYTES, as_text, difference
from easyrider_policy_api.core.dry_run import compare
from easyrider_policy_api.core.releasing import Unclear, released
from easyrider_policy_api.core.snapshot import Snapshot
from easyrider_policy_api.core.strict_json import BadDocument, parse

Selector = dict[str, tuple[str, ...]]
LABELS = {
    "job": ["job-a"], "node": ["n1"], "rack": ["pdu", "feed"], "class": ["box"], "queue": ["batch"], "tenant": ["t"],
}  # fmt: skip


def rules(*modes: tuple[Selector, Mode]) -> Rules:
    read = read_document(document(modes=[]), "test")
    rows = tuple(ModeRule(selector=selector, mode=mode) for selector, mode in modes)
    return Rules(**{name: getattr(read, name) for name in read.__slots__} | {"modes": rows})


@pytest.mark.parametrize(
    "modes",
    [
        [({}, "enforce")],
        [({"job": ("job-a",)}, "enforce")],
        [({"job": ("job-*",), "queue": ("batch",)}, "pilot")],
        [({"rack": ("pdu",)}, "enforce"), ({"rack": ("pdu",), "class": ("box",)}, "enforce")],
        [({"node": ("n1", "n2")}, "enforce"), ({"node": ("n*",)}, "pilot")],
        [({"tenant": ("t",)}, "enforce"), ({"job": ("job-a", "job-b"), "tenant": ("t",)}, "pilot")],
        [({"rack": ("feed",), "job": ("job-a",)}, "enforce")],
    ],
)
@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"rack": ("pdu",)},
        {"rack": ("feed",)},
        {"node": ("n1",)},
        {"node": ("n1", "n7")},
        {"job": ("job-a",)},
        {"queue": ("batch",)},
        {"class": ("box",), "queue": ("batch",)},
        {"tenant": ("*",)},
    ],
)
def test_whatever_was_active_a_released_scope_is_in_observe(
    modes: list[tuple[Selector, Mode]], scope: Selector
) -> None:
    before = rules(*modes)
    assert mode_of(before.modes, LABELS) != "observe"

    after = released(before, scope, "test", "")

    assert mode_of(after.modes, LABELS) == "observe"


@pytest.mark.parametrize("scope", [{"node": ("n2",)}, {"job": ("job-b",)}, {"rack": ("elsewhere",)}])
def test_what_is_not_of_the_scope_stays_as_it_was(scope: Selector) -> None:
    for selector in ({}, {"rack": ("pdu",)}, {"job": ("job-a",)}, {"node": ("n1",)}):
        for mode in MODES:
            before = rules((selector, mode))

            assert mode_of(released(before, scope, "test", "").modes, LABELS) == mode


def test_patterns_that_may_meet_are_told_and_nothing_is_guessed() -> None:
    with pytest.raises(Unclear, match="exact names"):
        released(rules(({"node": ("*1",)}, "enforce")), {"node": ("n*",)}, "test", "")


def test_an_owner_is_told_by_how_much_why_and_at_what_cost() -> None:
    told = owner.answer(dict(SAVED_JOBS[0]))

    assert (told["capped"], told["capped_by_w"], told["slowdown"]) == (True, 130.0, 0.08)
    assert told["sentence"] == (
        "Capped at 520 W of the 650 W per GPU it would draw (20 % less), and it is expected to run 8.0 % slower. "
        "pdu is at the power it may draw (its target), and this job shares it."
    )


@pytest.mark.parametrize(
    ("job", "word"),
    [
        ({"limit_w": 700.0, "demand_w": 650.0, "slowdown": 0.0, "reason": "natural"}, "Not capped"),
        ({"limit_w": None, "demand_w": None, "slowdown": None, "reason": "unplanned"}, "not known yet"),
        ({"limit_w": 520.0, "demand_w": None, "reason": "start"}, "not known yet"),
        ({"limit_w": 520.0, "demand_w": 650.0, "reason": "hold:smoke"}, "An operator stopped"),
        ({"limit_w": 520.0, "demand_w": 650.0, "reason": "load_target:grid"}, "load target grid"),
        ({"limit_w": 520.0, "demand_w": 650.0, "reason": "hard:pdu"}, "hard limit"),
        ({"limit_w": 200.0, "demand_w": 650.0, "reason": "infeasible:pdu"}, "cannot be kept"),
        ({"limit_w": 520.0, "demand_w": 650.0, "reason": "something_new:x"}, "something_new:x"),
    ],
)
def test_every_reason_is_a_sentence_and_the_unknown_is_never_zero(job: dict[str, Any], word: str) -> None:
    told = owner.answer(job)

    assert word in told["sentence"]
    if job["limit_w"] is None or job["demand_w"] is None:
        assert told["capped"] is None
        assert told["capped_by_w"] is None


def then(**pdu: float) -> Rules:
    changed = copy.deepcopy(DOCUMENT)
    changed["domains"][1] |= pdu
    return read_document(changed, "test")


def test_a_dry_run_shows_the_watts_a_smaller_breaker_takes_and_what_that_costs_each_job() -> None:
    told = compare(then(), then(rating_w=6000.0), Snapshot.read(STATE), "local")

    pdu = next(row for row in told["domains"] if row["domain"] == "pdu")
    assert pdu["hard_limit_w"] == [9000.0, 6000.0]
    assert pdu["target_w"] == [8100.0, 5400.0]
    assert pdu["difference_w"] == pytest.approx(pdu["drawn_w"][1] - pdu["drawn_w"][0], abs=0.1)
    assert pdu["drawn_w"][0] > 5400.0 >= pdu["drawn_w"][1]
    for job in told["jobs"]:
        assert job["slowdown"][0] == 0.0
        assert 0.0 < job["slowdown"][1] < 0.2
        assert job["reason"] == "target:pdu"


def test_a_dry_run_of_one_scope_of_several_leaves_out_what_others_govern() -> None:
    split = copy.deepcopy(DOCUMENT)
    split["regions"] = [
        {"id": "site"},
        {"id": "hall", "parent": "site", "domain": "pdu", "guaranteed_w": 3000.0},
    ]
    split["nodes"].append({"id": "n9", "domain": "feed", "class": "box", "fallback_w_per_gpu": 250})
    rules = read_document(split, "test")

    told = compare(rules, rules, Snapshot.read(STATE), "hall")
    above = compare(rules, rules, Snapshot.read(STATE), "site")

    assert [row["domain"] for row in told["domains"]] == ["pdu"]
    assert told["domains"] == [
        row
        for row in compare(then(), then(), Snapshot.read(STATE), "local")["domains"]
        if row["domain"] == "pdu"
    ]
    assert [row["domain"] for row in above["domains"]] == ["feed", "pdu"]
    assert above["jobs"] == []


def test_a_dry_run_of_the_same_rules_changes_nothing() -> None:
    told = compare(then(), then(), Snapshot.read(STATE), "local")

    assert {row["difference_w"] for row in told["domains"]} == {0.0}
    assert all(job["slowdown"][0] == job["slowdown"][1] for job in told["jobs"])


def test_a_dry_run_from_observe_to_enforce_shows_what_enforcing_costs() -> None:
    small = copy.deepcopy(DOCUMENT)
    small["domains"][1]["rating_w"] = 6000.0
    watched = read_document(small | {"modes": []}, "test")

    told = compare(watched, read_document(small, "test"), Snapshot.read(STATE), "local")

    for job in told["jobs"]:
        assert job["limit_w"][0] is None
        assert job["limit_w"][1] < 650.0


def test_a_dry_run_refuses_what_the_boards_heard_forbid() -> None:
    large = copy.deepcopy(STATE)
    for board in large["boards"]:
        board["min_w"] = 900.0
        board["max_w"] = 1000.0

    with pytest.raises(BadTree, match="fallbacks"):
        compare(then(), then(rating_w=6000.0), Snapshot.read(large), "local")


@pytest.mark.parametrize(
    "state", [{}, {"boards": [], "jobs": []}, {"boards": None, "jobs": 7, "domains": "x"}, []]
)
def test_a_dry_run_without_anything_seen_says_so(state: Any) -> None:
    told = compare(then(), then(rating_w=8000.0), Snapshot.read(state), "local")

    assert told["jobs"] == []
    assert any("no board was heard" in limit for limit in told["limits"])


def test_a_job_whose_draw_is_unknown_is_planned_at_its_boards_maximum() -> None:
    unknown = copy.deepcopy(STATE)
    for job in unknown["jobs"]:
        job["demand_w"] = None

    told = compare(then(), then(), Snapshot.read(unknown), "local")

    known = compare(then(), then(), Snapshot.read(STATE), "local")
    drawn = [
        next(row for row in each["domains"] if row["domain"] == "pdu")["drawn_w"][0] for each in (told, known)
    ]
    assert drawn[0] > drawn[1]


def test_a_difference_too_long_to_keep_says_how_much_it_is() -> None:
    rows = [{"id": f"n{k}", "domain": "pdu"} for k in range(5000)]

    text = as_text(difference({"nodes": []}, {"nodes": rows})[1])

    assert len(text) < MOST_BYTES
    assert '"nodes":5000' in text


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b'{"a": {"b": [1, NaN]}}', "a.b[1]"),
        (b'{"a": 1e999}', "a"),
        (b'{"a": -Infinity}', "a"),
        (b'{"a": 1, "a": 2}', "a"),
        (b'{"x": {"a": 1, "a": 2}}', "x.a"),
        (b'{"a": "\\udfff"}', "a"),
        (b'{"\\ud800": 1}', ""),
        (b'{"a": ' + b"9" * 4000 + b"}", "a"),
        (b"[" * 40 + b"]" * 40, "[0]" * 33),
        (b"\xff", ""),
        (b"{", ""),
    ],
)
def test_json_is_read_without_mercy(raw: bytes, field: str) -> None:
    with pytest.raises(BadDocument) as caught:
        parse(raw)

    assert caught.value.faults[0][0] == field


@pytest.mark.parametrize(
    "raw", [b'{"a": "\\ud83d\\ude00"}', b'{"a": [1.5, -2, true, null, "\xc3\xa4"]}', b"7", b"[]"]
)
def test_json_that_is_some_is_read(raw: bytes) -> None:
    import json

    assert parse(raw) == json.loads(raw)
