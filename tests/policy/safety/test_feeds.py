"""What each domain carries of what hangs on two feeds."""

from small_site import BOX, vector

from easyrider.tree import Domain, Feeds, Node, Rules
from easyrider_policy.core.fleet import Board, Fleet, build

DOMAINS = (
    Domain(id="rack", kind="rack", feeds=Feeds(A="a", B="b"), rating_w=9e3, fixed_w=40.0),
    Domain(id="site", kind="site", rating_w=9e3),
    Domain(id="ups", kind="ups", parent="site", rating_w=9e3),
    Domain(id="a", kind="feed", parent="ups", rating_w=9e3),
    Domain(id="b", kind="feed", parent="site", rating_w=9e3),
)


def site(lost: tuple[str, ...] = ()) -> Fleet:
    nodes = (Node(id="n", domain="rack", node_class="box", fallback_w_per_gpu=250.0),)
    rules = Rules(id="s", version=1, domains=DOMAINS, classes={"box": BOX}, nodes=nodes)
    return build(rules, [Board(uuid=f"g{i}", node="n", min_w=200.0, max_w=700.0) for i in (0, 1)], lost)


def by_name(fleet: Fleet, watts) -> dict[str, float]:
    return dict(zip(fleet.domains, watts.tolist(), strict=True))


def test_domains_stand_parents_first():
    assert site().domains.index("site") == 0
    assert site().domains[-1] == "rack"


def test_each_feed_carries_half_and_in_the_other_ones_loss_all():
    fleet = site()

    assert by_name(fleet, fleet.wall_w(vector(300, 300))) == {
        "site": 700.0,
        "ups": 350.0,
        "a": 350.0,
        "b": 350.0,
        "rack": 700.0,
    }
    assert set(fleet.worst_wall_w(vector(300, 300)).tolist()) == {700.0}


def test_fixed_load_is_shared_like_any_other():
    fleet = site()

    assert by_name(fleet, fleet.fixed_w)["ups"] == 20.0
    assert by_name(fleet, fleet.worst_fixed_w)["ups"] == 40.0


def test_the_loss_of_what_feeds_a_feed_is_a_loss_of_that_feed():
    fleet = site(lost=("ups",))

    carried = by_name(fleet, fleet.wall_w(vector(300, 300)))

    assert carried["b"] == 700.0
    assert carried["a"] == 0.0
