"""`easyrider trust` on the command line."""

import typer
from rich.console import Console

from easyrider_cli.red_button import Api, Authority, Json, Run, Token, open_door

trusting = typer.Typer()


@trusting.command()
def trust(
    api: Api = None,
    token_file: Token = None,
    ca_file: Authority = None,
    run: Run = None,
    as_json: Json = False,
) -> None:
    """Show how far each scope has come from observe to enforce, and what the next mode asks for."""
    from easyrider_cli import trust_command

    with open_door(api, token_file, ca_file, run) as door:
        told = door.trust()
    trust_command.show(told, as_json, Console())
