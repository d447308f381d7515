"""The catalogue is what the code says, and the code's permissions are what the protocol says."""

from pathlib import Path

import pytest

from easyrider import catalogue, subjects
from easyrider.channels import CHANNELS
from easyrider.messages import ALL
from easyrider.permissions import ROLES, Place, User, grants

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", list(catalogue.documents()))
def test_the_catalogue_in_the_repository_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text() == catalogue.documents()[name], "run: make docs"


def test_every_kind_of_subject_and_every_message_is_in_the_catalogue() -> None:
    assert {channel.kind for channel in CHANNELS} == set(subjects.KINDS)
    assert {kind for channel in CHANNELS for kind in channel.types} == set(ALL)


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = catalogue.asyncapi()

    def check(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                found: object = document
                for step in reference.removeprefix("#/").split("/"):
                    assert isinstance(found, dict)
                    assert step in found, reference
                    found = found[step]
            for part in value.values():
                check(part)
        elif isinstance(value, list):
            for part in value:
                check(part)

    check(document)


def test_only_the_policy_may_say_commands_and_only_their_node_and_the_recorder_hear_them() -> None:
    (command,) = (channel for channel in CHANNELS if channel.kind == "command")

    assert command.said_by == ("policy",)
    assert command.heard_by == ("actuator", "recorder")


@pytest.mark.parametrize(
    ("kind", "said", "heard"),
    [
        ("frame", {"telemetry"}, {"forecaster", "policy"}),
        ("phase", {"telemetry"}, {"forecaster", "policy"}),
        ("job", {"telemetry"}, {"forecaster", "policy"}),
        ("state", {"actuator"}, {"policy"}),
        ("ack", {"actuator"}, {"forecaster", "policy"}),
        ("meter", {"infra-bridge"}, {"forecaster", "policy"}),
        ("forecast", {"forecaster"}, {"policy"}),
        ("plan", {"policy"}, {"forecaster", "policy", "api"}),
        ("budget", {"policy"}, {"policy"}),
        ("demand", {"policy"}, {"policy"}),
        ("ask", {"api"}, {"policy"}),
    ],
)
def test_each_subject_is_said_and_heard_by_whom_it_is_for(kind: str, said: set[str], heard: set[str]) -> None:
    watchers = {"ledger", "dashboard", "integration", "recorder"}
    (channel,) = (channel for channel in CHANNELS if channel.kind == kind)

    assert set(channel.said_by) == said
    assert set(channel.heard_by) - watchers == heard
    assert watchers <= set(channel.heard_by)


@pytest.mark.parametrize("role", ROLES)
def test_nobody_hears_an_inbox_but_its_own(role: str) -> None:
    allowed = grants(User("name", role, "U", Place("r1", "n1")))

    inboxes = [pattern for pattern in allowed.subscribe if pattern.startswith(("_INBOX", ">", "*", "$"))]

    assert inboxes == ["_INBOX_name.>"]


@pytest.mark.parametrize("role", ["telemetry", "actuator"])
def test_a_node_speaks_for_itself_alone(role: str) -> None:
    allowed = grants(User("name", role, "U", Place("r1", "n1")))

    for pattern in (*allowed.publish, *allowed.subscribe):
        for kind in ("frame", "state", "ack", "phase", "command"):
            assert not subjects.covers(pattern, f"easyrider.v1.{kind}.r1.n2")
            assert not subjects.covers(pattern, f"easyrider.v1.{kind}.r2.n1")
