"""A record told for people: its purpose, and its fields with type, unit and note, from the code itself."""

import inspect
import re
from typing import Any

import msgspec

UNITS = {
    "w": "W", "s": "s", "ns": "ns", "us": "us", "ms": "ms", "mj": "mJ", "mw": "mW", "hz": "Hz", "mhz": "MHz",
    "a": "A", "v": "V", "c": "degC", "pct": "%", "mb": "MB",
}  # fmt: skip


def rows(kind: type[msgspec.Struct]) -> list[str]:
    """The table of its fields, in Markdown."""
    remarks = notes(kind)
    return [
        "| field | type | unit | note |",
        "|---|---|---|---|",
        *(
            f"| `{field.encode_name}` | {_type(field.type)} | {_unit(field.name)} | {remarks.get(field.name, '')} |"
            for field in msgspec.structs.fields(kind)
        ),
    ]


def purpose(kind: type[msgspec.Struct]) -> str:
    """What it is, as one line."""
    return " ".join((inspect.getdoc(kind) or "").split())


def notes(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The remarks that stand behind the fields in the code."""
    found = re.findall(r"^    (\w+): [^#\n]*  # (.+)$", inspect.getsource(kind), re.MULTILINE)
    return {name: note.replace("|", "\\|") for name, note in found}


def _type(hint: Any) -> str:
    info = msgspec.inspect.type_info(hint)
    parts = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    return " or ".join(map(_named, parts))


def _named(info: msgspec.inspect.Type) -> str:
    names = {
        msgspec.inspect.FloatType: "float",
        msgspec.inspect.IntType: "int",
        msgspec.inspect.BoolType: "bool",
        msgspec.inspect.StrType: "text",
        msgspec.inspect.BytesType: "bin",
        msgspec.inspect.NoneType: "nil",
    }
    if isinstance(info, msgspec.inspect.VarTupleType):
        return f"list of {_named(info.item_type)}"
    if isinstance(info, msgspec.inspect.StructType):
        return f"[{info.cls.__name__}](#{info.cls.__name__.lower()})"
    if isinstance(info, msgspec.inspect.LiteralType):
        return " \\| ".join(f"`{value}`" for value in info.values)
    return names[type(info)]


def _unit(name: str) -> str:
    if name.endswith("_bytes_per_s"):
        return "B/s"
    return UNITS.get(name.rsplit("_", 1)[-1], "") if "_" in name else ""
