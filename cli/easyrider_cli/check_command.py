"""`easyrider check`: whether a rules document can be kept, with the numbers, before a coordinator is given it."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from easyrider.errors import BadTree, EasyRiderError
from easyrider.tree import ModeRule
from easyrider.tree_reader import read
from easyrider_cli.check_remarks import remarks
from easyrider_policy.core.checks import fallback_w, faults, start_w
from easyrider_policy.core.fleet import Fleet, build


class NoDocument(EasyRiderError):
    """The rules document could not be read."""


def check(file: Path, console: Console) -> int:
    """Exit code: 0 and the sums of every domain, or 2 and every fault on a line of its own."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is no text"
        raise NoDocument(f"{file}: {why}") from fault
    try:
        rules = read(text, str(file))
    except BadTree as fault:
        return _refused(file, fault.faults, console)
    fleet = build(rules, [])
    if found := faults(rules, fleet):
        return _refused(file, found, console)
    out = Console()
    out.print(
        f"{file}: rules {rules.id} version {rules.version} can be kept",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    for remark in remarks(rules, time.time()):
        out.print(f"remark: {remark}", highlight=False, markup=False, soft_wrap=True)
    out.print(_sums(fleet, rules.modes))
    return 0


def _refused(file: Path, found: list[str], console: Console) -> int:
    some = "1 fault" if len(found) == 1 else f"{len(found)} faults"
    for line in (f"{file}: refused, {some}", *(f"  {fault}" for fault in found)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 2


def _sums(fleet: Fleet, modes: Sequence[ModeRule]) -> Table:
    """Every domain in wall kW: what its fallbacks need, and what all hosts starting together could draw."""
    table = Table(box=None, pad_edge=False)
    table.add_column("wall kW", no_wrap=True)
    for heading in ("target", "hard limit", "least planned", "all at fallback", "after a boot"):
        table.add_column(heading, justify="right", no_wrap=True)
    needs_w, highest_w = fallback_w(fleet, modes), start_w(fleet, modes)
    for row, domain in enumerate(fleet.domain_records):
        watts = (
            domain.aim_w,
            fleet.hard_w[row],
            fleet.smallest_hard_w[row],
            needs_w[row],
            highest_w[row],
        )
        table.add_row(domain.id, *(f"{w / 1e3:.2f}" for w in watts))
    return table
