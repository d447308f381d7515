"""`easyrider token`: bearers of the admin API, made, listed and revoked in the store itself, to begin with."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from easyrider_cli.token_command import Place

tokens_app = typer.Typer(no_args_is_help=True, help="Tokens of the admin API, in the store itself.")
_console = Console(stderr=True)
Run = Annotated[Path | None, typer.Option(help="run folder of the stack; default: this user's")]
Installation = Annotated[
    Path | None, typer.Option("--installation", help="folder that `easyrider init` wrote, instead of a stack")
]
Url = Annotated[str | None, typer.Option("--redis-url", help="another address of the store")]
Tree = Annotated[str | None, typer.Option(help="id of the tree; default: the stack's, else site")]
Json = Annotated[bool, typer.Option("--json", help="for machines")]


@tokens_app.command()
def create(
    name: Annotated[str, typer.Argument(help="whose it is, for the audit")],
    role: Annotated[str, typer.Option(help="viewer, operator or admin")] = "viewer",
    tenant: Annotated[str, typer.Option(help="a viewer who sees this tenant's jobs alone")] = "",
    days: Annotated[float, typer.Option(min=0.0001, max=366, help="until it opens nothing any more")] = 90.0,
    out: Annotated[
        Path | None, typer.Option(help="write the token there, mode 0600, not on the screen")
    ] = None,
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
) -> None:
    """Make a token and show it once; the store keeps its hash alone."""
    from easyrider_cli import token_command

    place = _place(run, installation, redis_url, tree)
    raise typer.Exit(token_command.create(place, name, role, tenant, days * 86400.0, out, _console))


@tokens_app.command("list")
def list_(
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
    as_json: Json = False,
) -> None:
    """Every token: whose, which role, until when; never what opens."""
    from easyrider_cli import token_command

    raise typer.Exit(token_command.show(_place(run, installation, redis_url, tree), as_json, _console))


@tokens_app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="id of the token, or its name if one alone has it")],
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
) -> None:
    """Have a token open nothing any more, within 5 s, at every API."""
    from easyrider_cli import token_command

    raise typer.Exit(token_command.revoke(_place(run, installation, redis_url, tree), token, _console))


def _place(run: Path | None, installation: Path | None, redis_url: str | None, tree: str | None) -> "Place":
    from easyrider_cli import token_command

    found: Callable[..., Place] = token_command.place
    return found(run, installation, redis_url, tree)
