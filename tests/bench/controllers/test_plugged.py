"""A plug-in policy as a controller of the bench: the product's coordinator, and this policy where its plan stands."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from easyrider_bench.batches import run_batch
from easyrider_bench.cases import Key
from easyrider_bench.controllers.contract import Site
from easyrider_bench.controllers.plugged import Plugged
from easyrider_bench.controllers.table import ENTRIES, entry
from easyrider_policy.adapters.policy_entry_points import NoSuchPolicy

FLAT = """
import numpy as np
from easyrider_policy.core.policies import decided


class Flat:
    def plan(self, observation, walls, situation, memory, pacing):
        limit_w = np.full(observation.layout.job_count, 333.0)
        return decided(observation, walls, situation, memory, limit_w, "flat")
"""


@pytest.fixture
def flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "flat_policy.py").write_text(FLAT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "flat_policy", raising=False)
    return "policy:flat_policy:Flat"


def test_a_policy_is_a_controller_by_its_name_and_its_text_decides_its_cells(flat: str) -> None:
    found = entry(flat)

    assert found is not None
    assert found.name == flat
    assert "flat_policy" in found.sources
    assert "easyrider_policy" in found.sources
    assert (found.truth, found.exact) == (False, False)


def test_the_table_is_found_by_name_and_nothing_else_is() -> None:
    assert [entry(one.name) for one in ENTRIES] == list(ENTRIES)
    assert entry("nobody") is None
    with pytest.raises(NoSuchPolicy, match="no_such_module"):
        entry("policy:no_such_module:X")


def test_each_run_has_a_policy_of_its_own_and_plans_by_it(flat: str) -> None:
    found = entry(flat)
    assert found is not None
    made: list[Plugged] = []

    def kept(site: Site, seed: int) -> Plugged:
        assert found.make is not None
        run = found.make(site, seed)
        assert isinstance(run, Plugged)
        made.append(run)
        return run

    run_batch(
        replace(found, make=kept),
        [Key(scenario="mixed", oversub_pct=30, seed=seed, seconds=20.0) for seed in (0, 1)],
    )

    assert made[0].coordinator is not made[1].coordinator
    for run in made:
        decision = run.coordinator.decision
        assert decision is not None
        assert set(decision.reasons) == {"flat"}
