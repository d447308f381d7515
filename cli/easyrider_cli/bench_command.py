"""`easyrider bench`: controllers side by side in a simulated hall, forecasters on recorded and synthetic loads."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from easyrider_bench.batches import Progress

bench_app = typer.Typer(no_args_is_help=True, help="Comparisons with rivals.")
DEFAULT_OUT = Path("bench/out")


@bench_app.callback()
def bench() -> None:
    """Comparisons with rivals."""


@bench_app.command()
def controllers(
    traces: Annotated[Path | None, typer.Option(help="replay the recordings of this folder instead")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="runs a cell; default 3, with --quick 1")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="three scenarios, one seed, 300 s")] = False,
    controller: Annotated[list[str] | None, typer.Option(help="only these; may be given again")] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="only these; may be given again")] = None,
    level: Annotated[list[int] | None, typer.Option(min=1, help="only these oversubscriptions in %")] = None,
    out: Annotated[Path, typer.Option(help="folder of rows, pictures and finished runs")] = DEFAULT_OUT,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the rows here as well")] = None,
) -> None:
    """Run every controller in every scenario of the simulated hall; a table, two pictures, rows as JSON."""
    from easyrider_bench.running import Asked, run  # numpy and the twin: not for every command's start
    from easyrider_cli import preflight

    preflight.light_traces(traces)
    if json_file is not None:
        preflight.writable_file("--json", json_file)

    asked = Asked(
        out=out,
        quick=quick,
        traces=traces,
        seeds=seeds,
        controllers=tuple(controller or ()),
        scenarios=tuple(scenario or ()),
        levels=tuple(level or ()),
    )
    run(asked, _Said(Console(stderr=True)).say, lambda text: print(text, end="", flush=True))
    if json_file is not None:
        json_file.write_bytes((out / f"{asked.name}.json").read_bytes())


@bench_app.command()
def forecasters(
    traces: Annotated[
        Path | None, typer.Option(help="forecast the recordings of this folder instead")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="fewer and shorter series of every family")] = False,
    model: Annotated[list[str] | None, typer.Option(help="only these; may be given again")] = None,
    family: Annotated[list[str] | None, typer.Option(help="only these; may be given again")] = None,
    out: Annotated[Path, typer.Option(help="folder of rows, pictures and finished runs")] = DEFAULT_OUT,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the rows here as well")] = None,
) -> None:
    """Forecast recorded and synthetic loads by every model at the same origins; a table, pictures, rows as JSON."""
    from easyrider_cli import preflight

    preflight.light_traces(traces)
    preflight.rivals_installed()
    if json_file is not None:
        preflight.writable_file("--json", json_file)
    from easyrider_forecast_bench.running import Asked, run  # numpy and more: not for every command's start

    asked = Asked(
        out=out, quick=quick, traces=traces, models=tuple(model or ()), families=tuple(family or ())
    )
    run(asked, _Said(Console(stderr=True)).say, lambda text: print(text, end="", flush=True))
    if json_file is not None:
        json_file.write_bytes((out / f"{asked.name}.json").read_bytes())


class _Said:
    """Progress, a line when something is done."""

    def __init__(self, console: Console) -> None:
        self._console, self._began_s = console, time.monotonic()

    def say(self, progress: "Progress") -> None:
        """So many runs are done, so much time is left."""
        left = "" if progress.left_s is None else f", about {progress.left_s / 60:.1f} minutes left"
        spent_s = time.monotonic() - self._began_s
        self._console.print(
            f"{progress.done} of {progress.all} runs after {spent_s / 60:.1f} minutes{left}", highlight=False
        )
