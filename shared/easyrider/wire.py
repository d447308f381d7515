"""Messages to bytes and back: one MessagePack map each, checked before anything believes it.

Bytes unpack with a hook that sees every pair of a map. A message as we write it takes a short way, ten times as fast:
it is decoded straight into its record and, if encoding that gives the same bytes again, it held no key twice and
nothing that the record does not show. Whatever the short way does not take is read again the long way, which names
the fault.
"""

import math
import re
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
from easyrider.finite import refuse_unfinite
from easyrider.messages import ALL, Answer, Message, Plan, PowerForecast

VERSION = 1
NODE_LIMIT = 64 * 1024
REGION_LIMIT = 900 * 1024
_LIMITS: dict[type[Message], int] = {Plan: REGION_LIMIT, PowerForecast: REGION_LIMIT, Answer: REGION_LIMIT}
_ENCODER = msgspec.msgpack.Encoder()
_KINDS: dict[str, type[Message]] = {str(kind.__struct_config__.tag): kind for kind in ALL}
_LARGEST_FIXMAP = 15
_MAYBE_UNFINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
"""How a number that is none begins as we write it. Other bytes may look so too; without these there is none."""


def kind_of(message_type: type[Message]) -> str:
    """The word that stands in `kind`."""
    return str(message_type.__struct_config__.tag)


def size_limit(message_type: type[Message]) -> int:
    """Bytes that a message of this type may have."""
    return _LIMITS.get(message_type, NODE_LIMIT)


def encode(message: Message) -> bytes:
    """The bytes of a message. Raises `NotFinite` or `Oversize`: what we would refuse, we do not say."""
    data = _bytes(message)
    if _MAYBE_UNFINITE.search(data):
        refuse_unfinite(message)
    if len(data) > (limit := size_limit(type(message))):
        raise Oversize(len(data), limit)
    return data


def decode(data: bytes, expected: Collection[type[Message]]) -> Message:
    """The message in `data`, one of the types expected. Raises a `MalformedMessage` named after the fault."""
    limit = max(map(size_limit, expected))
    if len(data) > limit:
        raise Oversize(len(data), limit)
    for kind in expected:
        if data.startswith(_HEADS[kind]):
            message = _as_written(data, kind)
            if message is not None:
                return message
    return _decode_the_long_way(data, expected)


def _bytes(message: Message) -> bytes:
    """As we write it: without what its type says only when set."""
    kind = type(message)
    unset = [name for name, value in _UNSET.get(kind, ()) if getattr(message, name) == value]
    if not unset:
        return _ENCODER.encode(message)
    fields = msgspec.to_builtins(message, builtin_types=(bytes,))
    return _ENCODER.encode({name: value for name, value in fields.items() if name not in unset})


def _heads(kind: type[Message]) -> tuple[bytes, ...]:
    """How messages of this type may begin as we write them: the number of entries, then the kind."""
    most = len(kind.__struct_fields__) + 1  # and `kind`
    tail = _ENCODER.encode("kind") + _ENCODER.encode(kind_of(kind))
    return tuple(_count(most - fewer) + tail for fewer in range(len(kind.said_when_set) + 1))


def _count(entries: int) -> bytes:
    return bytes([0x80 | entries]) if entries <= _LARGEST_FIXMAP else b"\xde" + entries.to_bytes(2, "big")


_UNSET: dict[type[Message], tuple[tuple[str, object], ...]] = {
    kind: tuple(
        (field.name, field.default)
        for field in msgspec.structs.fields(kind)
        if field.name in kind.said_when_set
    )
    for kind in ALL
    if kind.said_when_set
}
_HEADS: dict[type[Message], tuple[bytes, ...]] = {kind: _heads(kind) for kind in ALL}
_DECODERS: dict[type[Message], msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in ALL
}


def _as_written(data: bytes, kind: type[Message]) -> Message | None:
    """The message, or None where anything about it is unusual."""
    if len(data) > size_limit(kind):
        return None
    try:
        message: Message = _DECODERS[kind].decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if _bytes(message) != data:
        return None
    if _MAYBE_UNFINITE.search(data):
        refuse_unfinite(message, decoded=True)
    return message


def _decode_the_long_way(data: bytes, expected: Collection[type[Message]]) -> Message:
    fields = _unpack(data)
    version = fields.get("v")
    if type(version) is not int or version != VERSION:
        raise UnknownVersion(version)
    kind = fields.get("kind")
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None or found not in expected:
        raise UnknownKind(kind)
    if len(data) > (own := size_limit(found)):
        raise Oversize(len(data), own)
    try:
        # bytes are bytes here, and no text that might be base64
        message = msgspec.convert(fields, found, strict=True, builtin_types=(bytes,))
    except (msgspec.ValidationError, OverflowError) as fault:
        _name_wrong_value(fields)
        raise WrongField(str(fault)) from fault
    refuse_unfinite(message)
    return message


def _unpack(data: bytes) -> dict[str, Any]:
    try:
        value = msgpack.unpackb(
            data, object_pairs_hook=_pairs, ext_hook=_refuse_extension, strict_map_key=True, raw=False
        )
    except MalformedMessage:
        raise
    except msgpack.ExtraData as fault:
        raise TrailingBytes("bytes follow the message") from fault
    except (ValueError, OverflowError, msgpack.UnpackException, RecursionError) as fault:
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


def _name_wrong_value(value: object, place: str = "$") -> None:
    """A refused message may hold a number that is none; that is the better name for its fault."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotFinite(f"{place} is {value}")
    elif isinstance(value, dict):
        for key, part in value.items():
            _name_wrong_value(part, f"{place}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _name_wrong_value(part, f"{place}[{index}]")
    elif isinstance(value, msgpack.Timestamp):
        raise WrongField(f"{place} is an extension type; time travels as whole numbers")
