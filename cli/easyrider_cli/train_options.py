"""`easyrider train` and `easyrider estimate` on the command line."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from easyrider_cli.red_button import Authority, Json, Token
from easyrider_cli.token_options import Installation, Run, Tree, Url

training = typer.Typer()


@training.command()
def train(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="a .json or .jsonl file of fingerprints, or a folder of them; default: the store"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="model file; its card and picture are put beside it")] = Path(
        "estimator.json"
    ),
    note: Annotated[
        str, typer.Option(help="what is to be known of these jobs, such as that they are synthetic")
    ] = "",
    export: Annotated[
        Path | None, typer.Option(help="also write the fingerprints that were read here, one a line")
    ] = None,
    run: Run = None,
    installation: Installation = None,
    redis_url: Url = None,
    tree: Tree = None,
    as_json: Json = False,
) -> None:
    """Learn what jobs draw before they start, from what is remembered of those that ran."""
    from easyrider_cli import train_source
    from easyrider_cli.train_command import trained
    from easyrider_cli.train_outputs import outputs

    trained(
        lambda: train_source.found(source, run, installation, redis_url, tree), outputs(out, export, source),
        note=note, as_json=as_json, said=Console(stderr=True), console=Console(),
    )  # fmt: skip


@training.command()
def estimate(
    gpu_model: Annotated[str, typer.Option(help="as its driver names it")],
    gpu_count: Annotated[int, typer.Option(min=1, max=1_000_000, help="GPUs of the job in all")],
    name: Annotated[str, typer.Option(help="of the job, as it will say it")] = "",
    image: Annotated[str, typer.Option(help="its container's")] = "",
    configuration: Annotated[str, typer.Option(help='its settings by comma: "batch=32,precision=bf16"')] = "",
    gpu_max_w: Annotated[
        float | None, typer.Option(help="nameplate of one GPU; default: as it is known")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="model file of `easyrider train`, instead of an API")
    ] = None,
    api: Annotated[
        str | None, typer.Option("--api", help="address of an admin API, which asks its own model")
    ] = None,
    token_file: Token = None,
    ca_file: Authority = None,
    as_json: Json = False,
) -> None:
    """Say what a job will draw before it starts: mean, 0.99 quantile and start, with intervals, or its nameplate."""
    from easyrider_cli import estimate_command
    from easyrider_cli.apart import apart, beside
    from easyrider_cli.api_door import ApiDoor, BadApi

    asked: dict[str, Any] = {
        "name": name, "image": image, "configuration": configuration, "gpu_model": gpu_model,
        "gpu_count": gpu_count, "gpu_max_w": gpu_max_w,
    }  # fmt: skip
    apart(("--model", model), api=api, token_file=token_file, ca_file=ca_file)
    beside(("--token-file", token_file), ("--api", api))
    beside(("--ca-file", ca_file), ("--api", api))
    estimate_command.asked_type(asked)
    if model is not None:
        told = estimate_command.by_file(model, asked)
    elif api is None:
        raise BadApi("name a model file, --model FILE, or an admin API, --api URL --token-file FILE")
    elif token_file is None:
        raise BadApi("--api needs a token that may read: --token-file FILE")
    else:
        told = ApiDoor(api, token_file, ca_file).estimate(asked)
    estimate_command.show(told, as_json, Console())
