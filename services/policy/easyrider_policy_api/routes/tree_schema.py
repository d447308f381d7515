"""The rules document as JSON schema, from the records that read it."""

import dataclasses
from typing import Any

from pydantic import TypeAdapter

from easyrider.records import KEYS
from easyrider.tree import Rules

EXAMPLE: dict[str, Any] = {
    "tree": {"id": "site", "version": 7},
    "domains": [
        {"id": "feed", "kind": "feed", "rating_w": 40000.0},
        {"id": "rack-1", "kind": "pdu", "parent": "feed", "rating_w": 17300.0, "target_share": 0.9},
    ],
    "classes": {
        "hgx": {
            "overhead_w": 1600.0,
            "overhead_slope": 1.23,
            "gpu_min_w": 200.0,
            "gpu_max_w": 700.0,
            "gpu_count": 8,
        }
    },
    "nodes": [{"id": "node-1", "domain": "rack-1", "class": "hgx", "fallback_w_per_gpu": 300.0}],
    "modes": [{"selector": {"rack": ["rack-1"]}, "mode": "shadow", "reason": "first week"}],
}


def _schema() -> dict[str, Any]:
    """`Rules` as its document says it: id and version under `tree`, `class` for what Python keeps for itself."""
    found: dict[str, Any] = TypeAdapter(Rules).json_schema(ref_template="#/components/schemas/{model}")
    parts = found.pop("$defs")
    for part in (found, *parts.values()):
        part["additionalProperties"] = False
        for name, told in KEYS.items():
            if name in part.get("properties", {}):
                part["properties"] = {
                    told if key == name else key: v for key, v in part["properties"].items()
                }
                part["required"] = [told if key == name else key for key in part.get("required", [])]
    head = {key: found["properties"].pop(key) for key in ("id", "version")}
    found["properties"] = {
        "tree": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "version"],
            "properties": head,
        },
        **found["properties"],
    }
    found["required"] = ["tree", *(key for key in found["required"] if key not in head)]
    found["title"] = "RulesDocument"
    return {"RulesDocument": found, **parts}


assert dataclasses.is_dataclass(Rules)
COMPONENTS = _schema()
"""Schemas by name, for the components of the OpenAPI document."""
DOCUMENT = {"$ref": "#/components/schemas/RulesDocument"}
