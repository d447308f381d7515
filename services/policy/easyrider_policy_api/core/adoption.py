"""Whether rules that were saved are in force, by what the leader answers; the same for the API and for a local door."""

import dataclasses
import json
from collections.abc import Callable
from typing import Literal

from easyrider.errors import BadTree, EasyRiderError
from easyrider.messages import Answer
from easyrider.messages.asks import REFUSED
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump, read_document, to_document
from easyrider_policy.core.checks import faults
from easyrider_policy_api.core.edits import AlreadyThere, NotThere

Verdict = Literal["adopted", "refused", "overtaken", "pending"]
Edit = Callable[[Rules], Rules]
TURNS = 5
"""Tries of an edit that names no version, while others edit."""


class Overtaken(EasyRiderError):
    """The edit was saved, and another document took its place before it was in force; look at that one."""

    def __init__(self, held: int, saved: int, why: str) -> None:
        self.held, self.saved, self.why = held, saved, why
        super().__init__(f"version {saved} was saved and is not in force: {why}")


def whole(rules: Rules) -> Rules:
    """The same rules as a coordinator will read them. Raises `BadTree` with every fault it would find."""
    read = read_document(to_document(rules), "the edit")
    found = faults(read)
    if found:
        raise BadTree("the edit", found)
    return read


def judged(answer: Answer, saved: Rules) -> tuple[Verdict, str]:
    """What the leader's answer says of the rules that were saved, and why they are not in force.

    A version alone proves nothing: after a store lost its last second, two documents may have the same.
    """
    if not answer.ok:
        return ("refused" if answer.reason.startswith(REFUSED) else "pending"), answer.reason
    told = _sha256(answer)
    if told == digest(dump(saved)):
        return "adopted", ""
    if answer.version < saved.version:
        return "pending", f"version {answer.version} is in force"
    if not told:
        return (
            "pending",
            f"version {answer.version} is in force, and the coordinator does not say which document",
        )
    return "overtaken", f"version {answer.version} is in force and is another document"


def within(edit: Edit, rules: Rules) -> bool:
    """Whether these rules hold already what the edit makes of them."""
    try:
        return dataclasses.replace(edit(rules), version=rules.version) == rules
    except (AlreadyThere, NotThere):
        return True


def _sha256(answer: Answer) -> str:
    try:
        told = json.loads(answer.body)["sha256"]
    except (ValueError, KeyError, TypeError):
        return ""
    return told if isinstance(told, str) else ""
