"""`easyrider status` and `easyrider explain gpu|job|domain ID` on the command line."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from easyrider_cli.red_button import Api, Authority, Json, Run, Token, open_door

explaining = typer.Typer()


class What(StrEnum):
    """What is to be explained."""

    GPU, JOB, DOMAIN = "gpu", "job", "domain"


@explaining.command()
def explain(
    what: Annotated[What, typer.Argument()],
    name: Annotated[str, typer.Argument(metavar="ID", help="a GPU's UUID, a job's or a domain's id")],
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """Say which limit binds a GPU, job or domain, what it costs, and what would free it."""
    from easyrider_cli import explain_command

    with open_door(api, token_file, ca_file, run) as door:
        told = door.explain(what.value, name)
    explain_command.show(what.value, told, as_json, Console())


@explaining.command()
def status(
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """Who leads, in which modes, what each domain draws of what it may, what is silent and what is held."""
    from easyrider_cli import status_command

    with open_door(api, token_file, ca_file, run) as door:
        told = status_command.status(door)
    raise typer.Exit(status_command.show(told, as_json, Console()))
