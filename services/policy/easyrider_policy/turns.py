"""Who gets its turn when, inside the coordinator: intents must not wait for frames, and frames not for looks.

A write to the journal leaves Python twice and has to be let in again each time. By its own measure Python lets a
thread that computes go on for 5 ms; beside a loop that took in frames without a pause a line that the disk had in
3 ms was done after 19 in the middle and 39 at worst, now after 7 to 10 and 19. Commands wait for that.
"""

import sys

TURN_S = 0.001


def take_short_turns() -> None:
    """A thread that waits is let in after a millisecond; where none waits this costs nothing."""
    sys.setswitchinterval(TURN_S)


def rest_after_s(look_s: float, disk_s: float) -> float:
    """How long others have the loop after a look that held it for `look_s`, before what can wait is looked at.

    Whoever hears nodes must get a turn too: a look never takes more than half of the time, and where something cannot
    wait for the beat, never more than two thirds. While a look waited for the disk, others had their turn already.
    """
    return max(0.0, look_s - disk_s)


GATHERS, GATHERS_S = 1.5, 0.05
"""So many times what an answer took, and so long at most: an answer for many costs what one for one job does."""


def rest_after_glance_s(glance_s: float, disk_s: float) -> float:
    """How long others have the loop after an answer to those who woke, of which `disk_s` went to the disk."""
    took_s = max(0.0, glance_s - disk_s)
    return max(took_s, min(GATHERS * took_s, GATHERS_S))
