"""JSON documents for machines."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document, whole or not at all."""
    half = path.with_name(path.name + ".half")
    half.write_text(json.dumps(document, indent=1) + "\n")
    half.replace(path)
