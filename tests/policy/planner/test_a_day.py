"""Twenty-four hours of virtual time of the pure core: no limit is broken, nothing leaks, nothing drifts."""

import gc
import time
import tracemalloc

import pytest
from small_world import site

from day import Day

HOURS = 24


def a_site():
    """A UPS that is short of watts at full load; on one PDU `hard_limit_w` and `target_w` are the same."""
    return site(ups_w=31_000.0, pdu_w=17_500.0, hard_is_target=("pdu-a",))


def a_day(seed):
    day = Day(a_site(), [], meters=True)
    day.begin(seed)
    return day


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_day_of_jobs_stalls_losses_and_silence_breaks_no_limit_and_leaks_nothing(record_property):
    day = a_day(1)
    day.run(3600)
    gc.collect()
    after_an_hour = len(gc.get_objects())

    began_s = time.process_time()
    for _ in range(HOURS - 1):
        day.run(3600)
    spent_s = (time.process_time() - began_s) * HOURS / (HOURS - 1)
    record_property("cpu_s_for_a_day", round(spent_s, 1))
    print(f"a day of virtual time takes {spent_s:.0f} s of one core")

    gc.collect()
    assert day.plans == HOURS * 3600
    assert day.started > 150
    assert day.moves > 10_000
    assert day.worst_over_w <= 1e-6, f"the sum of limits exceeds a hard limit by {day.worst_over_w} W"
    assert day.worst_target_share <= 1.005, f"a 10 s mean is at {day.worst_target_share} of its target"
    assert len(gc.get_objects()) < 1.2 * after_an_hour + 5_000


@pytest.mark.timeout(300)
def test_ten_minutes_of_plans_leave_no_memory_behind():
    day = a_day(2)
    day.run(900)
    gc.collect()
    tracemalloc.start()
    day.run(60)
    before, _ = tracemalloc.get_traced_memory()

    day.run(600)

    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 600_000


def test_the_same_seed_gives_the_same_day():
    one, two = a_day(3), a_day(3)

    one.run(1200)
    two.run(1200)

    assert (one.limit_w == two.limit_w).all()
    assert one.moves == two.moves
