"""The token that an installation begins with, and on our own disk that it was revoked: the store may forget that."""

import dataclasses
import hmac
import os
import re
from pathlib import Path

from easyrider import log, tokens
from easyrider.tokens import Token, TokenUnreadable

_LOG = log.get("policy-api")
_MARK = re.compile(r"revoked-([0-9a-f]{64})")


class FirstToken:
    """`file` holds its record, None where there is none; `folder` keeps a mark for each that was revoked."""

    def __init__(self, file: Path | None, folder: Path) -> None:
        """Raises `OSError` where the folder is there and cannot be read."""
        self._file, self._folder = file, folder
        self._revoked_s: dict[str, float] = {}
        if folder.exists():
            with os.scandir(folder) as entries:
                for entry in entries:
                    if (mark := _MARK.fullmatch(entry.name)) is not None:
                        self._revoked_s[mark.group(1)] = entry.stat().st_mtime

    def read(self, digest: str | None = None) -> Token | None:
        """The token, if it has this hash; revoked if that was ever known here."""
        if self._file is None:
            return None
        try:
            token = tokens.decode(self._file.read_bytes())
        except (OSError, TokenUnreadable) as fault:
            log.bounded(_LOG, "first", 60.0).error("the first token's record cannot be read", why=str(fault))
            return None
        if digest is not None and not hmac.compare_digest(token.digest.encode(), digest.encode()):
            return None
        revoked_s = self._revoked_s.get(token.digest)
        return token if revoked_s is None else dataclasses.replace(token, revoked_s=revoked_s)

    def revoke(self, token: Token) -> None:
        """Durable once it returns. Raises `OSError`: it is not revoked."""
        self._folder.mkdir(parents=True, exist_ok=True)
        mark = os.open(
            self._folder / f"revoked-{token.digest}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o640
        )
        try:
            os.fsync(mark)
        finally:
            os.close(mark)
        folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._revoked_s[token.digest] = token.created_s if token.revoked_s is None else token.revoked_s
