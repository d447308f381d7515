"""The dead-man as it is set when nobody sets it: 10 s and 60 s, on a boot clock that the test moves on."""

import sys
import time

import pytest

LOW, HIGH, FALLBACK = 220.0, 500.0, 250.0
LOOKS_S = 1.2
"""Real seconds in which a guardian looks at least twice."""

MOVED_ON = """
import pathlib, sys, time
ahead, real = pathlib.Path(sys.argv.pop(1)), time.clock_gettime_ns
def shown(clock):
    return real(clock) + (int(ahead.read_text()) if clock == time.CLOCK_BOOTTIME else 0)
time.clock_gettime_ns = shown
from easyrider_guardian.__main__ import main
raise SystemExit(main())
"""


class Silence:
    """A guardian with settings of nobody, whose boot clock runs as far ahead as a file says."""

    def __init__(self, node, folder):
        self.node, self.ahead = node, folder / "ahead_ns"
        self.ahead.write_text("0")
        self.mint_s = 0.0

    def start(self):
        self.node.start(program=[sys.executable, "-c", MOVED_ON, str(self.ahead)])

    def begin(self):
        """The last grant: one board below its fallback, the others above."""
        self.start()
        self.node.ready()
        command = self.node.limits(LOW, HIGH, HIGH, HIGH, fallback_w=FALLBACK)
        assert self.node.say(command).accepted
        self.mint_s = (command.nonce >> 15) / 1e6

    def lasts(self, silent_s):
        """So many seconds have passed since the mint of the last grant's nonce."""
        real_s = time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e9
        half = self.ahead.with_suffix(".half")
        half.write_text(str(round((self.mint_s + silent_s - real_s) * 1e9)))
        half.replace(self.ahead)

    def holds(self, *limits_w):
        """Nothing moves in two looks."""
        end_s = time.monotonic() + LOOKS_S
        while time.monotonic() < end_s:
            assert self.node.enforced_w() == list(limits_w)


@pytest.fixture
def silence(node, tmp_path):
    return Silence(node, tmp_path)


def test_the_first_stage_comes_at_ten_seconds_and_the_second_at_sixty_also_across_a_kill(
    silence, node, wait_until
):
    silence.begin()

    silence.lasts(10.0 - LOOKS_S - 0.5)
    silence.holds(LOW, HIGH, HIGH, HIGH)
    silence.lasts(10.0)
    wait_until(lambda: node.enforced_w() == [LOW, FALLBACK, FALLBACK, FALLBACK], LOOKS_S)
    silence.lasts(35.0)
    node.kill()
    silence.lasts(60.0 - LOOKS_S - 2.5)
    silence.start()  # what it has counted so far is on its disk
    silence.lasts(60.0 - LOOKS_S - 0.5)
    silence.holds(LOW, FALLBACK, FALLBACK, FALLBACK)
    assert node.state().stage == 1
    silence.lasts(60.0)

    wait_until(lambda: node.enforced_w() == [FALLBACK] * 4, LOOKS_S)
    assert node.state().stage == 2
    assert [line["cause"] for line in node.lines()[4:]] == ["dead_man_1"] * 3 + ["dead_man_2"]


def test_a_guardian_that_was_killed_before_the_first_stage_and_starts_after_the_second_is_in_it(
    silence, node, wait_until
):
    silence.begin()
    silence.lasts(5.0)
    node.kill()

    silence.lasts(61.0)
    silence.start()

    wait_until(lambda: node.enforced_w() == [FALLBACK] * 4, 5)
    assert node.state().stage == 2
