"""`easyrider`: one front door for people."""

import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider_cli.accuracy_options import judging
from easyrider_cli.bench_command import bench_app
from easyrider_cli.explain_options import explaining
from easyrider_cli.fingerprint_options import remembering
from easyrider_cli.import_options import import_app
from easyrider_cli.init_options import init
from easyrider_cli.reader_gone import EXIT, Reader
from easyrider_cli.red_button import buttons
from easyrider_cli.token_options import tokens_app
from easyrider_cli.train_options import training
from easyrider_cli.trust_options import trusting

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
twin_app = typer.Typer(no_args_is_help=True, help="The simulated hardware.")
app.add_typer(buttons)
app.add_typer(explaining)
app.add_typer(trusting)
app.add_typer(training)
app.add_typer(remembering)
app.add_typer(judging)
app.add_typer(twin_app, name="twin")
app.add_typer(tokens_app, name="token")
app.add_typer(import_app, name="import")
app.add_typer(bench_app, name="bench")
app.command()(init)
console = Console(stderr=True)

Seed = Annotated[int, typer.Option(min=0, help="of every random choice")]
Traces = Annotated[Path | None, typer.Option(help="folder of recordings instead of the shipped ones")]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="bus and store without keys: open to every program of this machine")
]
StackRun = Annotated[Path | None, typer.Option(help="run folder of the stack; default: this user's")]


class Mode(StrEnum):
    """How far the coordinator may go."""

    OBSERVE, SHADOW, PILOT, ENFORCE = "observe", "shadow", "pilot", "enforce"


@app.command()
def demo(
    seed: Seed = 1,
    seconds: Annotated[float, typer.Option(help="length of each run, 120 to 3600")] = 150.0,
    traces: Traces = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write every figure here")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the two plots; default: this one")] = None,
    run: Annotated[Path | None, typer.Option(help="run folder, kept; default: a temporary one")] = None,
    insecure: Insecure = False,
) -> None:
    """A rack whose UPS would drop it stays up: three runs, a table and two plots."""
    from easyrider_cli.demo_command import show

    show(
        seed=seed, seconds=seconds, traces=traces, json_file=json_file, out=out, run=run, insecure=insecure,
        console=console,
    )  # fmt: skip


@app.command()
def up(
    seed: Seed = 1,
    mode: Annotated[Mode, typer.Option(help="how far the coordinator may go")] = Mode.ENFORCE,
    traces: Traces = None,
    run: Annotated[Path | None, typer.Option(help="run folder; default: this user's")] = None,
    insecure: Insecure = False,
    record: Annotated[Path | None, typer.Option(help="record what is said into this folder")] = None,
    regions: Annotated[
        bool, typer.Option("--regions", help="three coordinators: a site that lends to its two rows")
    ] = False,
    rules: Annotated[
        Path | None, typer.Option(help="your own tree, its modes included, on hardware as it declares it")
    ] = None,
) -> None:
    """Keep the whole stack up on a simulated rack and say where to look; Ctrl-C ends it."""
    from easyrider_cli.up_command import keep_up

    keep_up(seed, mode.value, traces, run, insecure, record, console, regions=regions, rules_file=rules)


@app.command()
def plan(
    run: StackRun = None,
    nats_url: Annotated[str | None, typer.Option(help="a bus instead of the stack's")] = None,
    seed_file: Annotated[Path | None, typer.Option(help="key of a user who may hear plans")] = None,
    user: Annotated[Path | None, typer.Option(help="folder of that user, as init wrote it, for TLS")] = None,
    region: Annotated[str | None, typer.Option(help="default: the stack's, else local")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one line a plan")] = False,
    count: Annotated[int | None, typer.Option(min=1, help="end after so many")] = None,
) -> None:
    """Show the coordinator's plans as they come: domains, jobs, limits, and the reason of each."""
    from easyrider_cli.apart import apart
    from easyrider_cli.plan_command import follow
    from easyrider_cli.rundir import default_root

    apart(("--nats-url", nats_url), run=run)
    follow(
        run=run or default_root(), nats_url=nats_url, seed_file=seed_file, user=user, region=region,
        as_json=as_json, count=count,
    )  # fmt: skip


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(help="folder that a recorder wrote")],
    region: Annotated[str | None, typer.Option(help="default: the only one")] = None,
    begins: Annotated[str | None, typer.Option("--from", help="RFC 3339; default: the first record")] = None,
    ends: Annotated[str | None, typer.Option("--to", help="RFC 3339; default: the last record")] = None,
    rules: Annotated[Path | None, typer.Option(help="other rules than those recorded")] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="a plug-in policy by name or module:Class instead of the product's plan"),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="draw both into this PNG")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write every figure here")] = None,
) -> None:
    """Run a recorded stretch through the planner again and show what would have been different."""
    from easyrider_cli.replay_command import replay as replayed

    replayed(
        folder=folder, region=region, begins=begins, ends=ends, rules_file=rules, picture=picture,
        json_file=json_file, console=Console(), policy=policy,
    )  # fmt: skip


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="folder that a recorder wrote")],
    csv_file: Annotated[Path | None, typer.Option("--csv", help="write this CSV file")] = None,
    parquet_file: Annotated[Path | None, typer.Option("--parquet", help="write this Parquet file")] = None,
    region: Annotated[str | None, typer.Option(help="default: the only one")] = None,
    begins: Annotated[str | None, typer.Option("--from", help="RFC 3339; default: the first record")] = None,
    ends: Annotated[str | None, typer.Option("--to", help="RFC 3339; default: the last record")] = None,
) -> None:
    """Write recorded samples, one row a GPU and sample, with window, refresh and quality."""
    from easyrider_cli.export_command import export as exported

    count = exported(
        folder=folder, region=region, begins=begins, ends=ends, csv_file=csv_file, parquet_file=parquet_file,
        console=console,
    )  # fmt: skip
    raise typer.Exit(0 if count else 1)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="rules document, YAML or JSON")]) -> None:
    """Say whether a rules document can be kept safe, and every fault in it with the numbers."""
    from easyrider_cli.check_command import check as checked

    raise typer.Exit(checked(file, console))


@twin_app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def twin_exec(
    command: Annotated[list[str], typer.Argument(help="any NVML program and its arguments, after --")],
    node: Annotated[str | None, typer.Option(help="node of the stack that is up; default: its first")] = None,
    run: StackRun = None,
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
    """Run the command line; what goes wrong by name is one line on stderr and exit code 2, a reader gone none."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)  # so that whatever was started is ended on the way out
    reader = Reader()
    try:
        code = _run()
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit) as end:
        if reader.gone:
            return EXIT
        # the parser makes an end without a word of every broken pipe, whoever was at its other end
        broken = end if isinstance(end, BrokenPipeError) else end.__context__
        if isinstance(broken, BrokenPipeError):
            return _told(str(broken))
        raise
    finally:
        reader.close()


def _run() -> int:
    try:
        return int(app(standalone_mode=False) or 0)
    except typer.Exit as end:
        return int(end.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except _Misused as fault:
        return _told(fault.format_message()) if str(fault) else 2  # without a word, help was shown
    except ModuleNotFoundError as fault:
        if fault.name is None or fault.name.partition(".")[0].startswith("easyrider"):
            raise
        return _told(
            f"this needs the package {fault.name}, which is not installed here: a site holds what services need, "
            "`make install` has all"
        )
    except BrokenPipeError:
        raise
    except (EasyRiderError, OSError) as fault:
        return _told(str(fault))


_Misused: Any = typer.BadParameter.__mro__[2]
"""What the parser raises for arguments that make no sense; the name of its home differs between releases."""


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _told(what: str) -> int:
    console.print(f"easyrider: {' '.join(what.split())}", style="red", markup=False, soft_wrap=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())
