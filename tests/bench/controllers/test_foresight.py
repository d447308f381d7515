"""The oracle reads jobs ahead by the work they do, keeps the window, and finds the curve that comes nearest."""

import numpy as np
import pytest

from easyrider_bench.cases import Key
from easyrider_bench.controllers.contract import Entry, Floats, Observation, Site
from easyrider_bench.controllers.foresight import Window, nearest
from easyrider_bench.hall import Hall
from easyrider_bench.scenarios.names import case
from easyrider_bench.truths import true_speed, truth
from easyrider_policy.core import curves


class Least:
    """Holds every board at its device minimum."""

    def __init__(self, site: Site, _seed: int) -> None:
        self._least_w = site.min_w

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        return self._least_w


def test_jobs_are_read_ahead_by_work_done_and_not_by_the_clock() -> None:
    slowed = case(Key(scenario="mixed", oversub_pct=20, seed=1, seconds=60.0))
    hall = Hall([slowed], Entry(name="least", make=Least))
    hall.run()

    told = truth(
        0, slowed, slowed.until_s - 5.0, hall.timelines, hall.boards, hall.supply, hall.limits.enforced_w[0]
    )

    behind = 0
    for job, played_s in zip(hall.timelines.jobs, hall.timelines.played_s.tolist(), strict=True):
        for column, ahead_s in enumerate(told.ahead_s.tolist()):
            row = job.tape.row(played_s + ahead_s)
            assert told.natural_w[column, job.boards] == pytest.approx(job.tape.draw_w[row])
        behind += played_s < 0.8 * (slowed.until_s - job.begin_s)
    assert behind == len(hall.timelines.jobs)


def test_what_the_window_lacks_is_taken_off_what_may_be_drawn_next_and_never_given_twice() -> None:
    full, low = Window(0.1), Window(0.1)
    for _ in range(100):
        full.add(np.array([1100.0]))
        low.add(np.array([200.0]))

    over_w, under_w = full.left_w(np.array([1000.0]), 1.5), low.left_w(np.array([1000.0]), 1.5)

    assert 8.5 * 1100.0 + 1.5 * over_w[0] <= 10.0 * 1000.0 + 1e-6
    assert 1000.0 < under_w[0] <= (10.0 * 1000.0 - 8.5 * 200.0) / 1.5


@pytest.mark.parametrize(("memory", "least", "most"), [(False, 24, 32), (True, 0, 8)])
def test_the_nearest_curve_is_steep_for_computing_and_flat_for_waiting(
    memory: bool, least: int, most: int
) -> None:
    class Told:
        speed = staticmethod(true_speed)

    found = nearest(Told, memory, 1.0)  # type: ignore[arg-type]

    assert least <= found % curves.BUSY_CLASSES <= most
