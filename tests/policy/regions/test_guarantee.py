"""A region's guaranteed share over versions of the rules: less at once, more when a budget names it."""

from pathlib import Path

import pytest

from easyrider_policy.adapters.shares_file import SharesFile
from easyrider_policy.core.account import Standing
from easyrider_policy.core.guarantee import Guarantee, Share


def obeyed_w(mine: Guarantee) -> float:
    assert mine.obeyed is not None
    return mine.obeyed.watts


def ruled(watts: float) -> Guarantee:
    """A region that has its first rules on disk."""
    mine = Guarantee(None)
    mine.adopt(1, watts)
    mine.take(Share(version=1, watts=watts))
    return mine


def test_a_higher_share_of_new_rules_waits_for_a_budget_that_names_it():
    mine = ruled(40.0)

    assert not mine.adopt(2, 80.0)
    assert obeyed_w(mine) == 40.0
    assert mine.higher(40.0) is None

    named = mine.higher(80.0)
    assert named == Share(version=2, watts=80.0)
    mine.take(named)
    assert obeyed_w(mine) == 80.0


def test_no_budget_names_more_than_our_own_rules():
    mine = ruled(40.0)
    mine.adopt(2, 60.0)

    assert mine.higher(500.0) == Share(version=2, watts=60.0)


def test_a_lower_share_is_obeyed_at_once_and_told_when_it_is_on_disk():
    mine = ruled(80.0)

    assert mine.adopt(2, 40.0)
    assert obeyed_w(mine) == 40.0
    assert mine.kept == Share(version=1, watts=80.0)
    assert mine.unkept() == Share(version=2, watts=40.0)


def test_a_restart_with_new_rules_obeys_the_share_of_before():
    mine = Guarantee(ruled(40.0).kept)

    mine.adopt(2, 80.0)

    assert obeyed_w(mine) == 40.0


def test_a_share_named_under_rules_of_before_is_not_obeyed_when_it_reaches_the_disk():
    mine = ruled(40.0)
    mine.adopt(2, 80.0)
    named = mine.higher(80.0)
    mine.adopt(3, 40.0)
    assert named is not None

    mine.take(named)

    assert obeyed_w(mine) == 40.0
    assert mine.unkept() == Share(version=3, watts=40.0)


def test_shares_outlive_a_process_and_one_that_cannot_be_read_is_none(tmp_path: Path):
    file, standings = SharesFile(tmp_path), {"hall": Standing(owed_w=80.0, vouched_w=None)}
    assert (file.read_share(), file.read_standings()) == (None, {})

    file.keep_share(Share(version=2, watts=40.0))
    file.keep_standings(standings)
    assert (file.read_share(), file.read_standings()) == (Share(version=2, watts=40.0), standings)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff"])
def test_a_record_of_shares_that_cannot_be_read_vouches_for_nothing(tmp_path: Path, body: bytes):
    for name in ("share.json", "standings.json"):
        (tmp_path / name).write_bytes(body)

    file = SharesFile(tmp_path)

    assert file.read_share() == Share(version=0, watts=0.0)
    assert file.read_standings() == {}
