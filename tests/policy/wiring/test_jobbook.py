"""Jobs merged from what nodes say, through restarts, lost words and boards claimed twice."""

from typing import Any

import numpy as np
from test_gather import fleet
from wired_box import job

from easyrider.tree import PriorityClass
from easyrider_policy.core.jobbook import FORGET_S, JobBook
from easyrider_policy.core.layout import Job


def jobs(book: JobBook, mode: int = 3) -> dict[str, Job]:
    priorities = {"gold": PriorityClass(weight=4.0, max_slowdown=0.05, flex_tier=0)}
    return {each.id: each for each in book.jobs(fleet(), priorities, np.full(4, mode))}


def tell(book: JobBook, now_s: float, node: str = "a", **other: Any) -> bool:
    return book.heard(job(now_s, node, **other), now_s)


def test_a_job_over_two_nodes_is_one_job() -> None:
    book = JobBook()

    assert tell(book, 10.0, "a")
    assert tell(book, 10.5, "b")

    assert jobs(book)["j1"].gpus == (0, 1, 2, 3)
    assert jobs(book)["j1"].started_s == 10.5, "it starts when its last node has"


def test_what_is_said_again_is_no_news() -> None:
    book = JobBook()
    tell(book, 10.0)

    assert not tell(book, 20.0, change="running")
    assert jobs(book)["j1"].started_s == 10.0


def test_a_job_first_heard_of_while_it_runs_did_not_start_now() -> None:
    book = JobBook()

    tell(book, 10.0, change="running")

    assert jobs(book)["j1"].started_s < -1e6


def test_a_change_of_priority_or_tenant_is_news() -> None:
    book = JobBook()
    tell(book, 10.0)

    assert tell(book, 11.0, change="changed", priority_class="gold")
    assert tell(book, 12.0, change="changed", priority_class="gold", tenant="t")

    assert jobs(book)["j1"].weight == 4.0
    assert jobs(book)["j1"].started_s == 10.0


def test_a_job_ends_when_its_last_node_says_so() -> None:
    book = JobBook()
    tell(book, 10.0, "a")
    tell(book, 10.0, "b")

    assert tell(book, 20.0, "a", change="ended")
    assert jobs(book)["j1"].gpus == (2, 3)
    assert tell(book, 21.0, "b", change="ended")
    assert not tell(book, 22.0, "b", change="ended")
    assert jobs(book) == {}


def test_a_board_that_two_jobs_claim_is_with_the_one_that_took_it_last() -> None:
    book = JobBook()
    tell(book, 10.0, job="a-lost-end")
    tell(book, 30.0, job="z-new")
    tell(book, 40.0, job="a-lost-end", change="running")

    assert jobs(book)["z-new"].gpus == (0, 1)
    assert jobs(book)["a-lost-end"].gpus == ()
    assert {label.job: label.gpus for label in book.labels(fleet())} == {"z-new": (0, 1), "a-lost-end": ()}


def test_a_job_that_a_talking_node_no_longer_says_is_forgotten_and_a_silent_nodes_is_not() -> None:
    book = JobBook()
    tell(book, 0.0, "a", job="on-a")
    tell(book, 0.0, "b", job="on-b")
    late_s = FORGET_S + 1.0

    assert book.forget_unsaid({"a": late_s - 0.1, "b": late_s - 10.0}, late_s)

    assert set(jobs(book)) == {"on-b"}


def test_boards_nobody_reported_are_left_out() -> None:
    book = JobBook()

    tell(book, 0.0, gpus=("a0", "elsewhere"))

    assert jobs(book)["j1"].gpus == (0,)


def test_a_job_is_in_the_least_active_mode_of_its_boards() -> None:
    book = JobBook()
    tell(book, 0.0, "a")
    tell(book, 0.0, "b")

    (told,) = book.jobs(fleet(), {}, np.array([3, 3, 1, 3]))

    assert told.mode == "shadow"
