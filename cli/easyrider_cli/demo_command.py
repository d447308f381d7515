"""`easyrider demo`: runs the demonstration, shows it while it runs, writes figures and plots."""

import time
from pathlib import Path
from typing import Any

from rich.console import Console

from easyrider_cli.demo import demonstrate
from easyrider_cli.documents import write_json
from easyrider_cli.report import as_json, table
from easyrider_cli.rundir import RunFolder


def show(
    seed: int,
    seconds: float,
    traces: Path | None,
    json_file: Path | None,
    out: Path,
    run: Path,
    console: Console,
) -> None:
    """The whole demonstration for a person. Raises `EasyRiderError` with one line where it cannot be shown."""
    began_s = time.monotonic()

    def say(step: str) -> None:
        console.print(f"[dim]{time.monotonic() - began_s:5.0f} s[/dim]  {step}", highlight=False)

    def watch(sample: dict[str, Any], counts: dict[str, int]) -> None:
        del sample, counts

    shown = demonstrate(
        seed=seed, seconds=seconds, traces=traces, folder=RunFolder.fresh(run), say=say, watch=watch
    )
    report = as_json(shown)
    Console().print(table(report))
    if json_file is not None:
        write_json(json_file, report)
