"""What was answered to an idempotency key, so that the same request again gets the same answer and does nothing."""

import base64
import hashlib
import re

import msgspec

from easyrider.errors import EasyRiderError

_KEY = re.compile(r"[!-~]{1,255}")
PENDING = b"pending"
"""What stands there until then begins with; whose try it is follows."""


class BadKey(EasyRiderError):
    """The header holds no idempotency key."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and the hash of the request it answered."""

    request: str
    status: int
    headers: dict[str, str]
    body: str  # base64


def digest(token: str, act: str, key: str) -> str:
    """Where the receipt of this bearer's key stands. Raises `BadKey`."""
    if not _KEY.fullmatch(key):
        raise BadKey("is 1 to 255 printable ASCII characters without blanks")
    return hashlib.sha256(f"{token}\0{act}\0{key}".encode()).hexdigest()


def of_request(path: str, condition: str, body: bytes) -> str:
    """Hash of what was asked; `condition` is its If-Match."""
    return hashlib.sha256(f"{path}\0{condition}\0".encode() + body).hexdigest()


def encode(request: str, status: int, headers: dict[str, str], body: bytes) -> bytes:
    """As the store keeps it."""
    text = base64.b64encode(body).decode()
    return msgspec.json.encode(Receipt(request=request, status=status, headers=headers, body=text))


def decode(data: bytes) -> Receipt | None:
    """The receipt; None while the first request is still under way."""
    return None if data.startswith(PENDING) else msgspec.json.decode(data, type=Receipt)


def body_of(receipt: Receipt) -> bytes:
    """The answer's bytes."""
    return base64.b64decode(receipt.body)
