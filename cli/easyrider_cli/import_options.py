"""`easyrider import`: the command line of it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import_app = typer.Typer(no_args_is_help=True, help="A power tree from another system.")


@import_app.callback()
def of_another_system() -> None:
    """A power tree from another system."""


@import_app.command()
def netbox(
    file: Annotated[Path, typer.Argument(help="JSON of NetBox's power-panels and power-feeds")],
    rest: Annotated[
        Path | None,
        typer.Option("--with", help="YAML of classes, nodes, modes and what else NetBox does not know"),
    ] = None,
    tree: Annotated[str, typer.Option(help="id of the tree, where --with names none")] = "site",
) -> None:
    """Write the rules document of NetBox's power tree to stdout, or every fault to stderr."""
    from easyrider_cli.import_command import import_netbox

    raise typer.Exit(import_netbox(file, rest, tree, Console(stderr=True)))
