"""A node that speaks with another boot id: what is believed, and what people are told of it."""

import numpy as np
import pytest
from test_handlers import sampled, say, show
from wired_site import Wired

from easyrider_policy import boots_heard


@pytest.fixture
def heard() -> Wired:
    """Both boxes have spoken once, and the fleet follows."""
    wired = Wired()
    for box in wired.boxes.values():
        say(wired, box)
    wired.picture.follow()
    return wired


def test_a_node_whose_boot_was_forged_once_is_a_reading_again_within_seconds(heard: Wired) -> None:
    show(heard, heard.boxes["b"], boot_id="nobody", mono_ns=5)
    sampled(heard)

    for _ in range(40):
        heard.clock.at_s += 0.1
        show(heard, heard.boxes["b"])

    assert np.isfinite(sampled(heard)[2:]).all()


def test_a_boot_that_was_replaced_is_told_of_and_counted(heard: Wired) -> None:
    before = boots_heard._EARLIER._value.get()
    show(heard, heard.boxes["b"], boot_id="nobody", mono_ns=5)

    for _ in range(20):
        show(heard, heard.boxes["b"])

    assert boots_heard._EARLIER._value.get() == before + 20
