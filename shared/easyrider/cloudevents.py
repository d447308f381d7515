"""Integration events as CloudEvents 1.0 in JSON, because people read them."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from easyrider.errors import NotFinite


def encode(kind: str, data: dict[str, Any], *, source: str, subject: str) -> tuple[str, bytes]:
    """The event's id and its JSON. Raises `NotFinite` where `data` holds NaN or infinity."""
    identity = str(uuid.uuid4())
    event = {
        "specversion": "1.0",
        "id": identity,
        "type": f"easyrider.{kind}",
        "source": source,
        "subject": subject,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": data,
    }
    try:
        return identity, json.dumps(event, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as fault:
        raise NotFinite(f"event {kind}: {fault}") from fault
