"""What a stranger reads from the stream: plain nats-py with the key of an integration, from the first event on."""

import asyncio
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats
from jsonschema import Draft202012Validator

PATTERN, STREAM = "easyrider.v1.event.>", "EVENTS"


def kept(url: str, seed: Path | None) -> list[tuple[str, dict[str, Any]]]:
    """(subject, event) of every event that the stream holds now; empty while there is no stream."""
    return asyncio.run(_kept(url, seed))


async def _kept(url: str, seed: Path | None) -> list[tuple[str, dict[str, Any]]]:
    given = {} if seed is None else {"nkeys_seed": str(seed), "inbox_prefix": "_INBOX_integration"}
    bus = await nats.connect(url, **given)  # type: ignore[arg-type]
    try:
        stream = bus.jetstream()
        count = (await stream.stream_info(STREAM)).state.messages
        found: list[tuple[str, dict[str, Any]]] = []
        hearing = await stream.subscribe(PATTERN, ordered_consumer=True)
        while len(found) < count:
            message = await hearing.next_msg(timeout=5.0)
            found.append((message.subject, json.loads(message.data)))
        return found
    finally:
        await bus.close()


def promised(kind: str) -> Draft202012Validator:
    """What the document for programs promises of the events of a kind."""
    document = json.loads((Path(__file__).parents[2] / "docs" / "asyncapi.json").read_text())
    (name,) = (
        name for name, told in document["components"]["messages"].items()
        if told["name"] == kind and told.get("contentType") == "application/cloudevents+json"
    )  # fmt: skip
    return Draft202012Validator(
        {"$ref": f"#/components/messages/{name}/payload", "components": document["components"]},
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def assert_cloudevent(subject: str, event: dict[str, Any], seen: set[str]) -> None:
    """The rules of CloudEvents 1.0 that a receiver relies on, by the letter of its specification."""
    kind, region = subject.split(".")[3:]
    assert event["specversion"] == "1.0"
    assert event["type"] == f"easyrider.{kind}"
    assert event["subject"] == region
    assert event["datacontenttype"] == "application/json"
    assert event["id"]
    assert (event["source"], event["id"]) not in seen, "source and id together name one event"
    seen.add((event["source"], event["id"]))  # type: ignore[arg-type]
    assert urlsplit(event["source"]).path == event["source"], "a URI reference"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
    datetime.fromisoformat(event["time"])
    assert all(re.fullmatch(r"[a-z0-9]{1,20}", name) for name in event), "names of attributes"
    assert isinstance(event["data"], dict)
