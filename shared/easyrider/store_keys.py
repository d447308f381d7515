"""Every key in the store. Nothing outside the store's files knows them."""

import re

_PART = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class BadKeyPart(ValueError):
    """A name that cannot be part of a key."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} cannot be part of a key: letters, digits, _, . and -, at most 128")


def _part(name: str) -> str:
    if not _PART.fullmatch(name):
        raise BadKeyPart(name)
    return name


def rules(tree: str) -> str:
    """Hash of version and document."""
    return f"er:{_part(tree)}:rules"


def leader(tree: str, scope: str) -> str:
    """Who leads, with its epoch; expires with the lease."""
    return f"er:{_part(tree)}:leader:{_part(scope)}"


def epoch(tree: str, scope: str) -> str:
    """The highest epoch ever given; never expires."""
    return f"er:{_part(tree)}:epoch:{_part(scope)}"


def state(tree: str, region: str) -> str:
    """One wide hash a region."""
    return f"er:{_part(tree)}:state:{_part(region)}"


def fingerprints(tree: str) -> str:
    """Hash of what was learned about types of jobs, by id: "<revision> <record>"."""
    return f"er:{_part(tree)}:fingerprints"


def accuracy(tree: str) -> str:
    """Hash of how right the forecasts of each job were: by "<region> <job>", "<unix seconds> <record>"."""
    return f"er:{_part(tree)}:accuracy"


def every(tree: str, kind: str) -> str:
    """Pattern for every key of one kind, for who grants them; `rules` has one key alone."""
    return f"er:{_part(tree)}:{_part(kind)}:*"


def token(tree: str, digest: str) -> str:
    """A bearer token's record, under the hash of the token: the token itself stands nowhere."""
    return f"er:{_part(tree)}:token:{_part(digest)}"


def token_list(tree: str) -> str:
    """Hash of every token's record by its id, for those who list and revoke; no hash of a token is `list`."""
    return f"er:{_part(tree)}:token:list"


def receipt(tree: str, digest: str) -> str:
    """What was answered to one idempotency key; expires."""
    return f"er:{_part(tree)}:receipt:{_part(digest)}"
