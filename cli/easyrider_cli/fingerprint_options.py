"""`easyrider fingerprints` on the command line."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from easyrider_cli.red_button import Json
from easyrider_cli.token_options import Installation, Run, Tree, Url

remembering = typer.Typer()


@remembering.command()
def fingerprints(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="a .json or .jsonl file of fingerprints, or a folder of them; default: the store"
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="only types whose name holds this")] = "",
    plots: Annotated[Path | None, typer.Option(help="draw a picture of each into this folder")] = None,
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
    as_json: Json = False,
) -> None:
    """List what is remembered of types of jobs, and draw it: an iteration, the start, pauses, speed by limit."""
    from easyrider_cli import train_source
    from easyrider_cli.fingerprints_command import show

    show(
        train_source.found(source, run, installation, redis_url, tree), name=name, plots=plots, as_json=as_json,
        said=Console(stderr=True), console=Console(),
    )  # fmt: skip
