"""What can be wrong with a request: one error with its status, its name and its fields, told as RFC 9457 says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from easyrider.errors import EasyRiderError

MEDIA_TYPE = "application/problem+json"
_TITLES = {
    400: "Not understood",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "In conflict",
    412: "Edited meanwhile",
    413: "Too large",
    415: "Not JSON",
    422: "Not valid",
    428: "Version wanted",
    429: "Too many requests",
    431: "Too large",
    500: "Failed",
    503: "Not available",
}


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field of a request, and what is wrong with it."""

    field: str
    fault: str


class Problem(EasyRiderError):
    """The request was not done; `detail` says in one sentence why and what still holds."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        *,
        fields: Sequence[FieldFault] = (),
        retry_after_s: float | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.status, self.name, self.detail, self.fields, self.more = (
            status,
            name,
            detail,
            tuple(fields),
            more,
        )
        self.headers = dict(headers or {})
        if retry_after_s is not None:
            self.headers["Retry-After"] = str(max(1, round(retry_after_s + 0.5)))
        if status == 401:
            self.headers["WWW-Authenticate"] = 'Bearer realm="easyrider"'
        super().__init__(f"{status} {name}: {detail}")

    @property
    def document(self) -> dict[str, Any]:
        """As it is told."""
        told: dict[str, Any] = {
            "type": f"urn:easyrider:problem:{self.name}",
            "title": _TITLES.get(self.status, "Failed"),
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        if self.fields:
            told["fields"] = [{"field": each.field, "fault": each.fault} for each in self.fields]
        return told

    @property
    def body(self) -> bytes:
        """The same as JSON."""
        return json.dumps(self.document, allow_nan=False).encode()


def not_valid(fields: Sequence[FieldFault], detail: str = "") -> Problem:
    """422 with every field."""
    told = detail or "; ".join(f"{each.field or 'document'} {each.fault}" for each in list(fields)[:3])
    return Problem(422, "not-valid", told, fields=fields)


def store_silent(why: str) -> Problem:
    """503: rules and tokens cannot be looked up."""
    return Problem(
        503,
        "store-silent",
        f"The state store does not answer, so nothing was changed; limits in force stay as they are ({why}).",
        retry_after_s=2.0,
    )


def coordinator_silent(why: str) -> Problem:
    """503: nobody leads this scope, or the bus is down."""
    return Problem(
        503,
        "coordinator-silent",
        f"No coordinator answers for this scope; limits in force stay as they are ({why}).",
        retry_after_s=2.0,
    )


def audit_broken(why: str) -> Problem:
    """503: what cannot be audited is not done."""
    return Problem(
        503,
        "audit-broken",
        f"The audit journal cannot be written, so nothing was changed ({why}).",
        retry_after_s=10.0,
    )
