"""Services of neighbouring versions beside each other for as long as an upgrade lasts: who reads is upgraded first."""

from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from messages_strategy import any_message, any_record

from easyrider import wire
from easyrider.catalogue import _records
from easyrider.channels import CHANNELS
from easyrider.errors import DuplicateKey, WrongField
from easyrider.messages import ALL, JobEvent, Message, Plan

ROOT = Path(__file__).parents[2]
ORDER = ("recorder", "api", "policy", "forecaster", "infra-bridge", "telemetry", "actuator")
"""Upgraded one after the other; the two of a node together."""
NAMES = ("recorder", "admin API", "coordinators", "forecaster", "infra-bridge", "nodes")

FIRST: dict[str, tuple[int, tuple[str, ...]]] = {
    "NodeFrame": (35, ()), "NodeState": (13, ()), "GpuState": (10, ()), "PhaseMark": (9, ()), "JobEvent": (13, ()),
    "MeterReading": (11, (
        "power_w", "current_a", "voltage_v", "frequency_hz", "load_pct", "temperature_c", "battery_pct",
        "modules_total", "modules_ok", "on_battery", "suspect",
    )),
    "PowerForecast": (6, ()), "SeriesForecast": (11, ()), "HorizonForecast": (5, ()), "Plan": (19, ()),
    "DomainPlan": (11, ()), "JobPlan": (9, ()), "TargetPlan": (8, ()), "RegionPlan": (8, ("waits_for",)),
    "DemandPlan": (12, ()), "SetLimits": (8, ("sig",)), "GpuLimit": (3, ()), "Hold": (7, ("sig",)),
    "ExitGrant": (7, ("gpus", "sig")), "LimitAck": (14, ()), "GpuAck": (3, ("fallback_w", "refused")),
    "Leaving": (9, ()), "LeavingGpu": (2, ()), "Demand": (11, ()), "Budget": (9, ()),
    "Ask": (3, ("name", "who")), "Answer": (7, ("body",)),
}  # fmt: skip
"""How many fields each has to have, and which it may lack, since it is said at all."""
ADDED: dict[str, tuple[str, ...]] = {
    "NodeState": ("held",),
    "MeterReading": ("phases_a",),
    "JobEvent": ("image", "configuration", "gpu_model"),
    "SeriesForecast": ("next_rise_s", "next_fall_s"),
    "Plan": ("reactive_why", "holds", "targets", "regions", "demands", "rules_sha256"),
    "DomainPlan": ("heat", "time_to_trip_s", "excursion_s", "excursion_j", "losses"),
    "RegionPlan": ("released",),
    "Demand": (
        "tree", "tree_version", "epoch", "seq", "highest_epoch", "highest_seq", "granted_w", "counted_w",
        "job_keys", "job_shares",
    ),
    "Budget": ("tree", "target_w", "job_keys", "job_shares"),
}  # fmt: skip
"""What each has gained since. A field that is new belongs in here; required ones cannot be added."""
PART_OF = {
    "SeriesForecast": ("PowerForecast", "series"),
    "DomainPlan": ("Plan", "domains"),
    "RegionPlan": ("Plan", "regions"),
}
RECORDS = {kind.__name__: kind for kind in _records()}


@pytest.mark.parametrize("name", list(RECORDS))
def test_every_field_was_there_from_the_first_or_is_known_as_added(name: str) -> None:
    fields = [field for field in msgspec.structs.fields(RECORDS[name]) if field.name != "v"]
    required, first = FIRST[name]

    assert sum(field.required for field in fields) == required, (
        "who does not know it could not be read any more"
    )
    assert {field.name for field in fields if not field.required} == {*first, *ADDED.get(name, ())}


def late(role: str) -> int:
    return ORDER.index(role)


@pytest.mark.parametrize("name", list(ADDED))
def test_in_the_order_of_an_upgrade_nobody_hears_a_field_that_it_does_not_know_and_refuses(name: str) -> None:
    kind = RECORDS[PART_OF.get(name, (name,))[0]]
    tolerant = not RECORDS[name].__struct_config__.forbid_unknown_fields
    broken = [
        (speaker, reader)
        for channel in CHANNELS
        if kind in channel.types
        for speaker in channel.said_by
        for reader in channel.heard_by
        if reader in ORDER and late(reader) >= late(speaker) and not tolerant
    ]

    assert not broken, f"{name} gained {ADDED[name]}"


def as_before(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """As the version before said it, its parts too."""
    said = {field: value for field, value in fields.items() if field not in ADDED.get(name, ())}
    parts = {field: part for part, (whole, field) in PART_OF.items() if whole == name}
    return said | {
        field: [as_before(row, part) for row in said[field]] for field, part in parts.items() if field in said
    }


@settings(max_examples=60, deadline=None)
@given(any_message)
def test_what_the_version_before_says_is_read_and_what_it_never_heard_of_is_unsaid(message: Message) -> None:
    name = type(message).__name__
    older = as_before(msgpack.unpackb(wire.encode(message)), name)

    read = wire.decode(msgpack.packb(older), (type(message),))

    said = msgpack.unpackb(wire.encode(read))
    assert as_before(said, name) == older
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(message))}
    assert all(getattr(read, field) == defaults[field] for field in ADDED.get(name, ()) if field not in older)


EVENT = JobEvent(
    region="r", node="n", boot_id="b", job="j", change="running", type_key="t", priority_class="c", tenant="a",
    queue="q", gpus=("g0", "g1"), started_ns=1, t_ns=2, mono_ns=3,
)  # fmt: skip
"""Without anything that was added."""


def test_a_job_that_says_nothing_new_is_said_as_the_version_before_said_it() -> None:
    before = msgspec.defstruct(
        "JobEvent",
        [
            (field.name, field.type) if field.required else (field.name, field.type, field.default)
            for field in msgspec.structs.fields(JobEvent)
            if field.name not in ADDED["JobEvent"]
        ],
        tag="job_event", tag_field="kind", kw_only=True, forbid_unknown_fields=True,
    )  # fmt: skip

    heard = msgspec.msgpack.decode(wire.encode(EVENT), type=before)

    assert msgspec.structs.asdict(heard) == {
        name: getattr(EVENT, name) for name in JobEvent.__struct_fields__ if name not in ADDED["JobEvent"]
    }
    told = wire.encode(msgspec.structs.replace(EVENT, gpu_model="H100"))
    with pytest.raises(msgspec.ValidationError, match="gpu_model"):
        msgspec.msgpack.decode(told, type=before)


@pytest.mark.parametrize("told", [(), ("gpu_model",), ("image", "gpu_model"), ADDED["JobEvent"]])
def test_a_job_with_some_of_what_was_added_is_read_as_it_was_said_and_the_short_way(
    told: tuple[str, ...],
) -> None:
    event = msgspec.structs.replace(EVENT, **dict.fromkeys(told, "x"))
    data = wire.encode(event)

    assert wire._as_written(data, JobEvent) == event == wire.decode(data, (JobEvent,))
    assert data.startswith(wire._HEADS[JobEvent])


def test_a_field_that_a_newer_node_says_of_a_job_is_passed_over_and_all_else_is_refused_as_ever() -> None:
    fields = msgpack.unpackb(wire.encode(EVENT)) | {"colour": {"deep": [1e300]}}

    assert wire.decode(msgpack.packb(fields), ALL) == EVENT
    with pytest.raises(WrongField, match="gpus"):
        wire.decode(msgpack.packb(fields | {"gpus": 3}), ALL)
    whole = msgpack.packb(fields)
    assert whole[0] == 0xDE
    entries = (int.from_bytes(whole[1:3], "big") + 1).to_bytes(2, "big")
    with pytest.raises(DuplicateKey):
        wire.decode(b"\xde" + entries + whole[3:] + msgpack.packb("colour") + b"\x01", ALL)


@settings(max_examples=30, deadline=None)
@given(any_record(Plan))
def test_what_a_newer_plan_says_of_itself_and_its_parts_is_passed_over(plan: Plan) -> None:
    fields = msgpack.unpackb(wire.encode(plan)) | {"colour": "red"}
    for name in ("domains", "jobs", "targets", "regions", "demands"):
        fields[name] = [row | {"colour": 1} for row in fields[name]]

    assert wire.decode(msgpack.packb(fields), (Plan,)) == plan


def test_the_pages_name_the_order_that_holds_for_every_message() -> None:
    for page in ("docs/install.md", "CHANGELOG.md"):
        (told,) = [line for line in (ROOT / page).read_text().splitlines() if "Order of an upgrade" in line]
        at = [told.index(name, told.index("Order of an upgrade")) for name in NAMES]
        assert at == sorted(at), page
