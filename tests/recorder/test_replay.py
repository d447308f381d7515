"""A recorded stretch through the planner again: the same twice, near what was, and different under other rules."""

import asyncio
import dataclasses
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_site import a_while
from rich.console import Console

from easyrider import wire
from easyrider.errors import BadTree
from easyrider.messages import Plan
from easyrider.tree import Rules
from easyrider.tree_reader import dump
from easyrider_cli import replay_command
from easyrider_cli.moment_option import BadMomentOption
from easyrider_cli.preflight import CannotShow
from easyrider_cli.recorded_stretch import NothingRecorded
from easyrider_cli.replay_command import NotReplayable, replay
from easyrider_cli.replay_engine import Told
from easyrider_cli.replay_report import Report, compare
from easyrider_recorder.adapters.reader import NoRecording, Recording
from easyrider_recorder.adapters.segment import Segment
from easyrider_recorder.core.places import hour_of


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rules]:
    site = asyncio.run(a_while())
    return site.write(tmp_path_factory.mktemp("recording")), site.picture.rules


def replayed(folder: Path, **options: Any) -> Report:
    known: dict[str, Any] = {
        "region": None, "begins": None, "ends": None, "rules_file": None, "picture": None, "json_file": None,
    }  # fmt: skip
    return replay(folder=folder, console=Console(file=StringIO(), width=120), **{**known, **options})


@pytest.fixture(scope="module")
def same(recording: tuple[Path, Rules]) -> Report:
    return replayed(recording[0])


def with_target(rules: Rules, share: float, folder: Path) -> Path:
    """The same rules with every target at this share of what it was."""
    domains = tuple(
        dataclasses.replace(domain, target_w=domain.aim_w * share, target_share=1.0)
        for domain in rules.domains
    )
    file = folder / "other.yaml"
    document = json.loads(dump(dataclasses.replace(rules, domains=domains, version=rules.version + 1)))
    file.write_text(yaml.safe_dump(document))
    return file


def test_twice_the_same_recording_gives_the_same_decisions_to_the_byte(recording: Any, same: Report) -> None:
    again = replayed(recording[0])

    assert again.commands > 50
    assert again.decisions_sha256 == same.decisions_sha256
    assert again == same


def test_with_its_own_rules_limits_are_those_that_were(same: Report) -> None:
    report = same

    assert report.boards_compared == 4
    assert report.malformed == report.dropped == 0
    assert report.damage == []
    assert report.mean_limit_difference_w is not None
    assert report.mean_limit_difference_w < 10.0
    assert report.lost_gpu_s_replayed == pytest.approx(report.lost_gpu_s_recorded, rel=0.1, abs=1.0)


def test_with_a_lower_target_limits_are_lower_and_more_work_is_lost(
    recording: Any, same: Report, tmp_path: Path
) -> None:
    folder, rules = recording

    tighter = replayed(folder, rules_file=with_target(rules, 0.85, tmp_path))

    for mine, other in zip(same.jobs, tighter.jobs, strict=True):
        assert mine.recorded == other.recorded
        assert mine.replayed.mean_limit_w is not None
        assert other.replayed.mean_limit_w is not None
        assert other.replayed.mean_limit_w < mine.replayed.mean_limit_w - 5.0
    assert tighter.lost_gpu_s_replayed > same.lost_gpu_s_replayed
    assert tighter.decisions_sha256 != same.decisions_sha256
    pdu = next(domain for domain in tighter.domains if domain.domain == "pdu")
    assert pdu.replayed.mean_target_w == pytest.approx(0.85 * (pdu.recorded.mean_target_w or 0.0))
    draws_w = pdu.replayed.highest_w
    assert draws_w is not None


def test_a_target_that_no_limit_can_keep_is_reported_as_infeasible_moments(
    recording: Any, tmp_path: Path
) -> None:
    folder, rules = recording

    report = replayed(folder, rules_file=with_target(rules, 0.25, tmp_path))

    pdu = next(domain for domain in report.domains if domain.domain == "pdu")
    assert pdu.replayed.infeasible_s > 10.0
    assert pdu.replayed.highest_missing_w > 0.0
    assert pdu.recorded.infeasible_s == 0.0


def test_a_stretch_is_replayed_alone_with_the_rules_recorded_before_it(recording: Any) -> None:
    first = next(iter(Recording.open(recording[0]).records()))[1]
    begins = "2026-01-09T12:17:00Z"

    report = replayed(recording[0], begins=begins, ends="2026-01-09T12:17:20Z")

    assert first.unix_ns == 1_767_960_000_000_000_000 + first.mono_ns
    assert report.began == "2026-01-09T12:17:00+00:00"
    assert 19.0 < report.length_s <= 20.0
    assert report.boards_compared == 4


def test_everything_is_written_where_it_was_asked_for(recording: Any, tmp_path: Path) -> None:
    picture, json_file = tmp_path / "both.png", tmp_path / "figures.json"
    said = StringIO()

    report = replay(
        folder=recording[0],
        region="r",
        begins=None,
        ends=None,
        rules_file=None,
        picture=picture,
        json_file=json_file,
        console=Console(file=said, width=120),
    )

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(json_file.read_text())["decisions_sha256"] == report.decisions_sha256
    for word in ("job-a", "job-b", "pdu", "recorded -> replayed"):
        assert word in said.getvalue()


def test_what_cannot_be_replayed_is_said_by_name(recording: Any, tmp_path: Path) -> None:
    folder, _rules = recording
    broken = tmp_path / "broken.yaml"
    broken.write_text("tree: [")

    with pytest.raises(NoRecording):
        replayed(tmp_path)
    with pytest.raises(BadTree):
        replayed(folder, rules_file=broken)
    with pytest.raises(BadTree):
        replayed(folder, rules_file=tmp_path / "missing.yaml")
    with pytest.raises(BadMomentOption):
        replayed(folder, begins="yesterday")
    with pytest.raises(NothingRecorded, match="goes from 2026-01-09T12:"):
        replayed(folder, begins="2030-01-01T00:00:00Z")
    with pytest.raises(BadMomentOption, match="is later than"):
        replayed(folder, begins="2026-01-09T12:17:20Z", ends="2026-01-09T12:17:00Z")


def test_a_stretch_in_which_no_plan_was_recorded_is_compared_with_nothing(recording: Any) -> None:
    bodies = [r.body for _boot, r in Recording.open(recording[0]).records() if ".plan." in r.subject]
    plan = wire.decode(bodies[-1], (Plan,))
    assert isinstance(plan, Plan)

    report = compare(Told(replayed=[(0.5, plan), (1.0, plan)]), rules="these", dropped=0, damage=[])

    assert report.domains
    assert {d.recorded.mean_target_w for d in report.domains} == {None}
    assert all(d.replayed.mean_target_w for d in report.domains)


def test_a_stretch_too_short_for_a_plan_is_told_as_such(recording: Any) -> None:
    with pytest.raises(NotReplayable, match="name a longer stretch"):
        replayed(recording[0], begins="2026-01-09T12:17:00Z", ends="2026-01-09T12:17:00Z")


def test_files_that_hold_no_record_are_told_as_such(tmp_path: Path) -> None:
    Segment.create(tmp_path / "r", hour_of(1_767_960_000_000_000_000), {}).close()

    with pytest.raises(NoRecording, match="nothing was recorded of region r"):
        replayed(tmp_path)


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("picture", "x.bogus", "--picture .*x.bogus: .*png"),
        ("picture", "none/x.png", "there is no folder"),
        ("json_file", "none/x.json", "--json .*there is no folder"),
        ("json_file", ".", "it is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_replayed(
    recording: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str, words: str
) -> None:
    monkeypatch.setattr(replay_command, "run", None)

    with pytest.raises(CannotShow, match=words):
        replayed(recording[0], **{option: tmp_path / name})
