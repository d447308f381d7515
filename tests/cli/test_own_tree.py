"""A simulated site of one's own rules: what they declare is what the hardware is, and what it cannot be is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from easyrider.tree import Domain, Feeds, ModeRule, Node, NodeClass, Region, Rules
from easyrider.tree_reader import dump
from easyrider_cli import own_tree
from easyrider_cli.own_tree import NoTwin, world_of

FILE = Path("tree.yaml")
BOX = NodeClass(overhead_w=300.0, overhead_slope=1.1, gpu_min_w=100.0, gpu_max_w=350.0, gpu_count=4)
RULES = Rules(
    id="mine",
    version=3,
    domains=(
        Domain(id="feed", kind="feed", rating_w=9000.0, fixed_w=120.0),
        Domain(id="rack", kind="rack", parent="feed", rating_w=6000.0, hard_limit_w=5500.0, meters=("m-1",)),
    ),
    classes={"box": BOX},
    nodes=tuple(
        Node(id=n, domain="rack", node_class="box", fallback_w_per_gpu=150.0, boot_guard=True) for n in "ab"
    ),
    modes=(ModeRule(selector={"node": ("a",)}, mode="shadow"),),
)


def test_the_hardware_is_what_the_rules_declare() -> None:
    world = world_of(RULES, FILE, 1)

    feed, rack = world.domains
    assert (feed.hard_limit_w, feed.target_w, feed.fixed_w) == (9000.0, 7200.0, 120.0)
    assert (rack.parent, rack.hard_limit_w, rack.target_w) == ("feed", 5500.0, 4800.0)
    assert [(node.id, node.gpus, node.overhead_w) for node in world.nodes] == [
        ("a", 4, 300.0),
        ("b", 4, 300.0),
    ]
    assert (world.models["box"].min_limit_w, world.models["box"].max_limit_w) == (100.0, 350.0)
    assert [(meter.id, meter.domain) for meter in world.meters] == [("m-1", "rack")]
    assert [len(job.gpus[node]) for job, node in zip(world.jobs, "ab", strict=True)] == [4, 4]


def test_what_the_twin_has_not_is_refused_in_one_line_with_all_of_it() -> None:
    fed = Domain(id="dual", kind="pdu", feeds=Feeds(A="feed", B="rack"), rating_w=100.0)
    wrong = replace(
        RULES,
        domains=(*RULES.domains, fed),
        classes={"box": replace(BOX, gpu_count=None)},
        regions=(Region(id="site"),),
        nodes=tuple(replace(RULES.nodes[0], id=f"n{k}") for k in range(9)),
    )

    with pytest.raises(NoTwin) as fault:
        world_of(wrong, FILE, 1)

    told = str(fault.value)
    assert "\n" not in told
    for words in ("dual has two feeds", "regions", "gpu_count", "9 nodes"):
        assert words in told


def test_rules_that_cannot_be_kept_are_refused_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_bytes(
        dump(replace(RULES, domains=(replace(RULES.domains[0], rating_w=900.0), RULES.domains[1])))
    )

    with pytest.raises(NoTwin, match="feed"):
        own_tree.ruled(file, "site")
    with pytest.raises(NoTwin, match="No such file"):
        own_tree.ruled(tmp_path / "none.yaml", "site")


def test_rules_are_taken_as_they_are_under_the_stacks_own_id(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_bytes(dump(RULES))

    found = own_tree.ruled(file, "site")

    assert (found.id, found.version, found.modes) == ("site", 3, RULES.modes)
