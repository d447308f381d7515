"""Versions as entity tags, and what a client says it has seen."""

import re

from easyrider.errors import EasyRiderError

_TAG = re.compile(r'("?)([0-9]{1,18})\1')


class BadTag(EasyRiderError):
    """A header names no version of ours."""


def tag(version: int) -> str:
    """The ETag of a version."""
    return f'"{version}"'


def version_of(header: str) -> int:
    """The version in an If-Match header, its quotes lost in some shell or not. Raises `BadTag`.

    `*` would match an edit that nobody has seen.
    """
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise BadTag(f'{header[:40]!r} is not one version in quotes, like "7"')
    return int(found.group(2))
