"""The red button on the command line: hold, release, restore; over the admin API, on this machine, or on one node."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from easyrider_cli.doors import Door

buttons = typer.Typer()
_console = Console(stderr=True)
Run = Annotated[Path | None, typer.Option(help="run folder of the stack; default: this user's")]
Api = Annotated[str | None, typer.Option("--api", help="address of an admin API instead of the local stack")]
Token = Annotated[Path | None, typer.Option(help="file with the token for --api")]
Authority = Annotated[
    Path | None, typer.Option("--ca-file", help="authority that signed the API's certificate")
]
Socket = Annotated[Path | None, typer.Option(help="one guardian's socket: where bus, store and API are gone")]
Json = Annotated[bool, typer.Option("--json", help="one line for machines")]


@buttons.command()
def hold(
    domain: Annotated[list[str] | None, typer.Option(help="again for more; default: everywhere")] = None,
    reason: Annotated[str, typer.Option(help="for those who ask why")] = "",
    clear: Annotated[
        bool, typer.Option("--clear", help="let limits rise again: every hold, or those named")
    ] = False,
    hold_id: Annotated[list[str] | None, typer.Option("--id", help="with --clear: these holds alone")] = None,
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    socket: Socket = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """No limit rises, anywhere or in these domains, until it is cleared; lowers and the dead-man go on."""
    from easyrider_cli import hold_command
    from easyrider_cli.apart import apart, beside

    if clear:  # what lets limits rise must be meant as it stands; a hold is never kept waiting for words
        apart(("--socket", socket), api=api, token_file=token_file, run=run, domain=domain, id=hold_id)
        apart(("--clear", clear), reason=reason)
    beside(("--id", hold_id), ("--clear", clear))
    if socket is not None:
        if domain or api or run:
            _say(as_json)("--socket holds every board of this node, whatever else is named")
        told = hold_command.on_node(socket, None if clear else reason)
    else:
        with open_door(api, token_file, ca_file, run) as door:
            if clear:
                told = hold_command.clear(door, hold_id or (), domain or ())
            else:
                told = hold_command.hold(door, domain or (), reason)
    raise typer.Exit(hold_command.show(told, as_json, _console))


@buttons.command()
def release(
    scope: Annotated[
        list[str] | None, typer.Argument(help="node=n1 rack=pdu-1 queue=batch,..., or all")
    ] = None,
    node: Annotated[list[str] | None, typer.Option(help="a node; again for more")] = None,
    reason: Annotated[str, typer.Option(help="for those who ask why")] = "released by an operator",
    override: Annotated[
        str, typer.Option(help="why to do it though what it comes to cannot be foretold")
    ] = "",
    wait_s: Annotated[float, typer.Option(min=0, help="how long to watch")] = 60.0,
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """Give a scope back what it was found with, within every limit; refused with the missing watts."""
    from easyrider_cli import release_command

    wanted = release_command.scope_of(scope or (), node or ())
    with open_door(api, token_file, ca_file, run) as door:
        found = release_command.release(door, wanted, reason, wait_s, _say(as_json), override=override)
    raise typer.Exit(release_command.show(found, as_json, _console))


@buttons.command()
def free(
    kind: Annotated[str, typer.Argument(help="node or region")],
    name: Annotated[str, typer.Argument(help="its id in the rules")],
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """Let go of watts booked for a node or region that you know is dark; refused while it may still draw them."""
    from easyrider_cli import free_command

    with open_door(api, token_file, ca_file, run) as door:
        free_command.free(door, kind, name, as_json, _console)


@buttons.command()
def restore(
    run: Run = None,
    socket: Annotated[Path | None, typer.Option(help="one guardian's socket instead")] = None,
    now: Annotated[bool, typer.Option("--now", help="do not ask the coordinator to make room first")] = False,
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    as_json: Json = False,
) -> None:
    """Give nodes back the limits they were found with; the coordinator makes room first. With --api: release all."""
    from easyrider_cli.apart import apart, beside

    apart(("--api", api), run=run, socket=socket, now=now)
    apart(("--socket", socket), run=run)
    beside(("--token-file", token_file), ("--api", api))
    beside(("--ca-file", ca_file), ("--api", api))
    if api is not None:
        release(["all"], api=api, token_file=token_file, ca_file=ca_file, as_json=as_json)
    from easyrider_cli.restore_command import restore as restored
    from easyrider_cli.rundir import default_root

    raise typer.Exit(
        restored(run=run or default_root(), socket=socket, now=now, console=_console, as_json=as_json)
    )


@contextmanager
def open_door(
    api: str | None, token_file: Path | None, ca_file: Path | None, run: Path | None
) -> "Iterator[Door]":
    """The admin API, or bus and store of the local stack.

    Raises `BadApi`, `NotTogether`, `Without`, `NoStack`, `NoAnswer`.
    """
    from easyrider_cli.apart import apart, beside
    from easyrider_cli.api_door import ApiDoor, BadApi

    apart(("--api", api), run=run)
    beside(("--token-file", token_file), ("--api", api))
    beside(("--ca-file", ca_file), ("--api", api))
    if api is not None:
        if token_file is None:
            raise BadApi("--api needs the token of an operator: --token-file FILE")
        yield ApiDoor(api, token_file, ca_file)
        return
    from easyrider_cli.hold_command import whoami
    from easyrider_cli.local_door import opened
    from easyrider_cli.rundir import default_root

    with opened(run or default_root(), whoami()) as door:
        yield door


def _say(as_json: bool) -> Callable[[str], None]:
    def say(line: str) -> None:
        if not as_json:
            _console.print(line, highlight=False, markup=False, soft_wrap=True)

    return say
