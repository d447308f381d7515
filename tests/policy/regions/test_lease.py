"""A region's side of a lease: which budgets it obeys, for how long, and what a restart can prove."""

from dataclasses import replace
from pathlib import Path

import pytest

from easyrider.messages import Budget
from easyrider_policy.adapters.tenure_file import TenureFile
from easyrider_policy.core.lease import Lease, Tenure

SECOND_NS = 10**9
NOW_NS = 5_000 * SECOND_NS


def lease(kept: Tenure | None = None, boot_id: str = "boot") -> Lease:
    return Lease(boot_id, guaranteed_w=1000.0, reaction_s=2.0, longest_s=10.0, kept=kept)


def budget(
    nonce: int, granted_w: float = 3000.0, epoch: int = 1, seq: int = 1, lease_s: float = 10.0
) -> Budget:
    return Budget(
        parent="site", region="hall", epoch=epoch, seq=seq, nonce=nonce, lease_s=lease_s, granted_w=granted_w,
        guaranteed_w=1000.0, t_ns=0,
    )  # fmt: skip


def take(mine: Lease, word: Budget, at_ns: int = NOW_NS) -> None:
    assert mine.refusal(word, at_ns) is None
    mine.take(mine.as_taken(word, at_ns))


def led(granted_w: float = 3000.0) -> Lease:
    """One that has met its parent's leader, and holds a grant minted now."""
    mine = lease()
    take(mine, budget(mine.mint(NOW_NS), granted_w))
    take(mine, budget(mine.mint(NOW_NS), granted_w, seq=2))
    return mine


def test_without_a_word_of_the_parent_the_guaranteed_share_holds():
    now = lease().envelope(NOW_NS)

    assert (now.hard_w, now.target_w, now.left_s, now.granted_w) == (1000.0, 1000.0, 0.0, None)


def test_a_grant_holds_until_the_reaction_time_before_its_lease_ends():
    mine = led()

    assert mine.envelope(NOW_NS + 7 * SECOND_NS).hard_w == 3000.0
    assert mine.envelope(NOW_NS + 8 * SECOND_NS + 10).hard_w == 1000.0
    assert mine.envelope(NOW_NS + 60 * SECOND_NS).left_s == 0.0


def test_a_lease_counts_from_the_mint_however_late_the_budget_comes():
    mine = led()
    nonce = mine.mint(NOW_NS)

    take(mine, budget(nonce, seq=3), NOW_NS + 6 * SECOND_NS)

    assert mine.envelope(NOW_NS + 6 * SECOND_NS).left_s == pytest.approx(4.0)


def test_a_budget_whose_lease_is_over_on_arrival_is_refused():
    mine = led()
    nonce = mine.mint(NOW_NS)

    assert mine.refusal(budget(nonce, seq=3), NOW_NS + 10 * SECOND_NS + 10) == "late"


@pytest.mark.parametrize(("epoch", "seq"), [(1, 2), (1, 1), (0, 99)])
def test_an_older_or_repeated_budget_is_refused(epoch, seq):
    mine = led()
    nonce = mine.mint(NOW_NS)

    assert mine.refusal(budget(nonce, epoch=epoch, seq=seq), NOW_NS) == "fenced"


def test_a_nonce_of_another_host_is_refused():
    mine, other = led(), lease()

    assert mine.refusal(budget(other.mint(NOW_NS + 999), seq=3), NOW_NS) == "nonce_unknown"


def test_the_first_budget_of_a_new_leader_raises_nothing_and_lowers_at_once():
    mine = led(2000.0)
    take(mine, budget(mine.mint(NOW_NS), 3000.0, epoch=2))
    assert mine.envelope(NOW_NS).hard_w == 2000.0

    take(mine, budget(mine.mint(NOW_NS), 1500.0, epoch=3))
    assert mine.envelope(NOW_NS).hard_w == 1500.0


def test_a_longer_lease_than_our_own_rules_name_is_cut_to_theirs():
    mine = led()
    take(mine, budget(mine.mint(NOW_NS), seq=3, lease_s=1e6))

    assert mine.envelope(NOW_NS).left_s == 10.0


def test_two_demands_of_one_moment_have_two_nonces():
    mine = lease()

    assert len({mine.mint(NOW_NS) for _ in range(5)}) == 5


def test_the_same_boot_proves_its_lease_and_another_does_not_but_both_keep_the_fence(tmp_path: Path):
    file = TenureFile(tmp_path)
    held = led().tenure
    assert held is not None
    file.keep(held)

    again, booted = lease(file.read()), lease(file.read(), boot_id="another")

    assert again.envelope(NOW_NS + SECOND_NS).granted_w == 3000.0
    assert booted.envelope(NOW_NS + SECOND_NS).granted_w is None
    assert again.fence == booted.fence == (1, 2)


@pytest.mark.parametrize("body", [b"", b"{", b'{"epoch": 1}', b"\xff\x00"])
def test_a_record_that_cannot_be_read_proves_nothing(tmp_path: Path, body: bytes):
    (tmp_path / "tenure.json").write_bytes(body)

    assert TenureFile(tmp_path).read() is None


def test_a_budget_the_disk_did_not_take_lowers_and_raises_nothing_nor_begins_a_lease():
    mine = led(2000.0)
    later_ns = NOW_NS + 4 * SECOND_NS
    word = mine.as_taken(budget(mine.mint(later_ns), 3000.0, seq=3), later_ns)
    mine.take_unkept(word)
    assert (mine.envelope(later_ns).hard_w, mine.envelope(later_ns).left_s) == (2000.0, pytest.approx(6.0))

    mine.take_unkept(replace(word, seq=4, granted_w=1200.0, target_w=1200.0))
    assert mine.envelope(later_ns).hard_w == 1200.0


def test_a_budget_the_disk_did_not_take_is_not_named_and_a_restart_obeys_what_was_told():
    mine = led(3000.0)
    on_disk = mine.tenure
    mine.take_unkept(mine.as_taken(budget(mine.mint(NOW_NS), 1200.0, seq=3), NOW_NS))

    assert mine.envelope(NOW_NS).hard_w == 1200.0
    assert (mine.named, mine.provable_w(NOW_NS)) == ((1, 2), 3000.0)
    again = lease(on_disk)
    assert (again.named, again.envelope(NOW_NS).hard_w) == ((1, 2), 3000.0)


def test_a_new_parent_whose_first_budget_the_disk_did_not_take_raises_nothing_with_the_second_either():
    mine = led(2000.0)
    mine.take_unkept(mine.as_taken(budget(mine.mint(NOW_NS), 2000.0, epoch=2), NOW_NS))

    take(mine, budget(mine.mint(NOW_NS), 3000.0, epoch=2, seq=2))

    assert mine.envelope(NOW_NS).hard_w == 2000.0


def ruled(epoch: int, kept: Tenure | None = None) -> Lease:
    """Of a process that leads its region with this epoch."""
    mine = lease(kept)
    mine.led_by(epoch)
    return mine


def test_a_leader_that_comes_back_after_another_has_no_lease_and_keeps_the_fence():
    mine = ruled(1)
    take(mine, budget(mine.mint(NOW_NS)))
    take(mine, budget(mine.mint(NOW_NS), seq=2))
    assert mine.envelope(NOW_NS).granted_w == 3000.0

    mine.led_by(3)

    assert (mine.envelope(NOW_NS).granted_w, mine.provable_w(NOW_NS)) == (None, None)
    assert mine.fence == mine.named == (1, 2)


def test_a_disk_from_before_another_leader_proves_no_lease_and_one_from_right_before_does():
    mine = ruled(1)
    take(mine, budget(mine.mint(NOW_NS)))
    take(mine, budget(mine.mint(NOW_NS), seq=2))

    assert ruled(2, mine.tenure).envelope(NOW_NS).granted_w == 3000.0
    assert ruled(3, mine.tenure).envelope(NOW_NS).granted_w is None
