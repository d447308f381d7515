import asyncio
import copy
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "wiring"))

from scoped_site import GUARANTEED_W, ScopedSite


@pytest.fixture(scope="session")
def settled(tmp_path_factory: pytest.TempPathFactory) -> ScopedSite:
    """Every scope leads, every box works, every region has more than its guaranteed share."""
    found = ScopedSite(Path(tmp_path_factory.mktemp("scopes")))
    found.supply(4)
    asyncio.run(found.seconds(16))
    assert all((found.granted_w(name) or 0.0) > watts + 50 for name, watts in GUARANTEED_W.items())
    return found


@pytest.fixture
def site(settled: ScopedSite, tmp_path: Path) -> ScopedSite:
    """The same, of this test alone."""
    shutil.copytree(settled.folder, tmp_path / "disks")
    return copy.deepcopy(settled).on(tmp_path / "disks")
