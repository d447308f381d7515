"""Fields that a client sent wrong, in words for whoever typed them: no pattern and no name of a class of ours."""

from collections.abc import Iterable, Mapping
from typing import Any

from easyrider_policy_api.problems import FieldFault

_FORMS = {
    "^[A-Za-z0-9_-]{1,64}$": "is to be 1 to 64 letters, digits, _ and -",
    "^[A-Za-z0-9][A-Za-z0-9_.@-]*$": "is to be letters, digits and _.@-, and to begin with a letter or digit",
    "^[0-9a-f]{32}-[0-9]$": "is no id as the list tells it",
}
_WORDS = {"missing": "is missing", "extra_forbidden": "is no field here"}


def wrong_fields(errors: Iterable[Mapping[str, Any]]) -> list[FieldFault]:
    """One for each of the validator's errors."""
    return [FieldFault(place(each["loc"]), _fault(each)) for each in errors]


def place(loc: tuple[int | str, ...]) -> str:
    """Where in a document: `targets[0].domain`."""
    found = ""
    for part in loc:
        found += f"[{part}]" if isinstance(part, int) else f".{part}" if found else part
    return found[:200]


def _fault(each: Mapping[str, Any]) -> str:
    kind, context = each["type"], each.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        return _FORMS.get(str(context.get("pattern")), "is not of the form that it has to have")
    if kind == "model_type":
        return "is to be a map of fields"
    return _WORDS.get(kind) or f"{each['msg'][:1].lower()}{each['msg'][1:]}".replace(
        "input should be", "is to be"
    )
