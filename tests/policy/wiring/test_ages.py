"""How old a message is, by the sender's own clock and the receiver's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider_policy.core.ages import Ages

SECOND = 1_000_000_000


def age_s(ages: Ages, made_s: float, arrives_s: float, boot: str = "b", ahead_s: float = -5000.0) -> float:
    arrives_s = int(arrives_s * SECOND) / SECOND
    minted_s = ages.minted_s("n", boot, int((made_s + ahead_s) * SECOND), int(arrives_s * SECOND))
    return arrives_s - minted_s


@given(
    frozen_s=st.floats(0.0, 3600.0),
    ahead_s=st.floats(-1e6, 1e6),
    delay_s=st.floats(0.0, 0.05),
    beats=st.integers(1, 40),
)
def test_a_bus_that_was_frozen_shows_messages_as_old_as_it_was_frozen(
    frozen_s: float, ahead_s: float, delay_s: float, beats: int
) -> None:
    ages = Ages()
    for beat in range(beats):
        age_s(ages, 2e6 + beat, 2e6 + beat + delay_s, ahead_s=ahead_s)

    made_s = 2e6 + beats
    shown_s = age_s(ages, made_s, made_s + delay_s + frozen_s, ahead_s=ahead_s)

    assert abs(shown_s - frozen_s) < 1e-3


@given(times=st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from("xyz")), max_size=60))
def test_no_message_is_ever_younger_than_its_arrival(times: list[tuple[float, float, str]]) -> None:
    ages = Ages()

    assert all(age_s(ages, made_s, arrives_s, boot) >= -1e-9 for made_s, arrives_s, boot in times)


def test_a_reboot_begins_a_clock_of_its_own() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0)

    rebooted = age_s(ages, 1050.0, 1050.0, boot="c", ahead_s=-1050.0)
    frozen = age_s(ages, 1051.0, 1057.0, boot="c", ahead_s=-1050.0)

    assert rebooted == 0.0
    assert abs(frozen - 6.0) < 1e-6


def test_late_words_of_old_boots_do_not_make_the_present_one_forget_its_clock() -> None:
    ages = Ages()
    for number, boot in enumerate("abcabc"):
        age_s(ages, 1000.0 + number, 1000.0 + number, boot=boot)
        age_s(ages, 1000.5 + number, 1000.5 + number, boot="now")

    assert abs(age_s(ages, 1010.0, 1016.0, boot="now") - 6.0) < 1e-6


def test_a_clock_that_drifts_is_followed_within_ten_minutes() -> None:
    ages = Ages()
    for second in range(7200):  # the source's clock runs 200 millionths slow
        shown_s = age_s(ages, second * (1 - 2e-4), float(second))

    assert shown_s < 0.15


def test_after_an_hour_of_silence_a_backlog_does_not_pass_for_fresh() -> None:
    ages = Ages()
    for second in range(120):
        age_s(ages, float(second), float(second))

    assert age_s(ages, 121.0, 3721.0) > 3599.0


def ahead(ages: Ages, made_s: float, arrives_s: float) -> bool:
    return ages.ahead("n", "b", int(made_s * SECOND), int(arrives_s * SECOND))


def test_a_clock_far_ahead_is_believed_when_nothing_else_is_heard_of_its_boot_for_seconds() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)

    heard = [ahead(ages, 1060.0 + tenth / 10, 1000.0 + tenth / 10) for tenth in range(40)]

    assert heard[:20] == [True] * 20
    assert not heard[20]


def test_a_clock_far_ahead_is_never_believed_beside_the_right_one() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)

    for tenth in range(1, 200):
        now_s = 1000.0 + tenth / 10
        assert ahead(ages, now_s + 60.0, now_s)
        assert not ahead(ages, now_s, now_s)


def test_stamps_far_ahead_that_do_not_go_on_from_each_other_are_never_believed() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)

    assert all(ahead(ages, 2000.0 + 100.0 * second, 1000.0 + second) for second in range(60))


def test_a_boot_that_was_never_heard_may_show_any_clock_but_one_that_no_host_lives_to_see() -> None:
    assert not ahead(Ages(), 5e8, 1.0)
    assert ahead(Ages(), 2e9, 1.0)


def all_ahead(ages: Ages, made_s: float, arrives_s: float) -> bool:
    """Asked of one source as of several."""
    slots = np.array([ages.slot("n", "b")])
    return bool(ages.all_ahead(slots, *(np.array([int(at_s * SECOND)]) for at_s in (made_s, arrives_s)))[0])


def test_what_runs_ahead_is_asked_for_one_by_one_also_of_a_boot_that_was_never_heard() -> None:
    ages = Ages()
    assert all_ahead(ages, 2e9, 1.0)
    assert not all_ahead(ages, 5e8, 1.0)

    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)
    assert not all_ahead(ages, 1004.0, 1000.0)
    assert all_ahead(ages, 1006.0, 1000.0)


def test_the_right_clock_keeps_the_wrong_one_from_being_believed_also_among_others() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)

    for tenth in range(1, 100):
        now_s = 1000.0 + tenth / 10
        assert ahead(ages, now_s + 60.0, now_s)
        assert not all_ahead(ages, now_s, now_s)


def test_a_boot_does_not_wait_for_what_another_one_waited_in_its_slot() -> None:
    ages = Ages()
    age_s(ages, 1000.0, 1000.0, ahead_s=0.0)
    assert ahead(ages, 1060.0, 1000.0)
    slot = ages.slot("n", "b")
    for second, boot in enumerate("xy", 1):
        age_s(ages, 1000.0 + second, 1000.0 + second, boot=boot, ahead_s=0.0)

    assert ages.slot("n", "y") == slot
    assert ages.ahead("n", "y", int(1063.0 * SECOND), int(1003.0 * SECOND))


@pytest.mark.parametrize("together", [False, True])
def test_the_boot_heard_last_is_not_the_one_that_is_forgotten(together: bool) -> None:
    ages = Ages()
    slot = ages.slot("n", "now")
    age_s(ages, 1000.0, 1000.0, boot="late")
    if together:
        ages.all_minted_s(*(np.array([each]) for each in (slot, 1001 * SECOND, 1001 * SECOND)))
    else:
        age_s(ages, 1001.0, 1001.0, boot="now")

    ages.slot("n", "later")

    assert ages.slot("n", "now") == slot
    assert ages.forgotten == 1
