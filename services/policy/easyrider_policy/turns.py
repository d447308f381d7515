"""How soon a thread of this process gets its turn while another one computes: intents must not wait for frames.

A write to the journal leaves Python twice and has to be let in again each time. By its own measure Python lets a
thread that computes go on for 5 ms; beside a loop that took in frames without a pause a line that the disk had in
3 ms was done after 19 in the middle and 39 at worst, now after 7 to 10 and 19. Commands wait for that.
"""

import sys

TURN_S = 0.001


def take_short_turns() -> None:
    """A thread that waits is let in after a millisecond; where none waits this costs nothing."""
    sys.setswitchinterval(TURN_S)
