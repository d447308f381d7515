"""`easyrider demo`: runs the demonstration, shows it while it runs, writes figures and plots."""

import os
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from easyrider_cli import preflight
from easyrider_cli.demo import Demonstration, demonstrate
from easyrider_cli.documents import write_json
from easyrider_cli.moments import moment
from easyrider_cli.progress import Progress
from easyrider_cli.report import as_json, table
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import OPEN


def show(
    *,
    seed: int,
    seconds: float,
    traces: Path | None,
    json_file: Path | None,
    out: Path | None,
    run: Path | None,
    insecure: bool,
    console: Console,
) -> None:
    """The whole demonstration for a person. Raises `EasyRiderError` with one line where it cannot be shown.

    A run folder of its own is removed in the end, and kept and named where something went wrong. Without `out`
    the plots go to the current folder, or nowhere if that cannot be written.
    """
    began_s = time.monotonic()

    def say(step: str) -> None:
        passed = f"{time.monotonic() - began_s:5.0f} s"
        console.print(f"[dim]{passed}[/dim]  {step}", highlight=False, soft_wrap=True)

    preflight.length(seconds)
    preflight.light_traces(traces)
    if json_file is not None:
        preflight.writable_file("--json", json_file)
    pictures = _pictures_folder(out, console)
    preflight.compiled()
    folder = preflight.run_folder(run)
    if insecure:
        say(OPEN)
    try:
        say("sizing the rack from its own uncontrolled run, in virtual time")
        world = preflight.sized_world(seed, seconds, traces)
        for note in world.notes:
            say(note)
        with Progress(console) as progress:

            def watch(sample: dict[str, Any], counts: dict[str, int]) -> None:
                progress.show(moment(world, sample, counts, seconds))

            shown = demonstrate(
                world=world, seconds=seconds, folder=folder, say=say, watch=watch, insecure=insecure
            )
        _write(shown, json_file, pictures, console)
    except (KeyboardInterrupt, SystemExit):
        _remove(folder, run)
        console.print("stopped; nothing is left running")
        raise
    except preflight.CannotShow:
        _remove(folder, run)
        raise
    except BaseException:
        console.print(f"what the processes wrote is in {folder.root}", soft_wrap=True, highlight=False)
        raise
    _remove(folder, run)


def _write(shown: Demonstration, json_file: Path | None, pictures: Path | None, console: Console) -> None:
    from easyrider_cli import pictures as drawing  # its library takes a second to load

    report = as_json(shown)
    Console().print(table(report))
    if json_file is not None:
        write_json(json_file, report)
        console.print(f"every figure: {json_file}", soft_wrap=True, highlight=False)
    if pictures is not None:
        power, work = drawing.draw(shown, pictures)
        console.print(f"plots: {power} and {work}", soft_wrap=True, highlight=False)


def _pictures_folder(out: Path | None, console: Console) -> Path | None:
    if out is not None:
        return preflight.writable_folder("--out", out)
    if os.access(Path.cwd(), os.W_OK | os.X_OK):
        return Path()
    console.print("the current folder cannot be written: no plots; name another by --out")
    return None


def _remove(folder: RunFolder, asked_for: Path | None) -> None:
    if asked_for is None:
        folder.remove()
