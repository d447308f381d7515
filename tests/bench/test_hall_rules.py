"""What the hall counts and what it shows: sum rule, moves, windows, late and rounded meters, silent nodes."""

import pickle

import numpy as np
import pytest

from easyrider_bench.batches import run_batch
from easyrider_bench.cases import WARM_UP_S, Case, Key
from easyrider_bench.controllers.contract import Controller, Entry, Floats, Observation, Site
from easyrider_bench.hall import Hall
from easyrider_bench.limits import Limits, NoLimits
from easyrider_bench.scenarios.names import case
from easyrider_bench.sums import Sums
from easyrider_bench.windows import drop_windows


def hall_of(scenario: str, level: int = 30, seconds: float = 60.0) -> Case:
    return case(Key(scenario=scenario, oversub_pct=level, seed=1, seconds=seconds))


def ground(of: Case) -> tuple[Floats, Floats, Floats]:
    """(hard limits, shares, loads of strangers) in normal operation."""
    site = of.site
    return np.array([d.hard_limit_w for d in site.domains]), site.carries, np.zeros(len(site.domains))


def allowed_w(site: Site) -> float:
    """The limit of every board at which the rack's hard limit is filled exactly."""
    standing_w = site.overhead_w.sum() + sum(domain.fixed_w for domain in site.domains)
    return float((site.domains[0].hard_limit_w - standing_w) / (1.23 * site.gpus))


def test_limits_that_could_draw_too_much_count_for_as_long_as_they_stand() -> None:
    of = hall_of("mixed")
    sums, at_w = Sums(of, np.ones(64)), allowed_w(of.site)

    sums.stand(WARM_UP_S + 1.0, np.full(64, at_w + 1.0), *ground(of))
    sums.stand(WARM_UP_S + 1.5, np.full(64, at_w - 1.0), *ground(of))
    sums.until(WARM_UP_S + 60.0)

    assert sums.broken_s == pytest.approx(0.5)
    assert sums.worst_w == pytest.approx(64 * 1.23, rel=1e-6)


def test_a_card_that_overshoots_counts_what_it_draws() -> None:
    of = hall_of("mixed")
    sums = Sums(of, np.full(64, 1.02))

    sums.stand(WARM_UP_S, np.full(64, allowed_w(of.site) / 1.01), *ground(of))
    sums.until(WARM_UP_S + 0.2)

    assert sums.broken_s == pytest.approx(0.2)


def test_nothing_counts_before_the_jobs_begin() -> None:
    of = hall_of("mixed")
    sums = Sums(of, np.ones(64))

    sums.stand(0.0, np.full(64, 700.0), *ground(of))
    sums.stand(WARM_UP_S - 0.5, np.full(64, 200.0), *ground(of))
    sums.until(WARM_UP_S + 60.0)

    assert sums.broken_s == 0.0


def test_what_fitted_before_a_limit_dropped_is_excused_until_its_window_ends_and_no_more_than_that() -> None:
    of = hall_of("module_lost")
    hard_w, shares, none_w = ground(of)
    (begin_s, end_s), *_ = drop_windows(of)[0]
    dropped_w = hard_w.copy()
    dropped_w[0] *= 0.8
    excused, grown = Sums(of, np.ones(64)), Sums(of, np.ones(64))

    excused.stand(begin_s, np.full(64, allowed_w(of.site)), dropped_w, shares, none_w)
    excused.until(end_s + 0.1)
    grown.stand(begin_s, np.full(64, allowed_w(of.site) + 1.0), dropped_w, shares, none_w)
    grown.until(end_s)

    assert end_s - begin_s == pytest.approx(0.7)  # 0.5 s after the news, which takes 0.2 s
    assert excused.broken_s == pytest.approx(0.1)
    assert grown.broken_s == pytest.approx(0.7)


def test_a_feed_that_has_to_carry_all_is_judged_by_all() -> None:
    of = hall_of("feed_lost", 20)
    hard_w, shares, none_w = ground(of)
    alone = shares.copy()
    alone[3], alone[4] = 0.0, 1.0
    sums, limit_w = Sums(of, np.ones(64)), np.full(64, 500.0)

    sums.stand(WARM_UP_S, limit_w, hard_w, shares, none_w)
    sums.stand(WARM_UP_S + 1.0, limit_w, hard_w, alone, none_w)
    sums.until(WARM_UP_S + 2.0)

    assert sums.broken_s == pytest.approx(1.0)
    assert list(drop_windows(of)) == [4]


def _sent(limits: Limits, at_s: float, watts: float) -> None:
    limits.send(0, at_s, np.full(64, watts))
    while limits.apply(at_s + 1.0):
        pass


def test_a_limit_turns_when_it_comes_back_by_a_hundredth_of_the_rating() -> None:
    limits = Limits([hall_of("mixed")])

    for number, watts in enumerate((600.0, 500.0, 505.0, 502.0, 508.0, 400.0)):
        _sent(limits, WARM_UP_S + number, watts)

    assert (limits.changes[0] == 6).all()
    assert (limits.turns[0] == 2).all()  # 5 W and 6 W up are none, 8 W are one, and so is the fall after it


def test_a_command_that_was_overtaken_changes_nothing() -> None:
    limits = Limits([hall_of("mixed")])
    limits.send(0, 20.0, np.full(64, 300.0))
    limits.send(0, 20.0, np.full(64, 400.0))

    while limits.apply(21.0):
        pass

    assert (limits.enforced_w == 400.0).all()


def test_nodes_differ_in_when_they_enforce_and_limits_stay_in_their_range() -> None:
    limits, moments = Limits([hall_of("mixed")]), set()
    limits.send(0, 20.0, np.full(64, 100.0))

    while changed := limits.apply(21.0):
        moments |= {round(at_s - 20.0, 3) for _, at_s in changed}

    assert len(moments) > 1
    assert moments <= {0.04, 0.06, 0.08, 0.1, 0.12}
    assert (limits.enforced_w == 200.0).all()


class Watcher:
    """Keeps what it is shown."""

    def __init__(self, _site: Site, _seed: int) -> None:
        self.seen: list[Observation] = []

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        self.seen.append(seen)
        return None


def watched(of: Case, *, exact: bool = False) -> tuple[Hall, list[Observation]]:
    hall = Hall([of], Entry(name="watcher", make=Watcher, period_s=0.1, exact=exact))
    hall.run()
    watcher = hall.controllers[0]
    assert isinstance(watcher, Watcher)
    return hall, watcher.seen


def test_meters_come_late_and_rounded_and_exact_ones_do_not() -> None:
    of = hall_of("bigjob", seconds=20.0)
    (hall, late), (_, exact) = watched(of), watched(of, exact=True)

    told = [each for each in late if each.meter_fresh[0]]
    assert all(each.meter_w[0] % 10.0 == 0.0 for each in told)
    assert {round(float(each.meter_age_s[0]), 2) for each in told} == {0.3}
    assert len(told) == pytest.approx(35.0, abs=1.0)
    assert exact[-1].meter_age_s[0] == pytest.approx(0.0, abs=1e-6)
    assert exact[-1].meter_w[0] == pytest.approx(float(hall.supply.wall_w[0, 0]), rel=0.03)


def test_jobs_and_losses_are_told_after_the_delay_and_limits_in_force_with_them() -> None:
    of = hall_of("module_lost")
    _, seen = watched(of)
    loss = of.losses[0]

    told = [(each.now_s, event) for each in seen for event in each.events]
    started = [(now_s, event) for now_s, event in told if event.kind == "job_started"]
    assert len(started) == 7
    assert all(0.2 - 1e-6 <= now_s - event.at_s <= 0.3 + 1e-6 for now_s, event in started)
    changed = [now_s for now_s, event in told if event.kind == "supply_changed"]
    assert changed[0] == pytest.approx(loss.begin_s + 0.2, abs=0.1)
    lost = [each for each in seen if each.modules_ok[0] == 4]
    assert lost[0].hard_w[0] == pytest.approx(0.8 * of.site.domains[0].hard_limit_w)
    assert lost[-1].now_s == pytest.approx(loss.end_s + 0.2, abs=0.1)


def test_a_silent_node_shows_no_sample_and_its_limits_are_still_read_back() -> None:
    of = hall_of("dead_telemetry")
    _, seen = watched(of)

    dead = [each for each in seen if each.silent_s[2] > 0]
    mine = of.site.node_of == 2
    assert len(dead) == pytest.approx(300, abs=2)
    assert all(np.isnan(each.instant_w[:, mine]).all() for each in dead)
    assert all(np.isfinite(each.instant_w[:, ~mine]).all() for each in dead)
    assert np.isfinite(dead[-1].enforced_w).all()


def test_a_fast_swing_shows_as_a_slow_wave_where_there_is_no_energy_counter() -> None:
    of = hall_of("aliasing", seconds=60.0)
    _, seen = watched(of)

    swinging = np.isin(of.site.node_of, (0, 2, 4, 6))
    last = seen[-300:]
    assert all(np.isnan(each.energy_w[:, swinging]).all() for each in last)
    assert all(np.isfinite(each.energy_w[:, ~swinging]).all() for each in last)
    instant_w = np.array([each.instant_w[-1, 0] for each in last])
    above = instant_w > np.median(instant_w)
    crossings = np.count_nonzero(np.diff(above.astype(int)))
    assert crossings < 150  # of 300 looks: a true swing of 9.6 Hz would turn at almost every one


class NotANumber:
    """Answers nonsense."""

    def __init__(self, _site: Site, _seed: int) -> None:
        pass

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        return np.full(64, np.nan)


def test_an_answer_that_is_no_limit_ends_the_bench_by_name_also_out_of_a_worker() -> None:
    with pytest.raises(NoLimits, match="nonsense in mixed") as fault:
        Hall([hall_of("mixed")], Entry(name="nonsense", make=NotANumber)).run()

    assert str(pickle.loads(pickle.dumps(fault.value))) == str(fault.value)


class Cap:
    """One cap for all, said once."""

    def __init__(self, site: Site, _seed: int) -> None:
        self._cap_w = np.full(site.gpus, 310.0)

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        return self._cap_w


def test_a_whole_run_of_nobody_and_of_a_cap_gives_the_figures_of_both() -> None:
    make: type[Controller] = Cap
    keys = [Key(scenario="module_lost", oversub_pct=60, seed=seed, seconds=150.0) for seed in (1, 2)]

    nobody = run_batch(Entry(name="none", make=None), keys)
    capped = run_batch(Entry(name="cap", make=make), keys)

    assert [done.figures.trips for done in nobody] == [1, 1]
    assert all(done.figures.work_lost_pct > 20 for done in nobody)
    assert all(done.figures.changes_per_min == 0 for done in nobody)
    assert [done.figures.trips for done in capped] == [0, 0]
    assert all(10 < done.figures.work_lost_pct < 50 for done in capped)
    assert all(done.figures.sum_rule_s == 0.0 for done in capped)
    assert all(done.figures.heat_max == 0.0 for done in capped)


class Asks:
    """Holds every board at 300 W and keeps what it was shown."""

    def __init__(self, site: Site, seen: list[Observation]) -> None:
        self._limit_w, self._seen = np.full(site.gpus, 300.0), seen

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        """The same limits at all times."""
        self._seen.append(seen)
        return self._limit_w


def test_boards_say_that_a_power_cap_slows_them_once_a_second_and_idle_ones_do_not() -> None:
    of, looks = hall_of("mixed", seconds=60.0), list[Observation]()

    Hall([of], Entry(name="asks", make=lambda site, _: Asks(site, looks), period_s=0.1)).run()

    early, last = looks[20], looks[-1]
    assert not early.flagged.any()
    busy = last.energy_w[-1] > 250.0
    assert last.flagged[busy].mean() > 0.9
    turns = np.sum([a.flagged != b.flagged for a, b in zip(looks[-60:-1], looks[-59:], strict=True)], axis=0)
    assert turns.max() <= 6  # of six seconds, whatever a board does within one


def test_what_is_only_shown_is_run_at_few_levels_and_seeds() -> None:
    shown = Entry(name="shown", make=None, seeds=1, levels=(30,))

    assert shown.runs(30, 1)
    assert not shown.runs(30, 2)
    assert not shown.runs(40, 1)
    assert Entry(name="all", make=None).runs(40, 3)
