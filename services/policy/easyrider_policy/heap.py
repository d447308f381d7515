"""How often this process looks for garbage in circles: what a large site holds stands for hours, and nearly none is.

By its own measure Python goes through all objects whenever a quarter more have come. With 1,000 nodes that kept
the loop for 40 ms at a time, with 4,000 for 110 ms, and found next to nothing: what dies here dies by count.
"""

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 50
"""Net allocations until the youngest are looked through; so many times until the next older ones are."""


def settle_collector() -> None:
    """Rarer collections; circles, small and few, wait longer for them."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)
