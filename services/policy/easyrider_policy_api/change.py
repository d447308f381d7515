"""One request that may change something, as the audit will tell of it; filled in as it goes."""

import secrets
from dataclasses import dataclass, field
from typing import Any

from easyrider_policy_api.core.access import Caller


@dataclass(slots=True)
class Change:
    """Made when the request comes; `audited` is false for what changes nothing."""

    method: str
    path: str
    peer: str
    audited: bool
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    act: str = ""
    caller: Caller | None = None
    reason: str = ""  # what the operator gave
    why: str = ""  # what was refused and why
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    version: int | None = None
    intended: bool = False  # it may have been done

    @property
    def told(self) -> dict[str, Any]:
        """Who, from where, what: the same in every line and event about it."""
        caller = self.caller
        return {
            "id": self.id,
            "act": (self.act or f"{self.method.lower()} {self.path}")[:256],
            "path": self.path[:1024],
            "who": caller.name if caller else "",
            "token": caller.token if caller else "",
            "role": caller.role if caller else "",
            "peer": self.peer,
            "reason": self.reason,
        }
