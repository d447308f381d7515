import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "policy" / "wiring"))

import pytest
from wired_site import Wired


@pytest.fixture
async def led() -> Wired:
    """A coordinator that leads, past the time in which nothing may rise; both boxes hold its limits."""
    wired = Wired()
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(12)
    assert wired.picture.safety.lead.phase == "leading"
    return wired
