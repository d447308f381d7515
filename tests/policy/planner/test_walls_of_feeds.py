"""What meters taught of a feed, and what becomes of it when the other feed is gone."""

import numpy as np
import pytest

from easyrider.tree_reader import read_document
from easyrider_policy.core.fleet import Fleet, build
from easyrider_policy.core.walls import Walls

OVERHEAD_W = 1600.0


def two_feeds(*lost: str) -> Fleet:
    """One node behind two feeds, of which some are lost."""
    feeds = [{"id": name, "kind": "feed", "rating_w": 9000.0, "unmanaged_max_w": 0.0} for name in ("a", "b")]
    rack = {"id": "rack", "kind": "rack", "feeds": {"A": "a", "B": "b"}, "rating_w": 9000.0}
    document = {
        "tree": {"id": "t", "version": 1},
        "domains": [*feeds, rack],
        "classes": {
            "c": {"overhead_w": OVERHEAD_W, "overhead_slope": 1.2, "gpu_max_w": 700.0, "gpu_count": 8}
        },
        "nodes": [{"id": "n", "domain": "rack", "class": "c", "fallback_w_per_gpu": 200.0}],
    }
    return build(read_document(document, "test"), [], frozenset(lost))


def taught() -> Walls:
    """Meters that agree with what is declared, for half a minute."""
    walls = Walls(two_feeds())
    for _ in range(30):
        walls.add(np.zeros((10, 0)))
        walls.meters(walls.declared_w.copy(), 1.0)
    return walls


def test_a_feed_left_alone_is_taken_to_carry_all_machines_at_once() -> None:
    walls = taught().carried(two_feeds("a"))

    assert walls.standing_w(np.zeros(3))[walls.fleet.domain_index["b"]] >= walls.declared_w.max() - 1.0


def test_what_meters_taught_of_the_rack_below_stays() -> None:
    walls = taught()
    rack = walls.fleet.domain_index["rack"]

    carried = walls.carried(two_feeds("a"))

    assert carried.lessons[rack] == walls.lessons[rack] > 0
    assert carried.offset_w[rack] == pytest.approx(walls.offset_w[rack])
