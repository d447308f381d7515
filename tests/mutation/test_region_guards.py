"""Each rule of lending between scopes is needed: with it taken out of the source, its tests turn red."""

from pathlib import Path

import pytest
from guards import Guard, run
from mutants import copy_packages, edit

pytestmark = [pytest.mark.mutation, pytest.mark.slow, pytest.mark.timeout(180)]

LEASE, LENDING = "easyrider_policy/core/lease.py", "easyrider_policy/core/lending.py"
ACCOUNT, LENT = "easyrider_policy/core/account.py", "easyrider_policy/core/lent.py"
REGION, PARENT = "policy/regions/test_lease.py", "policy/regions/test_lending.py"
DARK, FREED = "easyrider_policy/core/dark_regions.py", "policy/regions/test_dark_regions.py"
GUARDS = (
    Guard(
        "the fence of a parent's epoch",
        "easyrider_policy",
        ((LEASE, "if (budget.epoch, budget.seq) <= self.fence:", "if False:"),),
        (f"{REGION}::test_an_older_or_repeated_budget_is_refused",),
    ),
    Guard(
        "a nonce of our own",
        "easyrider_policy",
        ((LEASE, "if budget.nonce not in self._minted:", "if False:"),),
        (f"{REGION}::test_a_nonce_of_another_host_is_refused",),
    ),
    Guard(
        "a lease from the mint",
        "easyrider_policy",
        ((LEASE, "minted_ns=budget.nonce,", "minted_ns=boot_ns,"),),
        (f"{REGION}::test_a_lease_counts_from_the_mint_however_late_the_budget_comes",),
    ),
    Guard(
        "no raise by a leader's first word",
        "easyrider_policy",
        ((LEASE, "if budget.epoch > self.named[0]:", "if False:"),),
        (f"{REGION}::test_the_first_budget_of_a_new_leader_raises_nothing_and_lowers_at_once",),
    ),
    Guard(
        "the boot that proves a lease",
        "easyrider_policy",
        ((LEASE, "now is not None and now.boot_id == self._boot_id and boot_ns", "now is not None and boot_ns"),),
        (f"{REGION}::test_the_same_boot_proves_its_lease_and_another_does_not_but_both_keep_the_fence",),
    ),
    Guard(
        "lowering before the end",
        "easyrider_policy",
        ((LEASE, "left_s <= self.reaction_s:", "left_s <= 0:"),),
        (f"{REGION}::test_a_grant_holds_until_the_reaction_time_before_its_lease_ends",),
    ),
    Guard(
        "the wait after a lease",
        "easyrider_policy",
        ((LENT, "return borrower.levels * self.lease_s + below_s", "return 0.0"),),
        (f"{PARENT}::test_a_silent_region_counts_all_it_was_granted_until_the_full_wait_then_its_share",),
    ),
    Guard(
        "naming before lending on",
        "easyrider_policy",
        ((LENDING, "        account.grants = [*kept, grant]", "        account.grants = [grant]"),
         (ACCOUNT, "for w in (demand.granted_w, demand.counted_w) if", "for w in () if")),
        (f"{PARENT}::test_what_one_gives_back_is_lent_on_when_it_says_so_and_not_before",),
    ),
    Guard(
        "the worst after a take-over",
        "easyrider_policy",
        ((LENT, "max(known_w, account.borrower.worst_w) if unknown", "known_w if unknown"),),
        (f"{PARENT}::test_after_a_take_over_a_region_counts_its_whole_domain_until_it_names_a_budget_of_ours",),
    ),
    Guard(
        "the order of demands",
        "easyrider_policy",
        ((LENT, "(demand.epoch, demand.seq) <= (before.epoch, before.seq)", "False"),),
        (f"{PARENT}::test_a_late_or_repeated_demand_changes_nothing",),
    ),
    Guard(
        "no more than is still there",
        "easyrider_policy",
        ((LENDING, "account.held_w, counted_w, account.holds_w(now_s)", "account.held_w, account.held_w"),),
        (f"{PARENT}::test_a_region_that_comes_back_gets_no_more_than_is_still_there",),
    ),
    Guard(
        "no word on a region that may still hold what it was lent",
        "easyrider_policy",
        ((DARK, "if np.isfinite(age_s) and age_s <= wait_s:", "if np.isfinite(age_s) and age_s <= TRUST_S:"),),
        (f"{FREED}::test_a_region_that_spoke_within_the_time_of_a_lease_and_its_wait_is_not_answered_for",),
    ),
    Guard(
        "records of the leader right before alone",
        "easyrider_policy",
        ((DARK, "record.leader_epoch == epoch - 1 and not", "not"),),
        (f"{FREED}::test_a_record_that_the_leader_before_did_not_write_anew_is_believed_no_more",),
    ),
    Guard(
        "a record gone before a raise",
        "easyrider_policy",
        ((DARK, "self.kept and (not self.read or region in self.held)", "False"),),
        (f"{FREED}::test_a_region_heard_again_counts_and_rises_only_when_its_record_is_gone",),
    ),
)  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_without_a_rule_of_lending_its_tests_turn_red(guard: Guard, tmp_path: Path):
    copy_packages(tmp_path, guard.package)
    for file, before, after in guard.edits:
        edit(tmp_path, file, before, after)

    ended = run(tmp_path, guard.tests)

    assert ended.returncode == 1, f"{ended.returncode}: {ended.stdout[-2000:]}"
    assert "failed" in ended.stdout
