"""`easyrider`: one front door for people."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from easyrider.errors import EasyRiderError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
twin_app = typer.Typer(no_args_is_help=True, help="The simulated hardware.")
app.add_typer(twin_app, name="twin")
console = Console(stderr=True)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="of every random choice")] = 1,
    seconds: Annotated[float, typer.Option(help="length of each run")] = 150.0,
    traces: Annotated[
        Path | None, typer.Option(help="folder of recordings instead of the shipped ones")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write every figure here")] = None,
    out: Annotated[Path, typer.Option(help="folder for the two plots")] = Path(),
    run: Annotated[Path | None, typer.Option(help="run folder; default: a temporary one")] = None,
) -> None:
    """A rack whose UPS would drop it stays up: three runs, a table and two plots."""
    from easyrider_cli.demo_command import show

    show(seed, seconds, traces, json_file, out, run or Path(tempfile.mkdtemp(prefix="er-")), console)


@app.command()
def up(
    seed: Annotated[int, typer.Option(help="of every random choice")] = 1,
    mode: Annotated[str, typer.Option(help="observe, shadow, pilot or enforce")] = "enforce",
    traces: Annotated[
        Path | None, typer.Option(help="folder of recordings instead of the shipped ones")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="run folder; default: this user's current stack")] = None,
) -> None:
    """Keep the whole stack up on a simulated rack and say where to look; Ctrl-C ends it."""
    from easyrider_cli.up_command import keep_up

    keep_up(seed, mode, traces, run, console)


@twin_app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def twin_exec(
    command: Annotated[list[str], typer.Argument(help="any NVML program and its arguments, after --")],
    node: Annotated[str | None, typer.Option(help="node of the stack that is up; default: its first")] = None,
    run: Annotated[Path | None, typer.Option(help="run folder of the stack")] = None,
) -> None:
    """Run a program on a simulated node of 8 GPUs: that of the stack that is up, else one of its own."""
    from easyrider_twin import exec as twin_program

    raise typer.Exit(twin_program.run(command, node=node, run_dir=run))


@app.command()
def version() -> None:
    """The version of this installation."""
    from easyrider import __version__

    print(__version__)


def main() -> int:
    """Run the command line; what goes wrong by name is one line on stderr and exit code 2."""
    try:
        return int(app(standalone_mode=False) or 0)
    except typer.Exit as end:
        return int(end.exit_code)
    except typer.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except EasyRiderError as fault:
        console.print(f"easyrider: {fault}", style="red", markup=False)
        return 2


if __name__ == "__main__":
    sys.exit(main())
