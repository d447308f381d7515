"""Nonces and the fence, as pure functions."""

from hypothesis import given
from hypothesis import strategies as st

from easyrider.messages import ExitGrant, Hold, SetLimits
from easyrider_guardian.core import fence, transitions
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Standing, Terms

TERMS = Terms(tree="site", region="local", node="n1")
MINTER = Minter("boot", "site", "n1")
SECOND = 10**9
now = st.integers(100 * SECOND, 10**17)


def command(
    kind: type = Hold, *, epoch: int = 1, seq: int = 1, nonce: int, ttl_s: float = 5.0
) -> fence.Command:
    own = {"tree": "site", "region": "local", "node": "n1", "epoch": epoch, "seq": seq}
    own |= {"nonce": nonce, "ttl_s": ttl_s} | ({"limits": ()} if kind is SetLimits else {})
    return kind(**own)


def fresh() -> Standing:
    return Standing(boot_id="boot", tree="site", node="n1")


@given(now_ns=now)
def test_a_nonce_tells_its_mint_and_is_never_younger_than_it(now_ns):
    mint_ns = MINTER.mint_ns(MINTER.mint(now_ns))

    assert mint_ns is not None
    assert 0 <= now_ns - mint_ns < 1000


@given(now_ns=now)
def test_a_nonce_fits_the_wire(now_ns):
    assert 0 <= MINTER.mint(now_ns) <= 2**63 - 1


def test_a_nonce_of_another_boot_node_or_tree_is_told_apart():
    others = [Minter("other", "site", "n1"), Minter("boot", "other", "n1"), Minter("boot", "site", "n2")]
    moments = [k * 987_654_321 for k in range(1, 400)]

    for other in others:
        taken = sum(other.mint_ns(MINTER.mint(now_ns)) is not None for now_ns in moments)
        assert taken <= 1, "a tag of 15 bits matches by chance once in 32,768"


@given(now_ns=now, age_s=st.floats(0, 60), ttl_s=st.floats(0.1, 10))
def test_a_command_is_in_time_exactly_while_its_lease_runs(now_ns, age_s, ttl_s):
    nonce = MINTER.mint(now_ns - round(age_s * SECOND))

    verdict = fence.judge(command(nonce=nonce, ttl_s=ttl_s), fresh(), TERMS, MINTER, now_ns)

    mint_ns = MINTER.mint_ns(nonce)
    in_time = now_ns - mint_ns <= round(ttl_s * SECOND)
    assert verdict == (
        fence.Lease(mint_ns, mint_ns + round(ttl_s * SECOND)) if in_time else fence.Refusal("stale_nonce")
    )


def test_a_nonce_from_the_future_is_none_of_ours():
    nonce = MINTER.mint(200 * SECOND)

    assert fence.judge(command(nonce=nonce), fresh(), TERMS, MINTER, 100 * SECOND) == fence.Refusal(
        "wrong_boot"
    )


@given(
    order=st.permutations([(epoch, seq) for epoch in (1, 2, 3) for seq in (1, 2, 3)]),
    doubled=st.lists(st.integers(0, 8), max_size=6),
    lost=st.sets(st.integers(0, 8), max_size=8),
    kinds=st.lists(st.sampled_from([SetLimits, Hold, ExitGrant]), min_size=9, max_size=9),
)
def test_any_delivery_ends_in_the_newest_delivered_and_accepts_none_twice(order, doubled, lost, kinds):
    now_ns, nonce = 100 * SECOND, MINTER.mint(99 * SECOND)
    delivered = [pair for k, pair in enumerate(order) if k not in lost] + [order[k] for k in doubled]
    standing, accepted = fresh(), []

    for epoch, seq in delivered:
        kind = kinds[(epoch - 1) * 3 + seq - 1]
        said = command(kind, epoch=epoch, seq=seq, nonce=nonce)
        verdict = fence.judge(said, standing, TERMS, MINTER, now_ns)
        if isinstance(verdict, fence.Lease):
            accepted.append((epoch, seq))
            standing = transitions.granted(standing, said, verdict)

    assert accepted == sorted(set(accepted))
    assert (standing.epoch, standing.seq) == max(delivered, default=(0, 0))


@given(ages_s=st.lists(st.floats(0, 5), min_size=1, max_size=8))
def test_the_dead_man_counts_from_the_youngest_mint_granted_and_never_from_receipt(ages_s):
    now_ns, standing = 100 * SECOND, fresh()
    mints = []

    for seq, age_s in enumerate(ages_s, 1):
        nonce = MINTER.mint(now_ns - round(age_s * SECOND))
        said = command(seq=seq, nonce=nonce, ttl_s=6)
        verdict = fence.judge(said, standing, TERMS, MINTER, now_ns)
        assert isinstance(verdict, fence.Lease)
        standing = transitions.granted(standing, said, verdict)
        mints.append(MINTER.mint_ns(nonce))

    assert standing.grant_ns == max(mints)
    assert standing.grant_ns <= now_ns
