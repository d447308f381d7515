"""When the coordinator heard that a limit had dropped: from its journal to the referee.

The referee excuses a mixture of limits after a physical drop until half a second after it was heard of; it
imports nothing of ours, so it is told in a file of the run folder.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def tell_receipts(entries: Iterable[dict[str, Any]], received: Path) -> int:
    """Append the moment of every drop among new journal lines to `received`; how many there were."""
    heard_ns = [
        int(entry["boottime_ns"])
        for entry in entries
        if entry["what"] == "limit_moved" and entry["after"] < entry["before"]
    ]
    if heard_ns:
        with received.open("a") as file:
            file.writelines(json.dumps({"received_ns": at_ns}) + "\n" for at_ns in heard_ns)
    return len(heard_ns)
