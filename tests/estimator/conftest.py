import pytest
from synthetic_jobs import model_file

from easyrider_estimator.core.model import Ready, decode


@pytest.fixture(scope="session")
def ready() -> Ready:
    """A model of 300 SYNTHETIC jobs, as it comes back from a file."""
    return decode(model_file())
