import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from synthetic_jobs import NOTE, jobs

from easyrider_estimator.adapters import lightgbm_trees
from easyrider_estimator.core.model import Ready, decode, encode
from easyrider_estimator.core.training import train


@pytest.fixture(scope="session")
def ready() -> Ready:
    """A model of 300 SYNTHETIC jobs, as it comes back from a file."""
    model = train(
        jobs(300, seed=1), lightgbm_trees.grow, library=f"lightgbm {lightgbm_trees.version()}", made_unix_s=1.7e9,
        note=NOTE, progress=lambda _done, _of, _what: None,
    )  # fmt: skip
    return decode(encode(model))
