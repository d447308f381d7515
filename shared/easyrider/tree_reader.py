"""The rules document read whole: YAML or JSON to `Rules`, every fault named at once.

Converted field by field and row by row, so that one fault does not hide the next.
"""

import hashlib
import json
from typing import Any

import yaml

from easyrider.errors import BadTree
from easyrider.records import Faults, read_record, write_record
from easyrider.tree import Rules
from easyrider.tree_checks import check
from easyrider.trip_presets import with_points


def read(text: str, source: str) -> Rules:
    """The rules in `text`. Raises one `BadTree` with every fault: spelling, types, ranges, dangling names."""
    return read_document(_parsed(text, source), source)


def read_document(document: Any, source: str) -> Rules:
    """The rules in a document that was parsed already. Raises `BadTree` with every fault."""
    faults = Faults()
    if not isinstance(document, dict):
        raise BadTree(source, ["the document is no map"])
    flat = _flat(document, faults)
    rules = read_record(Rules, flat, "", faults)
    # a document with faults is checked as far as it can be read, so that all are told at once
    whole = rules or read_record(
        Rules, {"id": "unread", "version": 1, **_readable(flat)}, "", Faults(), partly=True
    )
    if whole is not None:
        nodes = flat.get("nodes")
        node_count = len(nodes) if isinstance(nodes, list) else -1
        check(whole, faults, _names(flat, "domains"), set(_map(flat.get("classes"))), node_count)
    if faults or rules is None:
        raise BadTree(source, [_in_the_document(fault) for fault in faults])
    return with_points(rules)


def to_document(rules: Rules) -> dict[str, Any]:
    """The document that `read` would turn into these rules; defaults are written out."""
    flat = write_record(rules)
    return {"tree": {"id": flat.pop("id"), "version": flat.pop("version")}, **flat}


def dump(rules: Rules) -> bytes:
    """The document as JSON."""
    return json.dumps(to_document(rules), allow_nan=False, indent=1).encode()


def digest(document: bytes) -> str:
    """What tells two documents of one version apart; of what `dump` wrote of rules that were read."""
    return hashlib.sha256(document).hexdigest()


def _parsed(text: str, source: str) -> Any:
    """JSON as JSON: as YAML, which it nearly is, 1e22 is a text, a pair of surrogates is two, and it takes long."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (json.JSONDecodeError, RecursionError):
        pass  # YAML, or neither: the other reader says what is wrong with it
    except ValueError as fault:  # a whole number of thousands of digits
        raise BadTree(source, [str(fault)]) from fault
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        raise BadTree(source, [" ".join(str(fault).split())]) from fault


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


class _Twice(ValueError):
    """A key stands twice in one map."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {key!r} stands twice")


def _flat(document: dict[Any, Any], faults: Faults) -> dict[Any, Any]:
    """`tree: {id, version}` is written apart and belongs to the record."""
    flat = {key: value for key, value in document.items() if key != "tree"}
    head = document.get("tree")
    if not isinstance(head, dict):
        faults.add("tree", "is missing or no map (tree: {id, version})")
        head = {}
    for key in flat.keys() & {"id", "version"}:
        faults.add(str(key), "is not a key here (tree: {id, version})")
        del flat[key]
    for key, value in head.items():
        if key in ("id", "version"):
            flat[key] = value
        else:
            faults.add(f"tree.{key}", "is not a key here (id, version)")
    return flat


def _in_the_document(fault: str) -> str:
    """Id and version stand under `tree` there."""
    return f"tree.{fault}" if fault.startswith(("id ", "version ")) else fault


def _readable(flat: dict[Any, Any]) -> dict[Any, Any]:
    """The sections alone, each empty where it is missing."""
    return {"domains": [], "classes": {}, "nodes": []} | {
        key: value for key, value in flat.items() if key not in ("id", "version")
    }


def _names(flat: dict[Any, Any], section: str) -> set[str]:
    rows = flat.get(section)
    ids = [_map(row).get("id") for row in rows] if isinstance(rows, list) else []
    return {name for name in ids if isinstance(name, str)}


def _map(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is no text", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return dict(super().construct_mapping(node, deep=deep))


# A moment stays the text that was written, quoted or not: what it means is checked with the rest.
def _as_written(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_written)


def _whole(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    return _as_written(loader, node) if ":" in node.value else loader.construct_yaml_int(node)


def _decimal(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    return _as_written(loader, node) if ":" in node.value else loader.construct_yaml_float(node)


# To YAML 1.1 3:20 is a number to the base of sixty; whoever types it meant something else than 200.
_Loader.add_constructor("tag:yaml.org,2002:int", _whole)
_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)
