"""A meter above regions shows their draw too: it is theirs, and no load that nobody limits."""

import pytest
from scoped_site import GUARANTEED_W, rules
from test_lending import demand
from wired_box import at, reading

from easyrider import subjects
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.picture import Picture

HALL_W, AISLE_W = 1900.0, 900.0
NOW_S = 1100.0
"""Long after the start: the site's own node was never met, and counts as dark to a meter."""


@pytest.fixture
def desk() -> Desk:
    picture = Picture(rules(), "site", 1000.0)
    return Desk(picture, Coordinator(picture), lambda _line: None, lambda *_key: True)


def told(desk: Desk, region: str, drawn_w: float | None) -> None:
    word = demand(region, 1, observed_w=drawn_w, counted_w=drawn_w or 0.0)
    assert desk.picture.regions.heard(word, NOW_S)


def unmanaged_w(desk: Desk, shown_w: float) -> float:
    word = reading(NOW_S, shown_w, domain="feed", region="site")
    desk.on_meter(word, at(subjects.meter("site", "m"), NOW_S))
    return float(desk.picture.meters.present_w[desk.picture.fleet.domain_index["feed"]])


def test_what_regions_say_they_draw_is_not_unmanaged(desk: Desk) -> None:
    told(desk, "hall", HALL_W)
    told(desk, "aisle", AISLE_W)

    assert unmanaged_w(desk, HALL_W + AISLE_W + 130.0) == pytest.approx(130.0)


def test_of_a_region_that_does_not_say_what_it_could_draw_is_taken_as_its_own(desk: Desk) -> None:
    told(desk, "hall", HALL_W)

    aisle_w = desk.picture.regions.lending.planned_w(NOW_S)["aisle"]
    assert aisle_w >= GUARANTEED_W["aisle"]
    assert unmanaged_w(desk, HALL_W + aisle_w + 130.0) == pytest.approx(130.0)
