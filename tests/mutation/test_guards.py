"""Each guard is needed: with it taken out of the source, the tests that hold it turn red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from guards import Guard, run
from mutants import copy_packages, edit, python_path

pytestmark = [pytest.mark.mutation, pytest.mark.slow, pytest.mark.timeout(180)]

FENCE = "easyrider_guardian/core/fence.py"


GUARDS = (
    Guard(
        "fencing",
        "easyrider_guardian",
        (
            (FENCE, "if command.epoch < standing.epoch:", "if False:"),
            (FENCE, "if (command.epoch, command.seq) <= (standing.epoch, standing.seq):", "if False:"),
        ),
        (
            "guardian/test_core_fence.py",
            "guardian/test_fencing.py::test_an_older_or_equal_command_is_refused_also_after_a_kill",
        ),
    ),
    Guard(
        "nonce age",
        "easyrider_guardian",
        ((FENCE, "    return now_ns > lease.until_ns\n", "    return False\n"),),
        (
            "guardian/test_core_fence.py",
            "guardian/test_fencing.py::test_a_late_command_is_refused_and_nothing_is_written",
        ),
    ),
    Guard(
        "read-back",
        "easyrider_guardian",
        (
            (
                "easyrider_guardian/adapters/board_worker.py",
                "            if matches(order.limit_w, reading):\n",
                "            if True:\n",
            ),
        ),
        ("guardian/test_writes.py::test_one_lower_that_is_not_read_back_drops_every_raise_of_the_message",),
    ),
    Guard(
        "lower before raise, on the node",
        "easyrider_guardian",
        (
            (
                "easyrider_guardian/commands.py",
                "    if open_lower or not stored:\n",
                "    if not stored:\n",
            ),
        ),
        ("guardian/test_writes.py::test_one_lower_that_is_not_read_back_drops_every_raise_of_the_message",),
    ),
    Guard(
        "no plug-in policy over boards without leave",
        "easyrider_policy",
        (
            (
                "easyrider_policy/chosen.py",
                "    if not steered or name in rules.policies:\n",
                "    if True:\n",
            ),
        ),
        (
            "policy/wiring/test_choosing.py::test_in_enforce_it_is_refused_once_with_the_reason_and_the_product_decides",
        ),
    ),
    Guard(
        "no rise without its gate or a word",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/promotions.py",
                "        if move.verdict is not None and not move.passes\n",
                "        if False\n",
            ),
        ),
        (
            "policy/wiring/test_promotions.py::test_a_rise_whose_gate_is_not_met_is_refused_with_the_numbers",
            "policy/wiring/test_promotions.py::test_another_selector_over_the_same_boards_is_no_way_around",
        ),
    ),
    Guard(
        "no plug-in policy above a hard limit",
        "easyrider_policy",
        (
            (
                "easyrider_policy/chosen.py",
                "        if why := overdrawn(decision, observation, situation):\n",
                '        if why := "":\n',
            ),
        ),
        (
            "policy/wiring/test_choosing.py::test_a_supply_that_falls_is_kept_by_the_product_where_the_policy_would_not",
            "policy/planner/test_foreign_policies.py",
        ),
    ),
    Guard(
        "nothing rises at a glance",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/commands.py",
                "            limit_w=np.where(rows, np.fmin(base.limit_w, wish.limit_w), self.held.limit_w),\n",
                "            limit_w=np.where(rows, wish.limit_w, self.held.limit_w),\n",
            ),
        ),
        ("policy/safety/test_lowered.py",),
    ),
    Guard(
        "lower before raise, in the room",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/raises.py",
                "        ratio = np.where(asked_w > left_w + SLACK_W, left_w / np.maximum(asked_w, SLACK_W), 1.0)\n",
                "        ratio = np.ones_like(asked_w)\n",
            ),
        ),
        ("policy/safety/test_commands.py",),
    ),
    Guard(
        "worst case for silence",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/ledger.py",
                "        lost = (silent & ~fleet.boot_guard) | unknown\n",
                "        lost = np.zeros_like(unknown)\n",
            ),
        ),
        ("policy/safety/test_counting_boards.py", "policy/safety/test_take_over.py"),
    ),
    Guard(
        "a silent meter clears no loss",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/losses.py",
                "not any(self._now_s <= word.ends_s for word in words)\n",
                "not words\n",
            ),
        ),
        ("policy/safety/test_meters_of_losses.py",),
    ),
    Guard(
        "a hold, where commands are composed",
        "easyrider_policy",
        (
            (
                "easyrider_policy/core/steps.py",
                "        return bound if self.holds is None else bound | self.holds.boards\n",
                "        return bound\n",
            ),
        ),
        ("policy/safety/test_holds.py",),
    ),
    Guard(
        "a hold, on the node",
        "easyrider_guardian",
        (
            (
                "easyrider_guardian/commands.py",
                "    if node.hold is not None:\n        entries",
                "    if False:\n        entries",
            ),
            (
                "easyrider_guardian/commands.py",
                "        if entry.raises and node.hold is not None:\n",
                "        if False:\n",
            ),
        ),
        ("guardian/test_hold.py::test_no_raise_is_taken_and_the_ack_says_why_and_that_lowers_were",),
    ),
)


def test_with_every_guard_in_place_the_same_tests_are_green_on_a_copy(tmp_path: Path):
    copy_packages(tmp_path, *sorted({guard.package for guard in GUARDS}))
    where = "import easyrider_guardian, easyrider_policy; print(easyrider_guardian.__file__, easyrider_policy.__file__)"
    environ = {**os.environ, "PYTHONPATH": python_path(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", where], env=environ, capture_output=True, text=True, timeout=30
    )
    assert found.stdout.count(str(tmp_path)) == 2, "the copy is what is tested"

    ended = run(tmp_path, [test for guard in GUARDS for test in guard.tests])

    assert ended.returncode == 0, ended.stdout[-3000:]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_without_a_guard_its_tests_turn_red(guard: Guard, tmp_path: Path):
    copy_packages(tmp_path, guard.package)
    for file, before, after in guard.edits:
        edit(tmp_path, file, before, after)

    ended = run(tmp_path, guard.tests)

    assert ended.returncode == 1, f"{ended.returncode}: {ended.stdout[-2000:]}"
    assert "failed" in ended.stdout
