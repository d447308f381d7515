"""Integration events as CloudEvents 1.0 in JSON, because people read them."""

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from easyrider import event_data, event_kinds
from easyrider.errors import NotAMap, NotFinite, Oversize, WrongField

LIMIT = 64 * 1024
"""Bytes that an event may have where we read it."""
_PREFIX = "easyrider."


def encode(kind: str, data: dict[str, Any], *, source: str, subject: str) -> tuple[str, bytes]:
    """The event's id and its JSON. Raises `NotFinite` where `data` holds NaN or infinity."""
    identity = str(uuid.uuid4())
    event = {
        "specversion": "1.0",
        "id": identity,
        "type": _PREFIX + kind,
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


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it was heard: its kind, the region it is about, who says it, and its data as a record."""

    kind: str
    region: str
    source: str
    data: event_data.Data


def decode(body: bytes) -> Event:
    """The event in these bytes. Raises `Oversize`, `NotAMap` or `WrongField`, and `EventMisfit` for unknown data."""
    if len(body) > LIMIT:
        raise Oversize(len(body), LIMIT)
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise NotAMap(f"no JSON: {fault}") from fault
    if not isinstance(told, dict):
        raise NotAMap(f"a {type(told).__name__} where one object is expected")
    words = [told.get(name) for name in ("specversion", "type", "source", "subject")]
    if not all(isinstance(word, str) for word in words) or words[0] != "1.0":
        raise WrongField("no CloudEvent 1.0: specversion, type, source and subject are needed")
    _version, kind, source, region = map(str, words)
    data = told.get("data")
    if not kind.startswith(_PREFIX) or not isinstance(data, dict):
        raise WrongField(f"type {kind[:64]!r} with data of type {type(data).__name__} is none of ours")
    kind = kind.removeprefix(_PREFIX)
    return Event(kind, region, source, event_kinds.check(kind, data))
