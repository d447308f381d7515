"""The options of `easyrider init`; what it does is imported when it is asked for."""

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[str | None, typer.Option(help="default: the first --host")]
Port = Annotated[int, typer.Option(min=1, max=65535)]


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="folder to write; not there yet, or empty")],
    nodes: Annotated[str | None, typer.Option(help="names of the nodes, by commas")] = None,
    tree: Annotated[
        Path | None, typer.Option(help="rules document: names nodes, regions, fallbacks, leases")
    ] = None,
    region: Annotated[str, typer.Option(help="region, where the rules name none")] = "local",
    tree_id: Annotated[
        str | None, typer.Option(help="id of the tree; default: the rules', else site")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option(help="name or address of the machine with the servers; several may be")
    ] = None,
    nats_host: Name = None,
    redis_host: Name = None,
    api_host: Name = None,
    bus_of: Annotated[
        list[str] | None,
        typer.Option(metavar="REGION=HOST", help="this region has a bus of its own, linked to the top's"),
    ] = None,
    listen: Annotated[str, typer.Option(help="address on which both servers listen")] = "0.0.0.0",
    nats_port: Port = 4222,
    link_port: Annotated[int, typer.Option(min=1, max=65535, help="linked buses come in there")] = 7422,
    redis_port: Port = 6379,
    api_port: Port = 8480,
    monitor_port: Annotated[
        int, typer.Option(min=1, max=65535, help="the bus tells its health there")
    ] = 8222,
    at: Annotated[
        str | None, typer.Option(help="where DIR will lie for those who use it; default: DIR")
    ] = None,
    data: Annotated[
        str, typer.Option(help="folder of the servers' and services' data")
    ] = "/var/lib/easyrider",
    client_certificates: Annotated[
        bool, typer.Option(help="servers ask clients for a certificate, beside key and password")
    ] = True,
    days: Annotated[int, typer.Option(min=1, max=3650, help="how long certificates last")] = 397,
    peer_uid: Annotated[int, typer.Option(min=0, help="user of the actuators")] = 10001,
    add: Annotated[bool, typer.Option("--add", help="bring DIR in line with these nodes or rules")] = False,
    remove_nodes: Annotated[
        bool, typer.Option("--remove-nodes", help="with --add: a node not named any more loses bus and store")
    ] = False,
    rotate: Annotated[bool, typer.Option("--rotate", help="renew every certificate in DIR")] = False,
    rotate_seeds: Annotated[
        bool,
        typer.Option(
            "--rotate-seeds", help="renew every key of the bus and password of the store; both open"
        ),
    ] = False,
    retire_seeds: Annotated[
        bool, typer.Option("--retire-seeds", help="end that: the former ones open nothing any more")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="tell what was written as JSON")] = False,
) -> None:
    """Write keys, certificates, server configuration and settings of an installation, a folder a service."""
    from easyrider_cli.init_command import Asked
    from easyrider_cli.init_command import init as written

    asked = Asked(
        folder=folder,
        nodes=nodes,
        rules_file=tree,
        region=region,
        tree=tree_id,
        hosts=host or [],
        nats_host=nats_host,
        redis_host=redis_host,
        api_host=api_host,
        buses=bus_of or [],
        listen=listen,
        nats_port=nats_port,
        link_port=link_port,
        redis_port=redis_port,
        api_port=api_port,
        monitor_port=monitor_port,
        at=at,
        data=data,
        client_certificates=client_certificates,
        days=days,
        peer_uid=peer_uid,
    )
    raise typer.Exit(
        written(
            asked, add=add, rotate=rotate, as_json=as_json, remove_nodes=remove_nodes, rotate_seeds=rotate_seeds,
            retire_seeds=retire_seeds,
        )
    )  # fmt: skip
