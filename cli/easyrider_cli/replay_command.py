"""`easyrider replay`: a recorded stretch through the planner again, with its own or other rules."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from easyrider import log
from easyrider.errors import BadTree, EasyRiderError
from easyrider.tree import Rules
from easyrider.tree_reader import read
from easyrider_cli.preflight import CannotShow, writable_file
from easyrider_cli.recorded_stretch import stretch
from easyrider_cli.replay_engine import run
from easyrider_cli.replay_report import Report, compare
from easyrider_policy.adapters.policy_entry_points import load
from easyrider_policy.chosen import Trial
from easyrider_policy.core.checks import refuse
from easyrider_policy.core.fleet import build
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Planner
from easyrider_recorder.adapters.reader import Recording
from easyrider_recorder.core.framing import Record

RULES = "rules."


class NotReplayable(EasyRiderError):
    """The recording lacks what a replay needs."""


def replay(
    *,
    folder: Path,
    region: str | None,
    begins: str | None,
    ends: str | None,
    rules_file: Path | None,
    picture: Path | None,
    json_file: Path | None,
    console: Console,
    policy: str | None = None,
) -> Report:
    """Run it, show the differences, write what was asked for.

    Raises `NoRecording`, `NothingRecorded`, `NotReplayable`, `BadTree`, `NoSuchPolicy`, `UnusableDecision`, and
    `CannotShow` before anything is run.
    """
    log.configure("easyrider", level="error", form="console")
    _refuse_unwritable(picture, json_file)
    planner: Planner = plan if policy is None else Trial(policy, load(policy))
    recording = Recording.open(folder, region)
    from_ns, to_ns = stretch(recording, begins, ends)
    if rules_file is None:
        rules, named = _rules_before(Recording.open(folder, recording.region), from_ns), "the recorded rules"
    else:
        rules, named = _given(rules_file), str(rules_file)
    records = _records(recording, from_ns, to_ns, rules, follow=rules_file is None)
    told = run(rules, recording.region, records, planner)
    if not told.replayed:
        raise NotReplayable(
            f"nothing could be planned from {told.messages} messages: do the rules name the nodes that were "
            "recorded? If so, name a longer stretch"
        )
    if rules_file is None:
        named = f"{named} (version {rules.version})"
    if policy is not None:
        named = f"policy {policy} and {named}"
    report = compare(told, rules=named, dropped=recording.dropped, damage=[*map(str, recording.damage)])
    show(report, console)
    if picture is not None:
        from easyrider_cli.replay_picture import draw

        draw(told, report, picture)
        console.print(f"picture: {picture}", markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    return report


def show(report: Report, console: Console) -> None:
    """Tables for people."""
    console.print(
        f"{report.length_s:.0f} s from {report.began}, {report.messages} messages, through {report.rules}; "
        f"compared from {report.compared_from_s:.0f} s on",
        highlight=False,
        markup=False,
    )
    for damage in report.damage:
        console.print(f"not read: {damage}", style="yellow", markup=False, soft_wrap=True)
    if report.dropped:
        console.print(f"{report.dropped} messages were dropped when this was recorded", style="yellow")
    jobs = _table("job", "GPUs", "limit, W a GPU", "slower by", "lost, GPU s")
    for job in report.jobs:
        sides = (job.recorded, job.replayed)
        jobs.add_row(
            job.job,
            str(job.gpu_count),
            _both("{:.0f}", *(side.mean_limit_w for side in sides)),
            _both("{:.1%}", *(side.mean_slowdown for side in sides)),
            _both("{:.1f}", *(side.lost_gpu_s for side in sides)),
        )
    domains = _table("domain", "target, kW", "highest, kW", "above target, s", "infeasible, s")
    for domain in report.domains:
        both = (domain.recorded, domain.replayed)
        domains.add_row(
            domain.domain,
            _both("{:.2f}", *(_kilo(side.mean_target_w) for side in both)),
            _both("{:.2f}", *(_kilo(side.highest_w) for side in both)),
            _both("{:.1f}", *(side.above_target_s for side in both)),
            _both("{:.1f}", *(side.infeasible_s for side in both)),
        )
    console.print("each pair: recorded -> replayed", style="dim")
    console.print(jobs)
    console.print(domains)
    console.print(
        f"limits of {report.boards_compared} boards: differ by {_shown(report.mean_limit_difference_w, '{:.1f}')} W "
        f"in the mean, {_shown(report.largest_limit_difference_w, '{:.0f}')} W at most; within 2 % for "
        f"{_shown(report.near_share, '{:.1%}')} of the time. Lost work {report.lost_gpu_s_recorded:.0f} GPU s as "
        f"recorded, {report.lost_gpu_s_replayed:.0f} replayed; {report.commands} commands, "
        f"decisions {report.decisions_sha256[:12]}",
        highlight=False,
        markup=False,
    )


def _records(
    recording: Recording, from_ns: int, to_ns: int, first: Rules, *, follow: bool
) -> Iterator[tuple[Record, Rules | None]]:
    """Records in order, on one monotonic clock also where the recorder's machine was booted anew."""
    boot, shift_ns, last, version = "", 0, None, first.version
    for found_boot, record in recording.records(from_ns, to_ns):
        if last is not None and found_boot != boot:
            gap_ns = max(0, record.unix_ns - last.unix_ns)
            shift_ns = last.mono_ns + gap_ns - record.mono_ns
        boot = found_boot
        if shift_ns:
            record = replace(record, mono_ns=record.mono_ns + shift_ns)
        last, newer = record, None
        if record.subject.startswith(RULES):
            if not follow:
                continue
            found = _parsed(record)
            newer = found if found.version > version else None
            version = max(version, found.version)
        yield record, newer


def _rules_before(recording: Recording, from_ns: int) -> Rules:
    """The rules in force when the stretch begins: the newest recorded until then, else the first after it."""
    newest: Record | None = None
    for _boot, record in recording.records():
        if record.subject.startswith(RULES):
            if newest is not None and record.unix_ns > from_ns:
                break
            newest = record
    if newest is None:
        raise NotReplayable("no rules were recorded, the recorder had no store: give them by --rules FILE")
    return _parsed(newest)


def _parsed(record: Record) -> Rules:
    return read(record.body.decode(errors="replace"), "the recorded rules")


def _refuse_unwritable(picture: Path | None, json_file: Path | None) -> None:
    if picture is not None:
        writable_file("--picture", picture)
        if picture.suffix.lower() != ".png":
            raise CannotShow(f"--picture {picture}: a name that ends in .png is expected")
    if json_file is not None:
        writable_file("--json", json_file)


def _given(file: Path) -> Rules:
    try:
        text = file.read_text()
    except OSError as fault:
        raise BadTree(str(file), [fault.strerror or "cannot be read"]) from fault
    rules = read(text, str(file))
    refuse(rules, build(rules, []))
    return rules


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _both(form: str, recorded: float | None, replayed: float | None) -> str:
    return f"{_shown(recorded, form)} -> {_shown(replayed, form)}"


def _kilo(value: float | None) -> float | None:
    return None if value is None else value / 1e3


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    return table
