import sys
from pathlib import Path

import pytest

from easyrider.testing.servers import nats_server

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def nats():
    with nats_server() as server:
        yield server
