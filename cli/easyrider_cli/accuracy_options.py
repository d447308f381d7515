"""`easyrider accuracy` on the command line."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from easyrider_cli.red_button import Json
from easyrider_cli.token_options import Installation, Run, Tree, Url

judging = typer.Typer()


@judging.command()
def accuracy(
    job: Annotated[str | None, typer.Argument(help="one job, told whole; default: a line for each")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="draw what was said of the job beside what came into this PNG")
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="of a job that crosses regions; default: the newest")
    ] = None,
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
    as_json: Json = False,
) -> None:
    """Say how right the forecasts of each job were: its error, its bounds, the rises it foretold."""
    from easyrider_cli import accuracy_command

    accuracy_command.show(
        accuracy_command.kept(run, installation, redis_url, tree), job=job, region=region, plot=plot, as_json=as_json,
        said=Console(stderr=True), console=Console(),
    )  # fmt: skip
