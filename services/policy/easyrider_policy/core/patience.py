"""Which boards a fresh coordinator leaves alone, since their jobs may not have been told to it yet."""

from typing import Final

import numpy as np

from easyrider_policy.core.fleet import Bools, Fleet

JOBS_TOLD_S: Final = 11.0
"""Telemetry says each running job again every 10 s: until then a board in no known job is not known to be idle."""


def waits(fleet: Fleet, in_job: Bools, told: Bools, tight: Bools) -> Bools:
    """(G,) boards that another leader limited (`told`) and no known job holds, below no tight domain (D,).

    A restart moves nothing; an overload does not wait for it.
    """
    # Padding (-1) asks for the last entry, which is nobody's and never tight.
    pad: Bools = np.concatenate([tight, np.zeros(1, dtype=np.bool_)])
    pressed: Bools = np.logical_or.reduce(np.take(pad, fleet.node_ancestors), axis=1)
    waiting: Bools = ~in_job & told & ~pressed[fleet.gpu_node]
    return waiting
