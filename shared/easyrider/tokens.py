"""Bearer tokens of the admin API: 256 random bits shown once, known to the store by their hash alone."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from easyrider.errors import EasyRiderError

Role = Literal["viewer", "operator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From least to most allowed."""
PREFIX = "er_"
LONGEST_S = 366 * 86400.0
_SECRET = re.compile(r"er_[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


class TokenUnreadable(EasyRiderError):
    """The store holds something else in a token's place; that token opens nothing."""


class BadToken(EasyRiderError):
    """A token cannot be made like this. `field` says which of its parts is wrong."""

    def __init__(self, field: str, why: str) -> None:
        self.field, self.why = field, why
        super().__init__(f"{field} {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of one token. Times are Unix seconds; `digest` is the SHA-256 of what the bearer shows."""

    id: str
    name: str
    role: Role
    tenant: str = ""  # a viewer of this tenant's jobs alone
    digest: str
    created_s: float
    expires_s: float
    revoked_s: float | None = None

    def opens(self, now_s: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_s is None and now_s < self.expires_s


def make(name: str, role: Role, tenant: str, now_s: float, lifetime_s: float) -> tuple[str, Token]:
    """What the bearer is to show, and what the store is to know. Raises `BadToken`."""
    if not _NAME.fullmatch(name):
        raise BadToken("name", "is 1 to 64 letters, digits and _.@-, and begins with a letter or digit")
    if role not in ROLES:
        raise BadToken("role", f"is one of {', '.join(ROLES)}")
    if tenant and role != "viewer":
        raise BadToken("tenant", "goes with the role viewer only")
    if len(tenant) > 128 or not tenant.isprintable():
        raise BadToken("tenant", "is at most 128 printable characters")
    if not 1.0 <= lifetime_s <= LONGEST_S:
        raise BadToken("lifetime_s", f"is from 1 to {LONGEST_S:.0f} s")
    shown = PREFIX + secrets.token_urlsafe(32)
    return shown, Token(
        id=secrets.token_hex(6),
        name=name,
        role=role,
        tenant=tenant,
        digest=digest(shown),
        created_s=now_s,
        expires_s=now_s + lifetime_s,
    )


def digest(shown: str) -> str:
    """The hash a token is known by. No salt and no slow hash: 256 random bits cannot be guessed."""
    return hashlib.sha256(shown.encode()).hexdigest()


def well_formed(shown: str) -> bool:
    """Whether it could be one of ours at all."""
    return _SECRET.fullmatch(shown) is not None


def encode(token: Token) -> bytes:
    """As the store keeps it."""
    return msgspec.json.encode(token)


def decode(data: bytes) -> Token:
    """As the store kept it. Raises `TokenUnreadable`."""
    try:
        return msgspec.json.decode(data, type=Token)
    except msgspec.DecodeError as fault:
        raise TokenUnreadable(f"a token's record cannot be read ({fault}); make it anew") from fault
