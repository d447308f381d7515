"""Whether a service says that it is ready."""

import urllib.error
import urllib.request
from pathlib import Path


def is_ready(address_file: Path) -> bool:
    """Whether the service that wrote its health address there answers that it is ready."""
    try:
        address = address_file.read_text().strip()
        with urllib.request.urlopen(f"http://{address}/ready", timeout=1.0) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False
