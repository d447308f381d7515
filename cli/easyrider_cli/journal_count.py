"""What the coordinator's own journal says of a run: acks, raises that waited, the first verified plan."""

import json
from collections import Counter
from pathlib import Path


def counts(journal: Path, from_ns: int = 0) -> Counter[str]:
    """How often each kind of line (`what`) was written since `from_ns` (boot clock); empty without a journal."""
    found: Counter[str] = Counter()
    for path in (journal.with_suffix(".1.jsonl"), journal):
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry.get("boottime_ns", 0) >= from_ns:
                found[entry["what"]] += 1
    return found


def verified(journal: Path) -> bool:
    """Whether the coordinator has written that its sums hold by read-back."""
    return journal.exists() and '"what":"verified"' in journal.read_text()
