"""A flood: so many frames a second, beside those of the fleet, from nodes that no rules name.

`python bench/fleet_flood.py URL HZ` until it is told to stop.
"""

import asyncio
import sys
import time

import numpy as np

from fleet_frames import GPUS, Frames
from fleet_link import Link

NODES = range(80_000, 80_500)
BEAT_S = 0.01


async def run(url: str, hz: float) -> None:
    """For ever."""
    link = await Link.open(url, lambda _subject, _data: None)
    frames = Frames(NODES, slow=False)
    each = max(1, round(hz * BEAT_S))
    watts = np.full((each, GPUS), 300.0, dtype=np.float32)
    limit_mw = np.full((each, GPUS), 700_000, dtype=np.uint32)
    begun_s = time.monotonic()
    beat = 0
    while not link.lost:
        first = beat * each % (len(NODES) - each)
        stamps_ns = time.time_ns(), time.monotonic_ns()
        link.write(frames.lines(slice(first, first + each), beat, stamps_ns, watts, limit_mw))
        beat += 1
        await asyncio.sleep(max(0.0, begun_s + beat * BEAT_S - time.monotonic()))


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], float(sys.argv[2])))
