"""What went wrong at other sites with writes and read-back, as it must go here: the guardian's own decisions."""

import numpy as np

from easyrider.messages import GpuLimit
from easyrider_guardian.core.records import Holding, Reading
from easyrider_guardian.core.repair import QUARANTINE_AFTER, Record, due, matches, took
from easyrider_guardian.core.vector import weigh

S = 1_000_000_000


def read(requested_w: float, enforced_w: float) -> Reading:
    """A board that takes 100 to 400 W."""
    return Reading(min_w=100.0, max_w=400.0, default_w=400.0, requested_w=requested_w, enforced_w=enforced_w)


def test_b004_a_board_that_takes_no_limit_is_never_corrected_although_its_limit_moves():
    held = Holding(present_w=35.0, fallback_w=35.0)

    writes = [
        due(held, read(w, w), Record(blocked="not_supported"), 0, t * S) for t, w in enumerate((35, 80, 95))
    ]

    assert writes == [None, None, None]


def test_b006_an_outside_cap_is_not_fought_in_sixty_seconds_of_any_stage():
    held = Holding(present_w=300.0, fallback_w=200.0)

    writes = [due(held, read(300.0, 155.0), Record(), stage, t * S) for stage in (0, 1) for t in range(60)]
    (entry,) = weigh(
        [GpuLimit(uuid="g", limit_w=300.0, fallback_w=200.0)], {"g": read(300.0, 155.0)}, {}, {"g": 300.0}, {}
    )

    assert writes == [None] * 120
    assert not entry.lowers
    assert not entry.raises


def test_b008_every_write_that_had_another_effect_is_found_and_none_above_lasts_and_three_in_a_row_end_it():
    rng, record, found, above_s, longest_s = np.random.default_rng(8), Record(), 0, 0.0, 0.0
    held = Holding(present_w=250.0, fallback_w=200.0)
    happened = 0
    for second in range(1000):
        enforced_w = float(rng.choice([250.0] * 18 + [180.0, 330.0]))
        # A driver's success with another effect: what was asked stands as it reads it back, too.
        reading = read(enforced_w, enforced_w)
        happened += enforced_w != 250.0
        verified = matches(250.0, reading)
        found += not verified
        record = took(record, verified, second * S)
        above_s = above_s + 1.0 if enforced_w > 250.0 else 0.0
        longest_s = max(longest_s, above_s)
        if enforced_w > 250.0 and not record.quarantined:
            assert due(held, reading, record, 0, (second + 1) * S) == 250.0, "written again within a period"

    assert found == happened > 50
    assert longest_s <= 2.0
    three = Record()
    for second in range(QUARANTINE_AFTER):
        three = took(three, matches(250.0, read(330.0, 330.0)), second * S)
    assert three.quarantined
    (entry,) = weigh(
        [GpuLimit(uuid="g", limit_w=300.0, fallback_w=200.0)], {"g": read(250.0, 250.0)}, {}, {"g": 250.0}, {},
        frozenset({"g"}),
    )  # fmt: skip
    assert entry.refused == "quarantined"
