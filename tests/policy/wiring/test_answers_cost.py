"""What answers cost the process that controls: little, however many nodes and jobs are asked about."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from easyrider.tree_reader import read
from easyrider_policy.answers import Answers
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.fleet import Board
from easyrider_policy.moment import STANDS_S
from easyrider_policy.picture import Picture

NODES, RACKS = 1_000, 250
CURVE = [{"multiple": 1.2, "time_s": 3600}, {"multiple": 2, "time_s": 60}]


class Hall:
    """A coordinator of a thousand nodes, its answers, and a clock that moves when it is told to."""

    def __init__(self) -> None:
        limits = {"curve": CURVE, "unmanaged_max_w": 0}
        site = {"id": "site", "kind": "site", "rating_w": 2e7, **limits}
        racks = [
            {"id": f"rack{k}", "kind": "rack", "parent": "site", "rating_w": 1e5, **limits}
            for k in range(RACKS)
        ]
        nodes = [
            {"id": f"n{k}", "domain": f"rack{k % RACKS}", "class": "h100", "fallback_w_per_gpu": 200}
            for k in range(NODES)
        ]
        document = {
            "tree": {"id": "t", "version": 1},
            "domains": [site, *racks],
            "classes": {"h100": {"overhead_w": 1600, "overhead_slope": 1.23}},
            "nodes": nodes,
        }
        picture = Picture(read(json.dumps(document), "the test"), "local", 0.0)
        for node in range(NODES):
            for board in range(8):
                uuid = f"g{node}-{board}"
                picture.boards[uuid] = Board(
                    uuid=uuid, node=f"n{node}", min_w=200.0, max_w=700.0, settable=True
                )
        picture.boards_moved = True
        coordinator = Coordinator(picture)
        coordinator.looked = coordinator.look(1.0)
        self.at_s, self.picture = 2.0, picture
        self.answers = Answers(coordinator, lambda: self.at_s, lambda: 7)

    def takes(self, monkeypatch: pytest.MonkeyPatch, part: str, took_s: float) -> Callable[[], int]:
        """Have one part of an answer take so long; how often it was made."""
        made, real = 0, getattr(self.answers, part)

        def dear(*asked: Any) -> Any:
            nonlocal made
            made += 1
            self.at_s += took_s
            return real(*asked)

        monkeypatch.setattr(self.answers, part, dear)
        return lambda: made


@pytest.fixture(scope="module")
def built() -> Hall:
    return Hall()


@pytest.fixture
def hall(built: Hall) -> Hall:
    built.at_s += 60.0  # nothing of the test before stands
    return built


async def test_two_hundred_questions_about_as_many_nodes_and_jobs_cost_little(hall: Hall) -> None:
    began_s = time.process_time()
    for number in range(200):
        hall.at_s += 0.005
        await hall.answers.state(f"n{number}")
        await hall.answers.jobs(f"job-{number}")

    assert time.process_time() - began_s < 0.2


async def test_a_node_is_told_its_own_boards_beside_the_rest(hall: Hall) -> None:
    whole, one = json.loads(await hall.answers.state()), json.loads(await hall.answers.state("n7"))

    assert [board["uuid"] for board in one["boards"]] == [f"g7-{k}" for k in range(8)]
    assert (one["left_out"], whole["left_out"]) == (
        {"boards": 0, "jobs": 0},
        {"boards": 8 * NODES, "jobs": 0},
    )
    alike = whole.keys() - {"boards", "left_out"}
    assert whole.keys() == one.keys()
    assert {name: whole[name] for name in alike} == {name: one[name] for name in alike}


async def test_what_was_dear_to_make_stands_longer_whatever_is_asked(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hall.takes(monkeypatch, "_domains", took_s=0.03)
    for number in range(200):
        hall.at_s += 0.005
        await hall.answers.state(f"n{number}")

    assert made() == 1  # 0.03 s are the share of 1.5 s


async def test_many_cheap_answers_take_from_the_same_share(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hall.takes(monkeypatch, "_domains", took_s=0.001)
    hall.takes(monkeypatch, "_boards", took_s=0.001)
    for number in range(200):
        hall.at_s += 0.004
        await hall.answers.state(f"n{number}")

    assert made() == 1


async def test_without_a_dear_one_all_is_made_anew_after_a_moment(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hall.takes(monkeypatch, "_domains", took_s=0.0)
    await hall.answers.state("n1")
    hall.at_s += STANDS_S + 0.01
    await hall.answers.state("n2")

    assert made() == 2


async def test_what_stands_ends_with_new_boards(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hall.takes(monkeypatch, "_domains", took_s=0.03)
    await hall.answers.state("n1")
    hall.picture.boards_moved = True
    hall.picture.follow()
    await hall.answers.state("n2")

    assert made() == 2
