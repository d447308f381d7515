"""The admin API as a door: JSON over HTTP with a bearer token, never in the clear beyond this machine."""

import ipaddress
import json
import secrets
import ssl
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from easyrider.errors import EasyRiderError
from easyrider.tree import HoldRule, Rules
from easyrider.tree_reader import read_document
from easyrider_cli.doors import Done, Freed, Kind, NoAnswer, Refused, Scope

_DEADLINE_S = 5.0
_ESTIMATED = "nothing was estimated. A model file answers without it: `easyrider estimate --model FILE`"
_LONGEST = 32 * 1024 * 1024


class BadApi(EasyRiderError):
    """The address or the token of an API cannot be used; nothing was sent."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the address it was given for, and nowhere else."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


class ApiDoor:
    """One API. Raises `BadApi` for an address or a token that cannot be used."""

    def __init__(self, url: str, token_file: Path, ca_file: Path | None = None) -> None:
        self._url = _checked(url)
        self._token = _token(token_file)
        handlers: list[Any] = [_NoRedirect(), urllib.request.ProxyHandler({})]
        if self._url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=_context(ca_file)))
        self._open = urllib.request.build_opener(*handlers).open

    def rules(self) -> Rules:
        """See `Door`."""
        return read_document(self._ask("GET", "/v1/tree"), f"the rules of {self._url}")

    def state(self, region: str = "") -> dict[str, Any]:
        """See `Door`."""
        found = self._ask("GET", "/v1/state" + (f"?region={quote(region, safe='')}" if region else ""))
        return found if isinstance(found, dict) else {}

    def explain(self, kind: Kind, name: str) -> dict[str, Any]:
        """See `Door`."""
        found = self._ask("GET", f"/v1/explain/{kind}s/{quote(name, safe='')}")
        return found if isinstance(found, dict) else {}

    def trust(self) -> dict[str, Any]:
        """See `Door`."""
        found = self._ask("GET", "/v1/trust")
        return found if isinstance(found, dict) else {}

    def estimate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What a job will draw before it starts, as `POST /v1/estimate` answers. Raises `Refused` and `NoAnswer`."""
        try:
            found = self._ask("POST", "/v1/estimate", asked)
        except NoAnswer as fault:
            raise NoAnswer(fault.place, fault.why, _ESTIMATED) from fault
        return found if isinstance(found, dict) else {}

    def hold(self, hold: HoldRule) -> Done:
        """See `Door`. Who holds and since when is the API's word: it knows whose token this is."""
        body = {"id": hold.id, "domains": list(hold.domains), "reason": hold.reason}
        return _done(self._ask("POST", "/v1/holds", body))

    def clear(self, hold_id: str) -> Done:
        """See `Door`."""
        return _done(self._ask("DELETE", f"/v1/holds/{quote(hold_id, safe='')}"))

    def release(self, scope: Scope, reason: str, override: str = "") -> Done:
        """See `Door`."""
        body: dict[str, Any] = {
            "scope": {key: list(values) for key, values in scope.items()},
            "reason": reason,
        }
        return _done(self._ask("POST", "/v1/release", body | ({"override": override} if override else {})))

    def free(self, kind: Freed, name: str) -> float | None:
        """See `Door`."""
        told = self._ask("POST", f"/v1/{kind}s/{quote(name, safe='')}/free")
        return told.get("freed_w") if isinstance(told, dict) else None

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(self._url + path, method=method)
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", "application/json")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if method == "POST":
            request.add_header("Idempotency-Key", secrets.token_hex(16))
        try:
            with self._open(request, timeout=_DEADLINE_S) as answer:
                return _json(answer.read(_LONGEST))
        except urllib.error.HTTPError as fault:
            raise self._refused(fault) from fault
        except (OSError, HTTPException, ValueError) as fault:
            raise NoAnswer(self._url, str(getattr(fault, "reason", fault))) from fault

    def _refused(self, fault: urllib.error.HTTPError) -> EasyRiderError:
        try:
            told = _json(fault.read(65536))
        except (OSError, HTTPException, ValueError):
            told = {}
        why = (_problem(told) if isinstance(told, dict) else "") or f"{fault.code} {fault.reason}"
        return NoAnswer(self._url, why) if fault.code in (502, 503, 504) else Refused(why)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.port != 0
    except ValueError:  # its words may repeat what stands where a port is expected
        raise BadApi("--api: its host or port makes no sense; an address like https://host:8480") from None
    if (
        not usable
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or parts.query
    ):
        raise BadApi(f"--api {url}: an address like https://host:8480 is expected, without user or query")
    if parts.scheme == "http" and not _here(parts.hostname):
        raise BadApi(f"--api {url}: a token is not sent in the clear beyond this machine; use https")
    return url.rstrip("/")


def _here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(file: Path) -> str:
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise BadApi(f"--token-file {file}: {getattr(fault, 'strerror', None) or 'it is no text'}") from fault
    if not text or not text.isascii() or any(c.isspace() for c in text):
        raise BadApi(f"--token-file {file}: it holds no token alone on its line")
    return text


def _context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as fault:
        raise BadApi(f"--ca-file {ca_file}: {fault}") from fault


def _json(body: bytes) -> Any:
    return json.loads(body) if body else {}


def _problem(told: dict[str, Any]) -> str:
    """What a problem document says, every field of it once: its detail may tell some already."""
    rows, detail = told.get("fields"), str(told.get("detail", ""))
    fields = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    faults = (f"{row.get('field', '')} {row.get('fault', '')}".strip() for row in fields)
    return "; ".join(part for part in (detail, *(fault for fault in faults if fault not in detail)) if part)


def _done(told: Any) -> Done:
    told = told if isinstance(told, dict) else {}
    adoption = str(told.get("adoption", ""))
    return Done(
        version=int(told.get("version") or 0), in_force=adoption != "pending", why=str(told.get("why", ""))
    )
