"""How far a scope has come: what each gate asks for, what begins anew, and what is taken back."""

import math

import msgspec
import pytest

from easyrider.gates import DAY_S, Gates
from easyrider.tree import MODES, ModeRule
from easyrider_policy.adapters.stages_file import StagesFile
from easyrider_policy.core.gate import weighed
from easyrider_policy.core.stages import NONE, Book, Returned, Scope, Stage, scope_of

GATES = Gates()
WEEK_S = 7 * DAY_S


def seen(mode, **stage):
    return Scope(mode=mode, stages={mode: Stage(**stage)})


def book(mode="shadow"):
    found = Book()
    found.follow({"node=*": mode, NONE: "observe"})
    return found


@pytest.mark.parametrize(("mode", "days"), [("observe", 14), ("shadow", 7), ("pilot", 7)])
def test_by_default_a_scope_is_watched_for_weeks_before_it_rises(mode, days):
    after = MODES[MODES.index(mode) + 1]

    early = weighed(seen(mode, watched_s=(days - 0.1) * DAY_S), mode, after, GATES)
    due = weighed(seen(mode, watched_s=days * DAY_S), mode, after, GATES)

    assert not early.met
    assert early.missing == f"{mode} days {days - 0.1:.2f} of {days}"
    assert due.met


@pytest.mark.parametrize(
    ("shadow", "why"),
    [
        ({"capped_s": 1000.0, "false_s": 51.0}, "false cap ratio 0.051 of 0.05"),
        ({"peaks": 9, "missed": 1}, "missed peaks 1 of 0"),
        ({"watched_s": 1.0}, "shadow days"),
    ],
)
def test_a_shadow_that_was_wrong_holds_its_scope_with_the_numbers(shadow, why):
    verdict = weighed(seen("shadow", **({"watched_s": WEEK_S} | shadow)), "shadow", "pilot", GATES)

    assert not verdict.met
    assert why in verdict.missing


def test_a_lead_that_is_asked_for_counts_peaks_that_nobody_foresaw_as_none():
    gates = Gates(least_lead_s=2.0)

    late = weighed(seen("shadow", watched_s=WEEK_S, peaks=2, leads=1, lead_s=3.0), "shadow", "pilot", gates)
    early = weighed(seen("shadow", watched_s=WEEK_S, peaks=2, leads=2, lead_s=6.0), "shadow", "pilot", gates)

    assert (late.met, early.met) == (False, True)


def test_a_pilot_that_cost_other_than_foretold_holds_its_scope():
    off = seen("pilot", watched_s=WEEK_S, compared_s=100.0, error=6.0)
    near = seen("pilot", watched_s=WEEK_S, compared_s=100.0, error=4.0)

    assert [weighed(one, "pilot", "enforce", GATES).met for one in (off, near)] == [False, True]


def test_what_was_not_to_be_seen_is_unknown_and_not_zero():
    checks = {check.name: check for check in weighed(seen("shadow"), "shadow", "enforce", GATES).checks}

    assert checks["false_cap_ratio"].seen is None
    assert checks["slowdown_error"].seen is None
    assert checks["shadow_days"].seen == 0.0


def test_forecasts_count_only_where_the_gate_asks_for_them():
    scope = seen("shadow", watched_s=WEEK_S, trusted_s=0.5 * WEEK_S)

    assert weighed(scope, "shadow", "pilot", GATES).met
    assert (
        "shadow trusted ratio 0.5 of 0.9" in weighed(scope, "shadow", "pilot", Gates(forecasts=True)).missing
    )


def test_who_skips_a_mode_must_have_passed_its_gate_too():
    verdict = weighed(seen("shadow", watched_s=WEEK_S), "shadow", "enforce", GATES)

    assert verdict.missing == "pilot days 0.00 of 7"


def test_a_scope_nobody_has_seen_meets_no_gate():
    assert not weighed(None, "observe", "shadow", GATES).met


def test_a_mode_is_begun_anew_and_what_was_left_downwards_counts_no_more():
    kept = book()
    kept.scopes["node=*"].now().watched_s = 10.0
    kept.follow({"node=*": "pilot"})
    kept.scopes["node=*"].now().watched_s = 20.0

    kept.follow({"node=*": "shadow"})

    assert kept.scopes["node=*"].now().watched_s == 0.0
    assert set(kept.scopes["node=*"].stages) == {"shadow"}


def test_on_the_way_up_what_was_seen_below_stays():
    kept = book("observe")
    kept.scopes["node=*"].now().watched_s = 10.0

    kept.follow({"node=*": "shadow"})

    assert kept.scopes["node=*"].stages["observe"].watched_s == 10.0


def test_a_scope_that_is_gone_from_the_rules_leaves_nothing_behind():
    kept = book()
    kept.take_back(Returned(scope="node=*", mode="shadow", cause="slowdown", detail="", version=1))

    kept.follow({"node=a": "enforce"})

    assert (set(kept.scopes), kept.returned) == ({"node=a"}, {})


def test_what_was_taken_back_is_lowered_and_never_raised():
    kept = book("enforce")
    kept.take_back(Returned(scope="node=*", mode="shadow", cause="slowdown", detail="", version=1))
    rules = [
        ModeRule(selector={"node": ("*",)}, mode="enforce"),
        ModeRule(selector={"node": ("b",)}, mode="observe"),
    ]

    assert [rule.mode for rule in kept.effective(rules)] == ["shadow", "observe"]
    assert kept.lowered("node=*", "observe") == "observe"


def test_a_selector_has_one_spelling():
    assert scope_of({"queue": ("b", "a", "a"), "node": ("n*",)}) == "node=n* queue=a,b"
    assert scope_of({}) == "(all)"


@pytest.mark.parametrize(
    "stages", [{"bogus": {}}, {"shadow": {"watched_s": None}}, {"shadow": {"peaks": "x"}}]
)
def test_a_damaged_book_is_refused_as_it_is_read_and_ends_nothing_later(stages, tmp_path):
    document = {"scopes": {"node=*": {"mode": "observe", "stages": stages}}}
    (tmp_path / "stages.json").write_bytes(msgspec.json.encode(document))

    read = StagesFile(tmp_path).read()
    read.follow({"node=*": "shadow"})

    assert read.scopes["node=*"].stages == {}


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_a_figure_that_is_not_known_is_skipped_and_the_book_outlives_it(unknown):
    kept = book()
    stage = kept.scopes["node=*"].now()
    stage.add(watched_s=10.0, foretold=unknown)
    stage.add(foretold=2.0, lead_s=unknown)

    again = msgspec.json.decode(msgspec.json.encode(kept), type=Book)

    assert again == kept
    assert (stage.watched_s, stage.foretold, stage.lead_s) == (10.0, 2.0, 0.0)
