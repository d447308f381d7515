"""What the coordinator's own journal says of a run: acks, raises that waited, the first verified plan."""

import json
from collections import Counter
from pathlib import Path
from typing import Any


def counts(journal: Path, from_ns: int = 0) -> Counter[str]:
    """How often each kind of line (`what`) was written since `from_ns` (boot clock); empty without a journal."""
    found: Counter[str] = Counter()
    for path in (journal.with_suffix(".1.jsonl"), journal):
        if not path.exists():
            continue
        for entry in _entries(path.read_bytes()):
            if entry.get("boottime_ns", 0) >= from_ns:
                found[entry["what"]] += 1
    return found


def verified(journal: Path) -> bool:
    """Whether the coordinator has written that its sums hold by read-back."""
    return journal.exists() and '"what":"verified"' in journal.read_text()


class JournalTail:
    """Follows the journal while it is written: what is new, and `counts` of every kind of line so far."""

    def __init__(self, journal: Path) -> None:
        self._path, self._offset, self._inode = journal, 0, 0
        self.counts: Counter[str] = Counter()

    def poll(self) -> list[dict[str, Any]]:
        """Whole lines written since the last call; the journal may not be there yet, or start anew."""
        try:
            with self._path.open("rb") as file:
                inode = self._path.stat().st_ino
                if inode != self._inode:
                    self._inode, self._offset = inode, 0
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        entries = list(_entries(whole))
        self.counts.update(entry["what"] for entry in entries)
        return entries


def _entries(data: bytes) -> list[dict[str, Any]]:
    whole = data[: data.rfind(b"\n") + 1]  # the last line may be half written
    return [json.loads(line) for line in whole.splitlines()]
