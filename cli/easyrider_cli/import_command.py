"""`easyrider import netbox`: a power tree from NetBox's JSON, judged before it is written."""

import json
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from easyrider.errors import BadTree, EasyRiderError
from easyrider.tree_reader import read_document
from easyrider_cli.netbox import imported
from easyrider_policy.core.checks import faults

STAND_IN = "stand-in-until-nodes-are-named"


class NotImported(EasyRiderError):
    """A file could not be read; nothing was written."""


def import_netbox(file: Path, rest: Path | None, tree: str, console: Console) -> int:
    """Exit code: 0 and the document on stdout, remarks on stderr; 2 and every fault on stderr."""
    found = imported(_json(file))
    document: dict[str, Any] = {"tree": {"id": tree, "version": 1}, "classes": {}, "nodes": []}
    if rest is not None:
        document |= _yaml(rest)
    # what NetBox has no field for may stand in the file beside it, by the domain's id
    more = {str(row.get("id")): row for row in document.pop("domains", [])}
    unknown = more.keys() - {domain["id"] for domain in found.domains}
    found.faults += [f"{rest}: domains[{name}] is no domain of NetBox" for name in sorted(unknown)]
    document["domains"] = [domain | more.get(domain["id"], {}) for domain in found.domains]
    judged = found.faults + (_judged(document, whole=rest is not None) if found.domains else [])
    for remark in found.remarks:
        console.print(f"remark: {remark}", highlight=False, markup=False, soft_wrap=True)
    if judged:
        some = "1 fault" if len(judged) == 1 else f"{len(judged)} faults"
        for line in (f"{file}: not imported, {some}", *(f"  {fault}" for fault in dict.fromkeys(judged))):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        return 2
    print(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), end="")
    return 0


def _judged(document: dict[str, Any], *, whole: bool) -> list[str]:
    """Every fault of the document; where no nodes were given yet, of its domains alone."""
    if not whole:
        node = {
            "id": STAND_IN,
            "domain": document["domains"][0]["id"],
            "class": STAND_IN,
            "fallback_w_per_gpu": 1.0,
        }
        document = document | {
            "classes": {STAND_IN: {"overhead_w": 0.0, "overhead_slope": 1.0}},
            "nodes": [node],
        }
    try:
        return faults(read_document(document, "NetBox"))
    except BadTree as fault:
        return fault.faults


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise NotImported(f"{file}: {fault}; expected JSON with power-panels and power-feeds") from fault


def _yaml(file: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as fault:
        raise NotImported(f"{file}: {' '.join(str(fault).split())}") from fault
    if not isinstance(found, dict):
        raise NotImported(f"{file}: holds no map of classes, nodes and modes")
    return found
