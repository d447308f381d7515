"""Whatever a foreign policy remembers, column by column: it is weighed before a fleet change would read it."""

from dataclasses import fields, replace

import numpy as np
import pytest
from small_world import World, site
from test_foreign_policies import Does, Odd, world

from easyrider_policy.core.layout import layout
from easyrider_policy.core.records import Memory

COLUMNS = [field.name for field in fields(Memory)]
OPTIONAL = {"target_w", "solution", "loads", "loads_layout", "loads_steered"}


def remembering(column, value):
    return Does(lambda decision: replace(decision, memory=replace(decision.memory, **{column: value})))


def moved(known: World) -> World:
    """The same world one fleet further: the rules changed, or a board came."""
    before, known.fleet = known.fleet, site()
    known.memory = known.memory.carried(before, known.fleet)
    known.walls = known.walls.carried(known.fleet)
    known.placed = layout(known.fleet, [each.job for each in known.loads])
    known.observation = known.observation.carried(known.placed)
    return known


@pytest.mark.parametrize("value", [Odd(), "x", np.array(["x"])], ids=["odd", "text", "array of text"])
@pytest.mark.parametrize("column", COLUMNS)
def test_no_column_of_its_memory_is_taken_unweighed(column, value, monkeypatch):
    told = []
    tried = world(remembering(column, value), monkeypatch, "x", told=told)

    tried.run(2)
    decision = moved(tried).run(2)

    assert "foreign" not in decision.reasons
    assert np.isfinite(decision.wanted_w).all()
    assert len(told) == 1
    assert column in told[0]


@pytest.mark.parametrize("column", [name for name in COLUMNS if name not in OPTIONAL])
def test_a_memory_that_lacks_a_column_is_refused(column, monkeypatch):
    told = []
    tried = world(remembering(column, None), monkeypatch, "x", told=told)

    tried.run(2)
    decision = moved(tried).run(2)

    assert "foreign" not in decision.reasons
    assert column in told[0]


@pytest.mark.parametrize("column", ["eased_w", "spare_w"])
@pytest.mark.parametrize(("watts", "taken"), [(np.inf, True), (5.0, True), (np.nan, False), (-np.inf, False)])
def test_targets_and_ramps_that_do_not_bind_are_infinite_and_never_unknown(column, watts, taken, monkeypatch):
    tried = world(remembering(column, np.full(3, watts)), monkeypatch, "x")

    tried.run(2)

    assert ("foreign" in moved(tried).run(2).reasons) is taken


def test_a_memory_that_cannot_be_carried_to_another_fleet_is_a_fault_of_the_policy(monkeypatch):
    def torn(*_fleets):
        raise IndexError("torn")

    told = []
    tried = world(Does(), monkeypatch, "x", told=told)
    tried.run(2)
    moved(tried)
    with monkeypatch.context() as patched:
        patched.setattr(Memory, "carried", torn)
        decision = tried.run(1)

    assert "foreign" not in decision.reasons
    assert "IndexError: torn" in told[0]
