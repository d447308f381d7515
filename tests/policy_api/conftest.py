import sys
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from inner_house import Inner


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Inner]:
    """The application in this process, before a bus and a store in memory, with a coordinator that answers."""
    async with Inner.open(tmp_path) as inner:
        yield inner
