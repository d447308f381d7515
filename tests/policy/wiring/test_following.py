"""When news of boards and jobs is taken in: at once on a small site, not for each piece of it on a large one."""

import pytest
from wired_box import REGION, Box, at, job
from wired_site import Wired

from easyrider import subjects
from easyrider_policy import coordinator


def told(wired: Wired, box: Box) -> None:
    wired.desk.on_state(box.state(wired.now_s), at(subjects.state(REGION, box.name), wired.now_s))


def starts(wired: Wired, name: str) -> None:
    event = job(wired.now_s, job=name)
    wired.desk.on_job(event, at(subjects.job(REGION, name), wired.now_s))


def test_a_small_site_takes_in_every_board_and_job_at_the_next_look() -> None:
    wired = Wired()
    for count, box in enumerate(wired.boxes.values(), 1):
        told(wired, box)
        wired.clock.at_s += 0.05
        wired.coordinator.look(wired.now_s)
        assert len(wired.picture.fleet.gpus) == 2 * count
    starts(wired, "j1")
    wired.clock.at_s += 0.05
    wired.coordinator.look(wired.now_s)

    assert "j1" in wired.picture.observation.job_rows


def test_on_a_large_site_boards_wait_for_others_and_jobs_do_not_wait_for_boards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator, "BOARDS_WAIT_S", 1.0)  # by board: as four thousand of them would make it
    wired = Wired()
    first, second = wired.boxes.values()
    told(wired, first)
    wired.coordinator.look(wired.now_s)
    told(wired, second)
    starts(wired, "j1")
    wired.clock.at_s += 1.0
    wired.coordinator.look(wired.now_s)
    early = len(wired.picture.fleet.gpus), "j1" in wired.picture.observation.job_rows
    wired.clock.at_s += 4.5
    wired.coordinator.look(wired.now_s)

    assert early == (2, True)
    assert len(wired.picture.fleet.gpus) == 4


def test_jobs_that_go_on_moving_do_not_keep_boards_waiting_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "BOARDS_WAIT_S", 5.0)
    wired = Wired()
    first, second = wired.boxes.values()
    told(wired, first)
    wired.coordinator.look(wired.now_s)
    told(wired, second)
    for count in range(60):
        starts(wired, f"j{count % 2}")
        starts(wired, f"k{count}")
        wired.clock.at_s += 0.1
        wired.coordinator.look(wired.now_s)

    assert len(wired.picture.fleet.gpus) == 4
