"""Rules that prove unsafe only once the boards are heard, and grants that go on without a journal."""

from easyrider.messages import GpuState, NodeState
from easyrider.tree import CurvePoint, Domain, Node, NodeClass, Rules
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.picture import Picture


def rules(fallback_w: float) -> Rules:
    """A class that says nothing of its boards, below a breaker of 1000 W."""
    curve = (CurvePoint(multiple=1.5, time_s=600.0), CurvePoint(multiple=3.0, time_s=60.0))
    pdu = Domain(id="pdu", kind="pdu", rating_w=1000.0, curve=curve, unmanaged_max_w=0.0)
    box = NodeClass(overhead_w=100.0, overhead_slope=1.0)
    node = Node(id="a", domain="pdu", node_class="box", fallback_w_per_gpu=fallback_w)
    return Rules(id="site", version=1, domains=(pdu,), classes={"box": box}, nodes=(node,))


def heard(picture: Picture) -> None:
    """Node `a` tells of two boards of 200 to 700 W."""
    gpus = tuple(
        GpuState(
            uuid=f"a{i}", min_w=200.0, max_w=700.0, default_w=700.0, baseline_w=None, requested_w=700.0,
            enforced_w=700.0, fallback_w=None, settable=True, controlled=False,
        )
        for i in (0, 1)
    )  # fmt: skip
    picture.know_boards(
        NodeState(
            tree="site", region="r", node="a", boot_id="b", nonce=1, highest_epoch=0, highest_seq=0, armed=False,
            stage=0, leaving=False, gpus=gpus, t_ns=0, mono_ns=0,
        ),
        1.0,
    )  # fmt: skip


def test_fallbacks_that_do_not_fit_once_the_boards_are_known_are_told_with_the_numbers():
    picture = Picture(rules(600.0), "r", 0.0)
    heard(picture)

    picture.follow()

    assert any("fallbacks and fixed loads come to 1300 W" in fault for fault in picture.unfit)


def test_with_such_rules_nothing_is_wanted_above_what_is_held():
    wanted = []
    picture = Picture(rules(600.0), "r", 0.0)
    heard(picture)
    coordinator = Coordinator(picture)
    picture.follow()
    orders = picture.safety.orders
    picture.safety.orders = lambda now_s, want, *rest: (
        wanted.append(want.limit_w) or orders(now_s, want, *rest)
    )
    picture.safety.ledger.requested_w[:] = 250.0

    coordinator.look(100.0)

    assert (wanted[0] <= 250.0).all()


def test_rules_that_fit_are_kept_without_a_word():
    picture = Picture(rules(200.0), "r", 0.0)
    heard(picture)

    picture.follow()

    assert picture.unfit == ()
