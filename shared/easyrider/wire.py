"""Messages to bytes and back: one MessagePack map each, checked before anything believes it.

Control messages unpack with a hook that sees every pair; frames go straight into their record, which has no
optional field, so that a header counting more entries than fields betrays a duplicate key.
"""

import math
from collections.abc import Collection
from typing import Any, NoReturn

import msgpack
import msgspec

from easyrider.errors import (
    DuplicateKey,
    MalformedMessage,
    NotAMap,
    NotFinite,
    Oversize,
    TrailingBytes,
    UnknownKind,
    UnknownVersion,
    WrongField,
)
from easyrider.messages import ALL, Message, NodeFrame, Plan, PowerForecast

VERSION = 1
NODE_LIMIT = 64 * 1024
REGION_LIMIT = 900 * 1024
_LIMITS: dict[type[Message], int] = {Plan: REGION_LIMIT, PowerForecast: REGION_LIMIT}
_ENCODER = msgspec.msgpack.Encoder()
_KINDS: dict[str, type[Message]] = {str(kind.__struct_config__.tag): kind for kind in ALL}
_FRAME = msgspec.msgpack.Decoder(NodeFrame)
_FRAME_ENTRIES = len(NodeFrame.__struct_fields__) + 1  # and `kind`
_FRAME_FLOATS = ("window_s", "refresh_s", "cpu_pct", "net_rx_bytes_per_s", "net_tx_bytes_per_s")


def kind_of(message_type: type[Message]) -> str:
    """The word that stands in `kind`."""
    return str(message_type.__struct_config__.tag)


def encode(message: Message) -> bytes:
    """The bytes of a message. Raises `NotFinite` or `Oversize`: what we would refuse, we do not say."""
    if isinstance(message, NodeFrame):
        _refuse_unfinite_frame(message)
    else:
        _refuse_unfinite(msgspec.to_builtins(message, builtin_types=(bytes,)))
    data = _ENCODER.encode(message)
    limit = _LIMITS.get(type(message), NODE_LIMIT)
    if len(data) > limit:
        raise Oversize(len(data), limit)
    return data


def decode(data: bytes, expected: Collection[type[Message]]) -> Message:
    """The message in `data`, one of the types expected. Raises a `MalformedMessage` named after the fault."""
    limit = max(_LIMITS.get(kind, NODE_LIMIT) for kind in expected)
    if len(data) > limit:
        raise Oversize(len(data), limit)
    if NodeFrame in expected and len(expected) == 1:
        return _decode_frame(data)
    fields = _unpack(data)
    version = fields.get("v")
    if type(version) is not int or version != VERSION:
        raise UnknownVersion(version)
    kind = fields.get("kind")
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None or found not in expected:
        raise UnknownKind(kind)
    if len(data) > (own := _LIMITS.get(found, NODE_LIMIT)):
        raise Oversize(len(data), own)
    _refuse_unfinite(fields)
    try:
        message = msgspec.convert(fields, found, strict=True)
    except msgspec.ValidationError as fault:
        raise WrongField(str(fault)) from fault
    if isinstance(message, NodeFrame):
        _refuse_unfinite_frame(message)
    return message


def _decode_frame(data: bytes) -> NodeFrame:
    try:
        frame = _FRAME.decode(data)
    except msgspec.ValidationError as fault:
        _name_frame_fault(data, fault)
    except msgspec.DecodeError as fault:
        if "trailing" in str(fault):
            raise TrailingBytes(str(fault)) from fault
        raise NotAMap(str(fault)) from fault
    if _map_entries(data) != _FRAME_ENTRIES:
        raise DuplicateKey("the map's header counts more entries than a frame has fields")
    _refuse_unfinite_frame(frame)
    return frame


def _name_frame_fault(data: bytes, fault: msgspec.ValidationError) -> NoReturn:
    """A refused frame is read again slowly, to name what is wrong with it."""
    fields = _unpack(data)
    version, kind = fields.get("v"), fields.get("kind")
    if type(version) is not int or version != VERSION:
        raise UnknownVersion(version) from fault
    if kind != kind_of(NodeFrame):
        raise UnknownKind(kind) from fault
    raise WrongField(str(fault)) from fault


def _map_entries(data: bytes) -> int:
    first = data[0]
    if first & 0xF0 == 0x80:
        return first & 0x0F
    return int.from_bytes(data[1:3] if first == 0xDE else data[1:5], "big")


def _unpack(data: bytes) -> dict[str, Any]:
    try:
        value = msgpack.unpackb(
            data, object_pairs_hook=_pairs, ext_hook=_refuse_extension, strict_map_key=True, raw=False
        )
    except MalformedMessage:
        raise
    except msgpack.ExtraData as fault:
        raise TrailingBytes("bytes follow the message") from fault
    except (ValueError, msgpack.UnpackException, RecursionError) as fault:
        raise NotAMap(f"no MessagePack map: {fault}") from fault
    if not isinstance(value, dict):
        raise NotAMap(f"a {type(value).__name__} where one map is expected")
    return value


def _pairs(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise NotAMap(f"key {key!r} is no text")
        if key in fields:
            raise DuplicateKey(f"key {key!r} stands twice")
        fields[key] = value
    return fields


def _refuse_extension(code: int, _data: bytes) -> NoReturn:
    raise WrongField(f"extension type {code} is not used here")


def _refuse_unfinite(value: object, path: str = "$") -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotFinite(f"{path} is {value}")
    elif isinstance(value, dict):
        for key, part in value.items():
            _refuse_unfinite(part, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            _refuse_unfinite(part, f"{path}[{index}]")
    elif isinstance(value, msgpack.Timestamp):
        raise WrongField(f"{path} is an extension type; time travels as whole numbers")


def _refuse_unfinite_frame(frame: NodeFrame) -> None:
    for name in _FRAME_FLOATS:
        if not math.isfinite(getattr(frame, name)):
            raise NotFinite(f"$.{name} is {getattr(frame, name)}")
