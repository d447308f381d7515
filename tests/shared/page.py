"""Blocks of code in a page of the documentation, so that tests run what people read."""

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its language, the word after it, its text, and the last line that stands before it."""

    language: str
    where: str
    text: str
    before: str


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in their order."""
    text = page.read_text()
    return [
        Block(found[1], found[2] or "", found[3], text[: found.start()].rstrip().rsplit("\n", 1)[-1])
        for found in _BLOCK.finditer(text)
    ]
