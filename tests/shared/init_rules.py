"""A small hall as its rules tell it, and what `easyrider init` makes of it."""

from pathlib import Path
from typing import Any

import yaml
from installed_site import write_site

RULES: dict[str, Any] = {
    "tree": {"id": "hall", "version": 1},
    "domains": [
        {
            "id": "pdu", "kind": "pdu", "rating_w": 30000, "unmanaged_max_w": 0,
            "curve": [{"multiple": 1.3, "time_s": 600}, {"multiple": 2.0, "time_s": 60}],
        }
    ],
    "classes": {
        "h": {"overhead_w": 1600, "overhead_slope": 1.23, "gpu_min_w": 200, "gpu_max_w": 700, "gpu_count": 8}
    },
    "nodes": [
        {"id": "a1", "domain": "pdu", "class": "h", "fallback_w_per_gpu": 250},
        {"id": "a2", "domain": "pdu", "class": "h", "fallback_w_per_gpu": 300},
    ],
    "leases": {"dead_man_s": 8.0, "second_stage_s": 45.0},
}  # fmt: skip


def write_rules(folder: Path, document: dict[str, Any] = RULES) -> Path:
    """The rules as a file."""
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def site_with_rules(folder: Path) -> Path:
    """An installation of the hall."""
    return write_site(folder / "site", nodes=None, rules_file=write_rules(folder), tree=None)


def everything(folder: Path) -> dict[str, bytes]:
    """Every file of an installation by its path in it."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
