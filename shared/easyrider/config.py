"""Settings of a service: one frozen record, read once from the environment, wrong all at once."""

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from easyrider.errors import BadConfig
from easyrider.prefixes import strays

MISSING = dataclasses.MISSING
C = TypeVar("C")
_TRUTH = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def setting(
    default: Any = MISSING,
    *,
    help: str,
    ge: float | None = None,
    le: float | None = None,
    fit: Callable[[Any], None] | None = None,
) -> Any:
    """One field of a settings record: what it means, the range its number must lie in, what its text must fit.

    `fit` raises `ValueError` (see `easyrider.setting_checks`); it is asked of a default too, not of an empty setting.
    """
    metadata = {"help": help, "ge": ge, "le": le, "fit": fit}
    if default is MISSING:
        return dataclasses.field(metadata=metadata, kw_only=True)
    return dataclasses.field(default=default, metadata=metadata, kw_only=True)


def from_env(config_type: type[C], environ: Mapping[str, str], prefix: str) -> C:
    """The settings found under `prefix`. Raises one `BadConfig` that names every fault.

    A variable that begins with `prefix` and names no setting is a fault, so that a misspelling is not a default; so
    is one of ours that begins with the prefix of no program.
    """
    fields = {prefix + f.name.upper(): f for f in dataclasses.fields(_record(config_type))}
    hints = get_type_hints(config_type)
    faults = [
        _unknown(name, fields) for name in sorted(environ) if name.startswith(prefix) and name not in fields
    ]
    faults += strays(environ, prefix, fields)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in environ and field.default is MISSING and field.default_factory is MISSING:
            faults.append(f"{name} is missing ({_help(field)})")
            continue
        try:
            value = _convert(environ[name], hints[field.name]) if name in environ else _default(field)
            _check_range(value, field)
            _check_fit(value, field)
        except ValueError as fault:
            faults.append(f"{name} {fault}")
        else:
            values[field.name] = value
    if faults:
        raise BadConfig("settings", faults)
    try:
        return config_type(**values)
    except ValueError as fault:  # a record may check in __post_init__ what one field alone cannot show
        raise BadConfig("settings", [str(fault)]) from fault


def describe(config_type: type[Any], prefix: str) -> str:
    """The table for `--help`: every setting with its type, default, range and meaning."""
    hints = get_type_hints(config_type)
    rows = [("setting", "type", "default", "range", "meaning")]
    for field in dataclasses.fields(_record(config_type)):
        rows.append(
            (
                prefix + field.name.upper(),
                type_name(hints[field.name]),
                "(required)" if field.default is MISSING else _shown(field.default),
                _range(field),
                _help(field),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]) for row in rows
    )


def type_name(hint: Any) -> str:
    """How a setting's type is written for people."""
    if get_origin(hint) is Literal:
        return "|".join(map(str, get_args(hint)))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join("empty" if part is type(None) else type_name(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return f"{type_name(get_args(hint)[0])},..."
    return {"str": "text", "Path": "path"}.get(hint.__name__, str(hint.__name__))


def _record(config_type: type[Any]) -> type[Any]:
    if not dataclasses.is_dataclass(config_type):
        raise TypeError(f"{config_type.__name__} is no dataclass")
    return config_type


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    import difflib  # only where a fault is told

    near = difflib.get_close_matches(name, known, n=1)
    return f"{name} is not a setting" + (f" (did you mean {near[0]}?)" if near else "")


def _convert(text: str, hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        if text not in arguments:
            raise ValueError(f"is {text!r}, not one of {', '.join(map(str, arguments))}")
        return text
    if origin in (Union, types.UnionType):
        if text == "":
            return None
        (inner,) = (part for part in arguments if part is not type(None))
        return _convert(text, inner)
    if origin is tuple:
        return tuple(_convert(part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    return _scalar(text, hint)


def _scalar(text: str, hint: Any) -> Any:
    if hint is bool:
        if text.strip().lower() not in _TRUTH:
            raise ValueError(f"is {text!r}, neither true nor false")
        return _TRUTH[text.strip().lower()]
    if hint is int:
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"is {text!r}, no whole number") from None
    if hint is float:
        return _finite(text)
    if hint is Path:
        if text == "":
            raise ValueError("is empty where a path is expected")
        return Path(text)
    if hint is str:
        return text
    raise TypeError(f"settings of type {hint!r} are not read")


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"is {text!r}, no number") from None
    if not math.isfinite(value):
        raise ValueError(f"is {text!r}, not a finite number")
    return value


def _check_range(value: Any, field: Any) -> None:
    low, high = field.metadata.get("ge"), field.metadata.get("le")
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, bool) or not isinstance(part, int | float):
            continue
        if (low is not None and part < low) or (high is not None and part > high):
            raise ValueError(f"is {part:g}, outside {_range(field)}")


def _check_fit(value: Any, field: Any) -> None:
    fit = field.metadata.get("fit")
    if fit is not None and value is not None:
        fit(value)


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _range(field: Any) -> str:
    low, high = field.metadata.get("ge"), field.metadata.get("le")
    if low is None and high is None:
        return "-"
    return f"{'' if low is None else f'{low:g}'}..{'' if high is None else f'{high:g}'}"


def _help(field: Any) -> str:
    return str(field.metadata.get("help", ""))


def _shown(default: Any) -> str:
    if default is None or default in ("", ()):
        return "(empty)"
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)
