"""`python -m easyrider_policy_api.describe`: writes docs/openapi.json from the code; a test keeps it fresh."""

import json
import sys
from pathlib import Path

from easyrider_policy_api.app import build


def document() -> str:
    """The description as it is committed."""
    return json.dumps(build(None).openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/openapi.json").write_text(document())
