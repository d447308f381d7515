"""The twin's truth and the guardians' read-backs as curves."""

import json
from pathlib import Path
from typing import Any

import pytest

from easyrider_cli.limit_tracks import limit_track
from easyrider_cli.moments import moment, phase
from easyrider_cli.truth import TruthTail, power_history, start_ns, work_histories
from easyrider_twin.rack import demo_world
from easyrider_twin.world import World

NS = 1_000_000_000


def sample(t_s: float, *, held: bool = False, **more: Any) -> str:
    watts = {"ups": 100.0 + t_s}
    told = {"boottime_ns": int(t_s * NS), "t_s": t_s, "held": held, "wall_w": watts, "tripped": [], **more}
    return json.dumps(told | {"hard_w": {"ups": 200.0}, "target_w": {"ups": 160.0}}) + "\n"


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.jsonl"
    work = {"jobs": {"a": {"work_s": 0.5, "uncapped_work_s": 1.0}}}
    start = json.dumps({"event": "start", "boottime_ns": 77, "t_s": 0.0}) + "\n"
    path.write_text(sample(0.0, held=True) + start + sample(1.0, **work) + sample(1.1) + sample(9.0))
    return path


def test_power_is_taken_from_the_start_of_the_jobs_to_the_end_of_the_run(truth: Path) -> None:
    history = power_history(truth, 5.0)

    assert history.t_s.tolist() == [1.0, 1.1]
    assert history.wall_w["ups"].tolist() == [101.0, 101.1]
    assert history.hard_w["ups"].tolist() == [200.0, 200.0]


def test_work_is_taken_where_it_was_told(truth: Path) -> None:
    history = work_histories(truth, 5.0)["a"]

    assert history.t_s.tolist() == [1.0]
    assert (history.work_s / history.uncapped_work_s).tolist() == [0.5]


def test_the_start_of_the_jobs_is_known_on_the_boot_clock(truth: Path, tmp_path: Path) -> None:
    assert start_ns(truth) == 77
    (tmp_path / "empty").write_text(sample(0.0, held=True))
    with pytest.raises(ValueError, match="no start"):
        start_ns(tmp_path / "empty")


def test_the_tail_gives_the_newest_whole_sample(truth: Path) -> None:
    tail = TruthTail(truth)

    assert (tail.poll() or {})["t_s"] == 9.0
    assert tail.poll() is None
    with truth.open("a") as file:
        file.write(sample(9.1) + sample(9.2)[:20])
    assert (tail.poll() or {})["t_s"] == 9.1


def read_backs(path: Path, *lines: tuple[float, str, float | None]) -> Path:
    told = [{"stamp_ns": int(t_s * NS), "uuid": uuid, "enforced_w": w} for t_s, uuid, w in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in told))
    return path


def test_a_limit_track_is_the_mean_over_the_boards_of_a_job(tmp_path: Path) -> None:
    one = read_backs(tmp_path / "1", (9.0, "a", 200.0), (12.0, "a", 400.0), (13.0, "x", 1.0))
    two = read_backs(tmp_path / "2", (11.0, "b", 300.0), (14.0, "b", None), (99.0, "b", 700.0))

    t_s, limit_w = limit_track([one, two], frozenset("ab"), 700.0, 10 * NS, 5.0)

    assert t_s.tolist() == [0.0, 1.0, 2.0, 5.0]
    assert limit_w.tolist() == [450.0, 250.0, 350.0, 350.0]


def test_boards_never_written_hold_their_first_limit(tmp_path: Path) -> None:
    t_s, limit_w = limit_track([tmp_path / "none"], frozenset("a"), 700.0, 0, 5.0)

    assert (t_s.tolist(), limit_w.tolist()) == ([0.0, 5.0], [700.0, 700.0])


@pytest.fixture(scope="module")
def world() -> World:
    return demo_world(1, 120.0)


def rack(world: World, t_s: float, share: float) -> dict[str, Any]:
    rated_w = {domain.id: domain.rating_w for domain in world.domains}
    return {
        "t_s": t_s,
        "wall_w": rated_w,
        "hard_w": rated_w,
        "target_w": rated_w,
        "capacity_w": rated_w | {"ups": rated_w["ups"] * share},
        "tripped": [],
    }


def test_a_failed_module_is_said_in_words(world: World) -> None:
    failure = world.failures[0]
    end_s = failure.at_s + failure.for_s

    assert phase(world, rack(world, 1.0, 1.0)) == "with EasyRider"
    assert phase(world, rack(world, failure.at_s, 0.8)).endswith("1 module of 5 of ups failed")
    assert phase(world, rack(world, end_s, 1.0)).endswith("all modules of ups work again")


def test_a_moment_holds_every_domain_and_the_journals_counts(world: World) -> None:
    now = moment(world, rack(world, 3.0, 1.0), {"ack": 4}, 120.0)

    assert [domain.domain for domain in now.domains] == ["ups", "pdu"]
    assert (now.acks, now.raises_waited, now.total_s) == (4, 0, 120.0)
