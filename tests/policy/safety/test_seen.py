"""What was shown since the newest ack counts, all of it; what was shown before counts no more, whatever came first."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from small_site import ack, fleet, led

from easyrider_policy.core.seen import nothing

ROWS = np.arange(1)
shown = st.tuples(st.just("shown"), st.sampled_from([100.0, 200.0, 300.0, 400.0]), st.integers(0, 3))
acked = st.tuples(st.just("acked"), st.just(0.0), st.integers(0, 5))


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(shown, shown, acked), max_size=30))
def test_no_limit_that_was_shown_after_the_newest_ack_is_forgotten(heard: list[tuple[str, float, int]]):
    seen, told, acked_ns = nothing(1), [], 0

    for now, (what, watts, late) in enumerate(heard, 1):
        at_ns = 10 * now - 7 * late  # made some time before it is heard
        if what == "acked":
            acked_ns = max(acked_ns, at_ns)
            seen.acked(ROWS, np.array([acked_ns]))
        elif at_ns > acked_ns:  # the ledger leaves what is older
            told.append((watts, at_ns))
            seen.show(ROWS, np.array([watts]), np.array([at_ns]))

        assert seen.high_w[0] >= max((watts for watts, at in told if at > acked_ns), default=0.0)
        if all(at <= acked_ns for _, at in told):
            assert seen.high_w[0] == 0.0


def test_frames_that_overtake_an_ack_do_not_keep_what_was_shown_before_it():
    ledger = led(fleet())
    enforced_w, boot = [640.0, 300.0], ledger.roll.boot[0]
    assert boot is not None

    for second in range(1, 9):
        ledger.frame_heard(0, boot, np.array(enforced_w), int((20.0 + second) * 1e9), second)
        enforced_w = [300.0, 300.0]  # the limit falls, and this is what frames show from then on
        ledger.frame_heard(0, boot, np.array(enforced_w), int((20.2 + second) * 1e9), second + 0.2)
        # made between the two, heard after both
        ledger.acked(ack(seq=1 + second, held_w=(300.0, 300.0), mono_s=20.1 + second), second + 0.3)

        assert ledger.counted_w(second + 0.3)[:2].tolist() == [300.0, 300.0]
