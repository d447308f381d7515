"""Jobs of a node: told when they change, and again now and then."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from easyrider.errors import MalformedMessage
from easyrider.messages import JobEvent
from easyrider.wire import decode, encode
from easyrider_telemetry.adapters.jobs_file import BadJobsFile, JobsFile
from easyrider_telemetry.core.fault_news import EVERY_S, FaultNews
from easyrider_telemetry.core.job_doubts import doubts, summary
from easyrider_telemetry.core.job_watch import Job, JobWatch

S = 1_000_000_000


def watch() -> JobWatch:
    return JobWatch("local", "n1", "boot")


def same(uuid: str) -> str:
    return uuid


def test_a_job_starts_changes_and_ends_once_each():
    jobs = watch()
    first, second = Job(id="a", gpu_uuids=("g0",)), Job(id="a", gpu_uuids=("g0", "g1"))

    said = [
        [event.change for event in jobs.update(now, 0, k * S, same)]
        for k, now in enumerate([[first], [first], None, [second], [], []])
    ]

    assert said == [["started"], [], [], ["changed"], ["ended"], []]


def test_a_job_queued_again_under_its_id_starts_again():
    jobs = watch()
    first, again = (
        Job(id="a", gpu_uuids=("g0",), started=100.0),
        Job(id="a", gpu_uuids=("g0",), started=200.0),
    )
    jobs.update([first], 0, 0, same)

    (event,) = jobs.update([again], 0, S, same)

    assert (event.change, event.started_ns) == ("started", 200 * S)


def test_a_running_job_is_said_again_every_ten_seconds_even_without_news():
    jobs = watch()
    jobs.update([Job(id="a")], 0, 0, same)

    said = {k: [event.change for event in jobs.update(None, 0, k * S, same)] for k in range(1, 31)}

    assert {k: changes for k, changes in said.items() if changes} == {k: ["running"] for k in (10, 20, 30)}


def test_partitions_of_one_board_are_that_board_once():
    events = watch().update(
        [Job(id="a", gpu_uuids=("MIG-1", "MIG-2", "g1"))],
        0,
        0,
        {"MIG-1": "g0", "MIG-2": "g0", "g1": "g1"}.__getitem__,
    )

    assert events[0].gpus == ("g0", "g1")


def test_an_event_says_what_makes_the_job_the_same_type_again():
    job = Job(id="a", image="train:3", configuration="batch=32", gpu_uuids=("MIG-1", "g1", "g2"))
    models = {"g0": "H100", "g1": "H100", "g2": "A100\u202e"}

    (event,) = watch().update(
        [job], 0, 0, {"MIG-1": "g0", "g1": "g1", "g2": "g2"}.__getitem__, models.__getitem__
    )

    assert (event.image, event.configuration, event.gpu_model) == ("train:3", "batch=32", "A100? + H100")
    assert decode(encode(event), (JobEvent,)) == event


def test_a_job_is_told_anew_once_the_board_behind_its_partition_is_known():
    jobs, parents = watch(), {}
    jobs.update([Job(id="a", gpu_uuids=("MIG-1",))], 0, 0, lambda uuid: parents.get(uuid, uuid))
    parents["MIG-1"] = "g0"

    said = [jobs.update(None, 0, k * S, lambda uuid: parents.get(uuid, uuid)) for k in (1, 2)]

    assert [[(event.change, event.gpus) for event in events] for events in said] == [
        [("changed", ("g0",))],
        [],
    ]


def test_the_file_is_read_when_it_changed_only(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [{"id": "a", "gpu_uuids": ["g0"], "started": 1.7e9}]}))
    source = JobsFile(path)

    assert [job.id for job in source.now() or []] == ["a"]
    assert source.now() is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"jobs": [{"id": 3}]}',
        '{"jobs": [{"id": ""}]}',
        '{"jobs": [{"id": "a"}, {"id": "a"}]}',
        '{"jobs": [{"id": "a", "started": -5}]}',
        '{"jobs": [{"id": "a", "wattage": 5}]}',
        f'{{"jobs": [{{"id": "a", "image": "{"x" * 257}"}}]}}',
        '{"jobs": [{"id": "a"}], "jobs": []}',
        '{"jobs": [{"id": "a", "id": "b"}]}',
        r'{"jobs": [{"id": "j\u001b]0;x\u0007"}]}',
        r'{"jobs": [{"id": "a", "tenant": "t\nX"}]}',
        '{"jobs": [{"id": "a", "started": NaN}]}',
        "[" * 100_000,
    ],
)
def test_a_bad_file_is_refused_once_and_by_name(tmp_path, text):
    path = tmp_path / "jobs.json"
    path.write_text(text)
    source = JobsFile(path)

    with pytest.raises(BadJobsFile, match=r"jobs\.json"):
        source.now()
    assert source.now() is None


def test_boards_that_nobody_knows_that_stand_twice_or_that_two_jobs_name_are_told():
    known = {"g0", "g1", "MIG-1"}

    assert doubts([Job(id="a", gpu_uuids=("g0", "MIG-1")), Job(id="b", gpu_uuids=("g1",))], known) == []
    assert doubts([Job(id="a", gpu_uuids=("g0", "g7"))], known) == ["job a: no board here is called g7"]
    assert doubts([Job(id="a", gpu_uuids=("g0", "g0"))], known) == ["job a: g0 stands twice"]
    assert doubts([Job(id="a", gpu_uuids=3 * ("g0", "g1"))], known) == ["job a: g0, g1 stand twice"]
    many = tuple(f"g{k}" for k in range(8))
    assert doubts([Job(id="a", gpu_uuids=2 * many)], {*many}) == ["job a: g0, g1 and 6 more stand twice"]
    assert doubts([Job(id="a", gpu_uuids=many)], set()) == [
        "job a: no board here is called g0, g1 nor 6 more"
    ]
    assert doubts([Job(id="a", gpu_uuids=("g0",)), Job(id="b", gpu_uuids=("g0",))], known) == [
        "job b: g0 belongs to job a already"
    ]


def test_many_doubts_are_one_line():
    assert summary([]) is None
    assert summary(["x"] * 9) == "x; x; x; x; x; and 4 more"


@pytest.mark.parametrize("text", ["a\x1b[31m", "a\nb", "a\u202eb", "\x9b0m"])
def test_a_job_whose_name_would_write_on_terminals_is_malformed(text):
    event = watch().update([Job(id="a")], 0, 0, same)[0]
    forged = msgspec.structs.replace(event, job=text)

    with pytest.raises(MalformedMessage):
        decode(encode(forged), [JobEvent])


def test_a_missing_file_is_a_bad_file(tmp_path):
    with pytest.raises(BadJobsFile):
        JobsFile(tmp_path / "none.json").now()


def test_each_different_fault_is_told_once_and_so_is_its_end():
    news, faults = FaultNews(), [None, "a", "a", "b", "b", None, None]

    told = [fault for k, fault in enumerate(faults) if news.due(fault, k * EVERY_S)]

    assert told == ["a", "b", None]


def test_faults_that_change_faster_than_bearable_are_told_at_a_bounded_rate_and_the_last_in_the_end():
    news, ticks = FaultNews(), [("ab"[k % 2], 0.5 * k) for k in range(40)]

    told = [fault for fault, at_s in ticks if news.due(fault, at_s)]
    late = news.due("c", 30.0)

    assert 1 < len(told) <= 5
    assert late


def test_a_file_taken_away_and_put_back_unchanged_is_read_again(tmp_path):
    path, aside = tmp_path / "jobs.json", tmp_path / "aside"
    path.write_text(json.dumps({"jobs": [{"id": "a"}]}))
    source = JobsFile(path)
    source.now()
    path.rename(aside)
    with pytest.raises(BadJobsFile):
        source.now()
    aside.rename(path)

    assert [job.id for job in source.now() or []] == ["a"]


@pytest.mark.parametrize("uuid", ["", 300 * "x"])
def test_a_gpu_id_that_no_message_can_carry_is_refused_with_its_file(tmp_path: Path, uuid: str) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"jobs": [{"id": "a", "type_key": "t", "gpu_uuids": [uuid], "started": 1.0}]}))

    with pytest.raises(BadJobsFile, match="a GPU id is empty or longer than 256"):
        JobsFile(file).now()


def test_a_pipe_in_place_of_a_jobs_file_is_refused_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "jobs.json")

    with pytest.raises(BadJobsFile, match="it is no plain file"):
        JobsFile(tmp_path / "jobs.json").now()
