"""A mode that jobs of a queue would find raised rises by its gate, whether or not one of them runs tonight."""

from dataclasses import replace

import pytest
from small_site import fleet, rules

from easyrider.gates import DAY_S
from easyrider.tree import ModeRule
from easyrider_policy.core.modes import Labels
from easyrider_policy.core.promotions import Move, faults, moves
from easyrider_policy.core.stages import Book, Stage

ALL = {"node": ("*",)}


def rule(mode: str, override: str = "", **selector: str) -> ModeRule:
    return ModeRule(
        selector={key.rstrip("_"): (v,) for key, v in selector.items()}, mode=mode, override=override
    )


def judged(before: list[ModeRule], after: list[ModeRule], jobs: list[Labels], **days: float) -> list[Move]:
    """Moves from these rules to those, where the scope of the first was watched for so many days a mode."""
    ours, theirs = replace(rules(), modes=tuple(before)), replace(rules(), version=2, modes=tuple(after))
    book = Book()
    book.follow(book.modes(ours.modes))
    for scope in book.scopes.values():
        for mode, seen in days.items():
            scope.stages[mode] = Stage(watched_s=seen * DAY_S)  # type: ignore[index]
    return moves(ours, theirs, book, fleet(), jobs)


@pytest.mark.parametrize("key", ["queue", "tenant", "job"])
def test_a_rise_of_jobs_none_of_which_runs_waits_for_its_gate(key: str) -> None:
    before, after = [rule("shadow", **{key: "night"})], [rule("enforce", **{key: "night"})]

    found = judged(before, after, [])

    (fault,) = faults(found)
    assert f"{key}=night may not rise from shadow to enforce" in fault
    assert [move.gpus for move in found] == [0]


def test_it_rises_by_what_was_seen_while_such_jobs_ran() -> None:
    before, after = [rule("shadow", queue="night")], [rule("pilot", queue="night")]

    assert faults(judged(before, after, [], shadow=8.0)) == []


def test_a_word_of_the_operator_passes_it_over() -> None:
    before = [rule("shadow", queue="night")]
    after = [rule("enforce", "a queue of our own", queue="night")]

    (move,) = judged(before, after, [])

    assert (move.gate, move.override, faults([move])) == ("overridden", "a queue of our own", [])


def test_a_queue_that_is_named_for_the_first_time_was_in_observe_where_no_rule_had_its_nodes() -> None:
    night = rule("enforce", queue="night")

    (move,) = judged([], [night], [])
    beside_a_class = judged([rule("pilot", class_="box")], [rule("pilot", class_="box"), night], [])

    assert (move.scope, move.into, move.before) == ("(no rule)", "queue=night", "observe")
    assert beside_a_class == []  # the class says more than the queue


def test_jobs_that_are_named_no_more_fall_to_the_wider_rule() -> None:
    wide = rule("enforce", node="*")
    before = [wide, rule("observe", job="night")]

    (move,) = judged(before, [wide], [])

    assert (move.scope, move.into, move.before, move.after) == ("job=night", "node=*", "observe", "enforce")


def test_jobs_of_a_queue_and_of_a_tenant_fall_from_the_one_to_the_other() -> None:
    queue, tenant = rule("shadow", queue="night"), rule("enforce", tenant="lab")

    (move,) = judged([queue, tenant], [tenant], [])

    assert (move.scope, move.into) == ("queue=night", "tenant=lab")  # a job of both was of its queue first


@pytest.mark.parametrize(
    "after",
    [
        [rule("enforce", node="a"), rule("shadow", queue="night")],
        [rule("enforce", node="a"), rule("observe", queue="night")],
        [rule("enforce", node="a")],
    ],
    ids=["nothing", "lower", "gone, to none"],
)
def test_what_raises_no_job_is_no_rise(after: list[ModeRule]) -> None:
    before = [rule("enforce", node="a"), rule("shadow", queue="night")]

    assert not [move for move in judged(before, after, []) if move.verdict is not None]


def test_a_job_that_runs_is_told_once_with_its_boards() -> None:
    before, after = [rule("shadow", queue="night")], [rule("pilot", queue="night")]

    (move,) = judged(before, after, [Labels(job="j", queue="night", gpus=(1, 2))])

    assert move.gpus == 2
