import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forecast_region import Region, make_region


@pytest.fixture
def region() -> Region:
    """One node of eight GPUs."""
    return make_region({"n1": 8})


@pytest.fixture
def two_nodes() -> Region:
    """Two nodes of eight GPUs."""
    return make_region({"n1": 8, "n2": 8})
