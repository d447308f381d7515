"""Every kind of event: named where its subject allows it, said by who may, and written as the code says it."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import ValidationError
from stream_reader import promised

from easyrider import cloudevents, event_catalogue, event_kinds, subjects
from easyrider.event_kinds import KINDS, EventMisfit
from easyrider.permissions import ROLES, Place

ROOT = Path(__file__).parents[2]
SAID = re.compile(r'(?:publish_event|self\._?say|Tiding)\(\s*"([a-z_]+)"')


@pytest.mark.parametrize("name", KINDS)
def test_whoever_says_a_kind_may_say_it(name: str) -> None:
    allowed = ROLES[KINDS[name].said_by](Place("r1", "n1")).publish

    assert any(subjects.covers(pattern, subjects.event(name, "r1")) for pattern in allowed)


@pytest.mark.parametrize("role", ["telemetry", "actuator", "infra-bridge", "api"])
def test_a_role_that_may_say_few_kinds_finds_them_in_the_catalogue(role: str) -> None:
    prefix = subjects.events().removesuffix(">")
    granted = {
        pattern.removeprefix(prefix).split(".")[0]
        for pattern in ROLES[role](Place("r1", "n1")).publish
        if pattern.startswith(prefix)
    }

    assert granted == {kind.name for kind in KINDS.values() if kind.said_by == role}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_stands_in_the_code_of_the_service_that_says_it(name: str) -> None:
    owner = {"api": "policy"}.get(KINDS[name].said_by, KINDS[name].said_by)

    said = [
        file.name for file in (ROOT / "services" / owner).rglob("*.py") if f'"{name}"' in file.read_text()
    ]

    assert said != []


def test_no_service_says_a_kind_that_is_not_in_the_catalogue() -> None:
    said = {kind for file in (ROOT / "services").rglob("*.py") for kind in SAID.findall(file.read_text())}

    assert said
    assert said <= KINDS.keys()


def test_an_unknown_kind_and_an_unknown_field_are_named() -> None:
    with pytest.raises(EventMisfit, match="no such kind"):
        event_kinds.check("surprise", {})
    with pytest.raises(EventMisfit, match="colour"):
        event_kinds.check("xid", {"node": "n1", "gpu": "GPU-1", "xid": 79, "colour": "red"})


def test_an_event_is_a_cloudevent_by_the_letter() -> None:
    identity, body = cloudevents.encode(
        "xid", {"node": "n1", "gpu": "GPU-1", "xid": 79}, source="telemetry/n1", subject="r1"
    )
    event = json.loads(body)

    assert event["id"] == identity
    assert set(event_catalogue.schemas()["CloudEvent"]["required"]) == set(event)
    assert all(re.fullmatch(r"[a-z0-9]{1,20}", name) for name in event)


@pytest.mark.parametrize("name", KINDS)
def test_the_document_for_programs_holds_a_schema_that_refuses_what_is_no_such_event(name: str) -> None:
    _id, body = cloudevents.encode(name, {"surprise": True}, source="somebody", subject="r1")
    schema = promised(name)

    schema.check_schema(schema.schema)
    with pytest.raises(ValidationError):
        schema.validate(json.loads(body))


def test_the_document_for_programs_takes_an_event_with_a_field_of_tomorrow() -> None:
    data = {"node": "n1", "gpu": "GPU-1", "xid": 79, "tomorrow": "more"}
    _id, body = cloudevents.encode("xid", data, source="telemetry/n1", subject="r1")

    promised("xid").validate(json.loads(body))
