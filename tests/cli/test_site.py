"""The rules document of the simulated site is one that a coordinator keeps."""

import pytest
import yaml

from easyrider.tree_reader import read
from easyrider_cli.site import fallback_per_gpu_w, rules_of
from easyrider_policy.core.checks import faults
from easyrider_twin.rack import demo_world

WORLD = demo_world(1, 120.0)


def test_the_rules_of_the_demonstration_are_accepted() -> None:
    rules = read(yaml.safe_dump(rules_of(WORLD, tree="site", mode="enforce")), "rules")

    assert faults(rules) == []


def test_a_ups_of_five_modules_plans_for_the_loss_of_one() -> None:
    ups = next(d for d in rules_of(WORLD, tree="site", mode="enforce")["domains"] if d["id"] == "ups")

    assert ups["supply_modules"] == 5
    assert [case["name"] for case in ups["contingencies"]] == ["one_module_lost"]
    assert ups["contingencies"][0]["hard_limit_w"] == pytest.approx(0.8 * ups["hard_limit_w"])


def test_limits_meters_and_parents_are_those_of_the_hardware() -> None:
    document = rules_of(WORLD, tree="site", mode="enforce")

    for domain, real in zip(document["domains"], WORLD.domains, strict=True):
        assert (domain["id"], domain.get("parent")) == (real.id, real.parent)
        assert (domain["hard_limit_w"], domain["target_w"]) == (real.hard_limit_w, real.target_w)
        assert domain["meters"] == [meter.id for meter in WORLD.meters if meter.domain == real.id]


def test_the_fallback_is_the_device_minimum() -> None:
    document = rules_of(WORLD, tree="site", mode="enforce")

    assert fallback_per_gpu_w(WORLD) == 200.0
    assert {node["fallback_w_per_gpu"] for node in document["nodes"]} == {200.0}


def test_the_mode_holds_for_every_node() -> None:
    document = rules_of(WORLD, tree="site", mode="shadow")

    assert [entry["mode"] for entry in document["modes"]] == ["shadow"]
    assert document["modes"][0]["selector"] == {"node": ["*"]}
