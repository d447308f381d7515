"""Plans say which document they were made by: of one version there may be two."""

from dataclasses import replace
from pathlib import Path

from test_rulebook import book
from wired_box import TREE
from wired_site import Wired, rules

from easyrider.messages import Plan
from easyrider.tree_reader import digest, dump


async def said(wired: Wired, folder: Path) -> Plan:
    """The newest plan of a coordinator whose rulebook has looked at its store."""
    await book(wired, folder).once()
    await wired.seconds(2)
    return wired.said(Plan)[-1]


async def test_coordinators_that_decide_by_the_same_rules_say_so_and_others_say_other(tmp_path: Path) -> None:
    one, same = await said(Wired(rules(2)), tmp_path / "a"), await said(Wired(rules(2)), tmp_path / "b")
    other = await said(Wired(rules(2, pdu_w=2300.0)), tmp_path / "c")

    assert one.rules_sha256 == same.rules_sha256 == digest(dump(rules(2)))
    assert other.tree_version == one.tree_version
    assert other.rules_sha256 != one.rules_sha256


async def test_rules_that_are_newly_in_force_are_never_told_by_the_digest_of_those_before(
    tmp_path: Path,
) -> None:
    wired, newer = Wired(rules(1)), replace(rules(2), margin_w=1.0)
    rulebook = book(wired, tmp_path)
    await rulebook.once()

    await wired.store.save_rules(TREE, 2, dump(newer))
    await rulebook.once()
    await wired.seconds(2)
    at_first = wired.said(Plan)[-1]
    await rulebook.once()
    await wired.seconds(2)

    assert (at_first.tree_version, at_first.rules_sha256) == (2, "")
    assert wired.said(Plan)[-1].rules_sha256 == digest(dump(newer))
