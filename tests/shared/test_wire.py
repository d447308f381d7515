"""Round trips, and a name for every way of being malformed."""

import contextlib
import math
import time
import tracemalloc
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages_strategy import any_message

from easyrider import errors, wire
from easyrider.messages import ALL, Hold, Message, MeterReading, NodeFrame, Plan, SetLimits

HOLD = Hold(tree="site", region="r1", node="n1", epoch=1, seq=2, nonce=3, ttl_s=5.0)


def fields_of(message: Message) -> dict[str, Any]:
    fields = msgpack.unpackb(wire.encode(message))
    assert isinstance(fields, dict)
    return fields


def packed_pairs(pairs: list[tuple[str, Any]]) -> bytes:
    """A map as its pairs say, repeated keys included."""
    packer = msgpack.Packer()
    return packer.pack_map_pairs(pairs)


@pytest.fixture(scope="module")
def frame() -> NodeFrame:
    blobs = {f.name: b"" for f in msgspec.structs.fields(NodeFrame) if f.type is bytes}
    return NodeFrame(
        region="r1", node="n1", boot_id="b", seq=1, t_ns=1, mono_ns=1, samples=0, gpu_count=0, gpus="",
        window_s=0.1, refresh_s=0.1, rejected=0, cpu_pct=1.0, net_rx_bytes_per_s=0.0, net_tx_bytes_per_s=0.0,
        **blobs,
    )  # fmt: skip


@given(any_message)
def test_every_message_survives_the_wire(message: Message) -> None:
    assert wire.decode(wire.encode(message), (type(message),)) == message
    assert wire.decode(wire.encode(message), ALL) == message


@given(any_message)
def test_plain_msgpack_reads_every_message_and_finds_every_field_by_name(message: Message) -> None:
    fields = msgpack.unpackb(wire.encode(message))

    assert fields["v"] == 1
    assert fields["kind"] == wire.kind_of(type(message))
    unset = {name for name in type(message).said_when_set if not getattr(message, name)}
    assert set(fields) == {"kind", *type(message).__struct_fields__} - unset


@given(st.one_of(st.binary(max_size=300), any_message.map(wire.encode)), st.data())
def test_no_bytes_raise_anything_but_a_malformed_message(data: bytes, draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(0, len(data)))
    noise = draw.draw(st.binary(max_size=3))
    for mangled in (
        data[:cut],
        data[:cut] + noise + data[cut:],
        data[:cut] + noise + data[cut + len(noise) :],
    ):
        with contextlib.suppress(errors.MalformedMessage):
            wire.decode(mangled, ALL)


@given(any_message, st.data())
def test_a_changed_value_is_read_as_it_is_or_refused(message: Message, draw: st.DataObject) -> None:
    fields = fields_of(message)
    name = draw.draw(st.sampled_from(sorted(fields)))
    fields[name] = draw.draw(st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5)))

    try:
        read = wire.decode(msgpack.packb(fields), ALL)
    except errors.MalformedMessage:
        return

    assert fields_of(read)[name] == fields[name]


@given(any_message)
def test_a_message_as_we_write_it_is_read_the_short_way(message: Message) -> None:
    assert wire._as_written(wire.encode(message), type(message)) == message


def test_text_is_no_bytes() -> None:
    fields = fields_of(HOLD) | {"sig": ""}

    with pytest.raises(errors.WrongField, match="sig"):
        wire.decode(msgpack.packb(fields), ALL)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_refused_both_ways(number: float) -> None:
    broken = msgspec.structs.replace(HOLD, ttl_s=number)
    fields = fields_of(HOLD) | {"ttl_s": number}

    with pytest.raises(errors.NotFinite, match="ttl_s"):
        wire.encode(broken)
    with pytest.raises(errors.NotFinite, match="ttl_s"):
        wire.decode(msgpack.packb(fields), (Hold,))


def test_a_number_that_is_none_is_found_deep_inside() -> None:
    entry = {"uuid": "GPU-1", "limit_w": math.nan, "fallback_w": 300.0}
    fields = fields_of(HOLD) | {"kind": "set_limits", "limits": [entry]}

    with pytest.raises(errors.NotFinite, match=r"limits\[0\]\.limit_w"):
        wire.decode(msgpack.packb(fields), (SetLimits,))


def test_a_reading_of_nan_is_refused_where_nil_is_allowed() -> None:
    reading = MeterReading(
        region="r1", meter="m1", domain="d1", boot_id="b", seq=1, t_ns=1, mono_ns=1, period_s=1.0,
        device="ups", quality="good", gated=True, power_w=math.nan,
    )  # fmt: skip

    with pytest.raises(errors.NotFinite, match="power_w"):
        wire.encode(reading)


@pytest.mark.parametrize("name", ["ttl_s", "epoch"])
def test_a_truth_value_is_no_number(name: str) -> None:
    with pytest.raises(errors.WrongField, match=name):
        wire.decode(msgpack.packb(fields_of(HOLD) | {name: True}), (Hold,))


def test_a_truth_value_is_no_version() -> None:
    with pytest.raises(errors.UnknownVersion):
        wire.decode(msgpack.packb(fields_of(HOLD) | {"v": True}), (Hold,))


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.0])
def test_another_version_is_refused_by_name(version: object) -> None:
    with pytest.raises(errors.UnknownVersion):
        wire.decode(msgpack.packb(fields_of(HOLD) | {"v": version}), (Hold,))


def test_a_key_that_stands_twice_is_refused() -> None:
    pairs = [*fields_of(HOLD).items(), ("epoch", 9)]

    with pytest.raises(errors.DuplicateKey, match="epoch"):
        wire.decode(packed_pairs(pairs), (Hold,))


@pytest.mark.parametrize(
    ("twice", "left_out"),
    [(a, b) for a in ("v", "kind", "seq", "power_w") for b in ("v", "kind", "rejected", None) if a != b],
)
def test_a_key_that_stands_twice_in_a_frame_is_refused_though_the_count_is_right(
    frame: NodeFrame, twice: str, left_out: str | None
) -> None:
    fields = fields_of(frame)
    pairs = [(key, value) for key, value in fields.items() if key != left_out] + [(twice, fields[twice])]

    with pytest.raises(errors.MalformedMessage):
        wire.decode(packed_pairs(pairs), (NodeFrame,))
    if left_out is None:
        with pytest.raises(errors.DuplicateKey):
            wire.decode(packed_pairs(pairs), (NodeFrame,))


def test_a_frame_is_read_in_any_order_of_its_fields(frame: NodeFrame) -> None:
    pairs = list(reversed(fields_of(frame).items()))

    assert wire.decode(packed_pairs(pairs), (NodeFrame,)) == frame


def test_bytes_after_the_message_are_refused(frame: NodeFrame) -> None:
    for message in (HOLD, frame):
        with pytest.raises(errors.TrailingBytes):
            wire.decode(wire.encode(message) + b"\xc0", ALL)


def test_an_unknown_field_is_refused_by_its_name(frame: NodeFrame) -> None:
    for message in (HOLD, frame):
        with pytest.raises(errors.WrongField, match="surprise"):
            wire.decode(msgpack.packb(fields_of(message) | {"surprise": 1}), ALL)


def test_a_missing_field_is_refused_by_its_name(frame: NodeFrame) -> None:
    for message, name in ((HOLD, "epoch"), (frame, "energy_mj")):
        fields = fields_of(message)
        del fields[name]

        with pytest.raises(errors.WrongField, match=name):
            wire.decode(msgpack.packb(fields), ALL)


def test_a_message_on_the_wrong_subject_is_refused_by_its_kind() -> None:
    with pytest.raises(errors.UnknownKind, match="hold"):
        wire.decode(wire.encode(HOLD), (NodeFrame,))
    with pytest.raises(errors.UnknownKind, match="nonsense"):
        wire.decode(msgpack.packb(fields_of(HOLD) | {"kind": "nonsense"}), ALL)


def test_an_oversize_message_is_refused_before_it_is_read_and_not_said() -> None:
    with pytest.raises(errors.Oversize) as caught:
        wire.decode(b"\xc1" * (wire.NODE_LIMIT + 1), (Hold,))
    with pytest.raises(errors.Oversize):
        wire.encode(msgspec.structs.replace(HOLD, sig=bytes(wire.NODE_LIMIT)))

    assert caught.value.size == wire.NODE_LIMIT + 1


def test_a_node_message_may_not_be_as_large_as_a_plan_even_where_plans_are_heard() -> None:
    fields = fields_of(HOLD) | {"sig": bytes(wire.NODE_LIMIT)}

    with pytest.raises(errors.Oversize):
        wire.decode(msgpack.packb(fields), (Hold, Plan))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", errors.NotAMap),
        (bytes.fromhex("ddffffffff"), errors.NotAMap),
        (bytes.fromhex("dfffffffff"), errors.NotAMap),
        (b"\x91" * 5000, errors.NotAMap),
        (msgpack.packb([1, 2]), errors.NotAMap),
        (msgpack.packb({1: 2}), errors.NotAMap),
        (b"\x81\xa1v", errors.NotAMap),
        (bytes.fromhex("82a17701a17702"), errors.DuplicateKey),
        (msgpack.packb({"v": 1, "x": msgpack.ExtType(5, b"a")}), errors.WrongField),
    ],
    ids=["empty", "huge list", "huge map", "deep", "list", "number as key", "cut", "twice", "extension"],
)
def test_what_eats_lesser_decoders_is_refused_in_milliseconds(data: bytes, error: type[Exception]) -> None:
    tracemalloc.start()
    began_s = time.perf_counter()
    with pytest.raises(error):
        wire.decode(data, ALL)
    took_s = time.perf_counter() - began_s
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert took_s < 0.25  # milliseconds on a quiet machine; never the seconds of a runaway decoder
    assert peak < 1_000_000
