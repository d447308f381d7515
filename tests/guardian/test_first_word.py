"""What a guardian that was started again says first: what its boards hold, not that it has not looked yet."""

import signal
import time

from easyrider.guardian_link import GuardianLink, LinkBroken
from easyrider.messages import NodeState

SLOW_CALL_NS = 20_000_000
HANGS_US = 20_000_000


def first_state(node, within_s: float = 10.0) -> NodeState:
    """The first state that anybody is told after the start."""
    end_s = time.monotonic() + within_s
    while True:
        try:
            with GuardianLink.open(node.socket) as link:
                return link.state()
        except (LinkBroken, OSError):
            assert time.monotonic() < end_s


def limited_and_stopped(node) -> None:
    node.start("--keep")
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    node.signal(signal.SIGTERM)
    assert node.exit_code(6) == 0


def test_the_first_state_after_a_restart_tells_what_every_board_holds(node):
    limited_and_stopped(node)
    node.boards.header["call_latency_ns"] = SLOW_CALL_NS

    node.launch()

    state = first_state(node)
    assert [gpu.enforced_w for gpu in state.gpus] == [400.0] * 4
    assert all(gpu.settable for gpu in state.gpus)


def test_a_board_that_hangs_delays_the_first_word_by_a_second_and_no_more(node):
    limited_and_stopped(node)
    node.boards.gpus["fault_delay_us"][2] = HANGS_US

    began_s = time.monotonic()
    node.launch()

    state = first_state(node)
    assert time.monotonic() - began_s < 6.0
    assert sum(gpu.enforced_w is None for gpu in state.gpus) >= 1
