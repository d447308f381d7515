"""`easyrider init`: everything an installation needs that is not software, safe as it is written."""

import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from easyrider import certificates
from easyrider_cli import init_material
from easyrider_cli.init_folder import SITE_FILE, NoSite, SiteFolder, refuse_what_is_there, services_group
from easyrider_cli.init_hosts import fit_hosts
from easyrider_cli.init_renewals import BRING_AND_READ, certificates_anew, seeds_anew, seeds_retired
from easyrider_cli.init_site import (
    BadSite,
    Site,
    own_buses,
    read_rules,
    refuse_removal,
    scopes_of,
    scopes_of_rules,
    told_by_rules,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What stands on the command line."""

    folder: Path
    nodes: str | None
    rules_file: Path | None
    region: str
    tree: str | None
    hosts: list[str]
    nats_host: str | None
    redis_host: str | None
    api_host: str | None
    buses: list[str]
    listen: str
    nats_port: int
    link_port: int
    redis_port: int
    api_port: int
    monitor_port: int
    at: str | None
    data: str
    client_certificates: bool
    days: int
    peer_uid: int


def init(
    asked: Asked,
    *,
    add: bool,
    rotate: bool,
    as_json: bool,
    remove_nodes: bool = False,
    rotate_seeds: bool = False,
    retire_seeds: bool = False,
) -> int:
    """Exit code. Raises `AlreadyThere`, `NoSite`, `BadSite`; then nothing was written."""
    group = services_group()
    if remove_nodes and not add:
        raise BadSite(["--remove-nodes goes with --add, which says the nodes that stay"])
    asked_for = ((rotate, certificates_anew), (rotate_seeds, seeds_anew), (retire_seeds, seeds_retired))
    if renewals := [renewal for said, renewal in asked_for if said]:
        if len(renewals) > 1 or add or asked.nodes is not None or asked.rules_file is not None:
            raise BadSite(
                [
                    "--rotate, --rotate-seeds and --retire-seeds renew what is there, one at a time; nodes and rules "
                    "go with --add, afterwards"
                ]
            )
        site = _known(asked.folder)
        done, after = renewals[0](SiteFolder(asked.folder, group), site)
    elif add:
        before = _known(asked.folder)
        site, rules = _site(asked, before)
        if not remove_nodes:
            refuse_removal(before, site)
        init_material.write_all(SiteFolder(asked.folder, group), site, rules, certificates.today())
        done, after = "brought in line", BRING_AND_READ
    else:
        refuse_what_is_there(asked.folder)
        site, rules = _site(asked, None)
        _write_new(asked.folder, site, rules, group)
        done, after = "written", _after_first(asked.folder)
    _tell(asked.folder, site, done, after, as_json)
    return 0


def _write_new(folder: Path, site: Site, rules: str | None, group: int) -> None:
    """Whole or not at all: made beside it, and renamed."""
    half = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        os.chown(half, -1, group)
        half.chmod(0o750)
        init_material.write_all(SiteFolder(half, group), site, rules, certificates.today())
        half.replace(folder)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise


def _site(asked: Asked, before: Site | None) -> tuple[Site, str | None]:
    if asked.nodes is not None and asked.rules_file is not None:
        raise BadSite(["--nodes and --tree both name nodes: one of them"])
    rules = None if asked.rules_file is None else read_rules(asked.rules_file)
    if rules is not None:
        scopes = scopes_of_rules(rules, asked.region)
    elif asked.nodes is None and before is not None:
        scopes = before.scopes
    else:
        scopes = scopes_of(
            [name.strip() for name in (asked.nodes or "").split(",") if name.strip()], asked.region
        )
    told = told_by_rules(rules)
    if before is not None:
        if rules is None:
            told = {name: getattr(before, name) for name in told}
        changed = msgspec.structs.replace(before, scopes=scopes, **told)
        return changed, None if asked.rules_file is None else asked.rules_file.read_text()
    first = asked.hosts[0] if asked.hosts else "localhost"
    buses = own_buses(asked.buses, scopes)
    fit_hosts(
        {
            "--host": asked.hosts,
            "--nats-host": [asked.nats_host],
            "--redis-host": [asked.redis_host],
            "--api-host": [asked.api_host],
            "--bus-of": buses.values(),
            "--listen": [asked.listen],
        }
    )
    site = Site(
        tree=asked.tree or (rules.id if rules is not None else "site"),
        scopes=scopes,
        nats_host=asked.nats_host or first,
        redis_host=asked.redis_host or first,
        api_host=asked.api_host or first,
        hosts=tuple(asked.hosts),
        buses=buses,
        listen=asked.listen,
        nats_port=asked.nats_port,
        link_port=asked.link_port,
        redis_port=asked.redis_port,
        api_port=asked.api_port,
        monitor_port=asked.monitor_port,
        at=asked.at or str(asked.folder.resolve()),
        data=asked.data.rstrip("/"),
        client_certificates=asked.client_certificates,
        days=asked.days,
        peer_uid=asked.peer_uid,
        **told,
    )
    if rules is not None and site.tree != rules.id:
        raise BadSite([f"--tree-id {site.tree} is not the id of the rules document, {rules.id}"])
    return site, None if asked.rules_file is None else asked.rules_file.read_text()


def _known(folder: Path) -> Site:
    try:
        return msgspec.json.decode((folder / SITE_FILE).read_bytes(), type=Site)
    except FileNotFoundError as fault:
        raise NoSite(folder, f"{SITE_FILE} is missing") from fault
    except msgspec.DecodeError as fault:
        raise NoSite(folder, f"{SITE_FILE} makes no sense ({fault})") from fault


def _after_first(folder: Path) -> str:
    return (
        f"next: nats-server -c {folder}/nats/nats.conf, redis-server {folder}/redis/redis.conf, then each service "
        "with the settings in its folder"
    )


def _tell(folder: Path, site: Site, done: str, after: str, as_json: bool) -> None:
    files = [file for file in init_material.certificate_files(folder) if file.exists()]
    ends = min(certificates.expires(file.read_bytes()) for file in files)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if as_json:
        report = {
            "folder": str(folder),
            "done": done,
            "tree": site.tree,
            "regions": [scope.region for scope in site.scopes],
            "nodes": site.nodes,
            "folders": names,
            "certificates_end": ends.isoformat(),
            "admin_token_file": str(folder / init_material.ADMIN / init_material.TOKEN_FILE),
            "next": after,
        }
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
        return
    lines = [
        f"{folder}: {done}, {len(names)} folders; certificates end on {ends:%Y-%m-%d}",
        f"the first administrator's token is in {folder}/{init_material.ADMIN}/{init_material.TOKEN_FILE}",
        after,
    ]
    console = Console(stderr=True)
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
