"""A researcher's policy by name: the documented one in a replay, and refusals that name what is wrong."""

import asyncio
import re
from io import StringIO
from pathlib import Path

import pytest
from made_site import a_while
from rich.console import Console

from easyrider_cli.replay_command import replay
from easyrider_cli.replay_report import Report
from easyrider_policy.adapters.policy_entry_points import NoSuchPolicy, load
from easyrider_policy.core.policies import UnusableDecision

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
EXAMPLE = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FAILS = """
class Raises:
    def plan(self, *_known):
        raise KeyError("nothing here")


class Misfits:
    def plan(self, *_known):
        return 7


class NoPlan:
    pass


class Asks:
    def __init__(self, needed):
        pass
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(a_while()).write(tmp_path_factory.mktemp("recording"))


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert EXAMPLE is not None
    (tmp_path / "documented_policy.py").write_text(EXAMPLE[1])
    (tmp_path / "failing_policies.py").write_text(FAILS)
    package = tmp_path / "mine-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[easyrider.policies]\nequal-share = documented_policy:EqualShare\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def replayed(folder: Path, policy: str | None) -> Report:
    return replay(
        folder=folder, region=None, begins=None, ends=None, rules_file=None, picture=None, json_file=None,
        console=Console(file=StringIO(), width=120), policy=policy,
    )  # fmt: skip


def test_the_documented_policy_decides_a_replay_and_gives_every_gpu_the_same(recording: Path) -> None:
    own, mine = replayed(recording, None), replayed(recording, "documented_policy:EqualShare")

    assert "policy documented_policy:EqualShare" in mine.rules
    assert mine.decisions_sha256 != own.decisions_sha256
    limits = {round(job.replayed.mean_limit_w or 0.0) for job in mine.jobs}
    assert len(limits) == 1
    assert limits.pop() > 200
    assert mine.commands > 10


def test_a_policy_goes_by_the_name_of_its_entry_point() -> None:
    assert type(load("equal-share")).__name__ == "EqualShare"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nobody", "no entry point of easyrider.policies has this name (there is: equal-share"),
        ("no_such_module:X", "cannot be imported: No module named"),
        ("failing_policies:Missing", "cannot be imported"),
        ("failing_policies:NoPlan", "no method plan"),
        ("failing_policies:Asks", "without arguments"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(NoSuchPolicy, match=re.escape(why)):
        load(name)


@pytest.mark.parametrize(
    ("name", "why"), [("Raises", "KeyError: 'nothing here'"), ("Misfits", "a int instead of a Decision")]
)
def test_a_policy_that_fails_ends_the_replay_in_one_line(recording: Path, name: str, why: str) -> None:
    with pytest.raises(UnusableDecision) as refused:
        replayed(recording, f"failing_policies:{name}")

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
