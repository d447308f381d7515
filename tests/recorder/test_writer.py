"""The writing thread: a file an hour and region, old ones forgotten, a disk that refuses, and a slow one."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from said import record, records

from easyrider_recorder.adapters import segment as segment_module
from easyrider_recorder.adapters import writer as writer_module
from easyrider_recorder.adapters.reader import Recording
from easyrider_recorder.adapters.shelf import Shelf
from easyrider_recorder.adapters.writer import AGAIN_S, IDLE_S, OPEN_MOST, TIDY_S, Writer


class Clock:
    def __init__(self) -> None:
        self.at_s = 0.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def writer(folder: Path, clock: Clock, keep_bytes: int = 2**40, queue_bytes: int = 2**20) -> Writer:
    def about(region: str) -> dict[str, Any]:
        return {"region": region, "boot_id": "boot-1"}

    return Writer(Shelf(folder, keep_bytes, 0), about, queue_bytes, now_s=clock)


def bodies(folder: Path, region: str = "r1") -> list[bytes]:
    return [found.body for _boot, found in Recording.open(folder, region).records()]


def test_each_hour_and_region_has_a_file_of_its_own(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock)

    writing.write([*records(0.0, 2), *records(0.0, 2, region="r2")])
    writing.write(records(3600.0, 2))

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.errec")) == [
        "r1/20260109T12Z-000.errec",
        "r1/20260109T13Z-000.errec",
        "r2/20260109T12Z-000.errec",
    ]
    assert len(bodies(tmp_path)) == 4


def test_the_oldest_hours_are_forgotten_when_the_whole_grows_too_large(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock, keep_bytes=6_000)

    for hour in range(6):
        clock.at_s += 3600.0
        writing.write([record(3600.0 * hour, body=os.urandom(2_000))])
    clock.at_s += 3600.0
    writing.write([record(6 * 3600.0)])

    kept = sorted(path.name[:11] for path in tmp_path.rglob("*.errec"))
    assert kept[-1] == "20260109T18"
    assert 2 <= len(kept) <= 4
    assert sorted(path.stem for path in tmp_path.rglob("*.eridx")) == sorted(
        path.stem for path in tmp_path.rglob("*.errec")
    )


def test_a_full_disk_stops_recording_counts_what_is_lost_and_goes_on_when_there_is_room(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, real = writer(tmp_path, clock), os.write
    writing.write(records(0.0, 5))

    def full(handle: int, data: Any) -> int:
        if len(data) > 8:
            return real(handle, bytes(data)[:8])  # a little of it, as a disk does that fills up
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(segment_module.os, "write", full)
    writing.write(records(1.0, 5))
    fault = writing.fault
    clock.at_s += AGAIN_S / 2
    writing.write(records(2.0, 5))
    monkeypatch.setattr(segment_module.os, "write", real)
    clock.at_s += AGAIN_S
    writing.write(records(3.0, 5))

    assert fault is not None
    assert "No space left" in fault
    assert writing.fault is None
    recording = Recording.open(tmp_path)
    found = [each for _boot, each in recording.records()]
    assert found == records(0.0, 5) + records(3.0, 5)
    assert recording.dropped == 10
    assert recording.damage == [], "the half block was taken back"


def test_less_room_than_must_stay_free_stops_recording_too(tmp_path: Path, clock: Clock) -> None:
    writing = Writer(Shelf(tmp_path, 2**40, 2**62), lambda region: {}, 2**20, now_s=clock)

    writing.write(records(0.0, 3))

    assert writing.fault is not None
    assert not list(tmp_path.rglob("*.errec"))


def test_what_a_slow_disk_leaves_no_room_for_is_dropped_and_counted_and_nobody_waits(
    tmp_path: Path, clock: Clock
) -> None:
    writing = writer(tmp_path, clock, queue_bytes=1_000)

    for k in range(10):
        writing.put(record(k * 0.1, body=b"x" * 200))  # the thread was not started: a disk that hangs
    writing.start()
    writing.stop()

    recording = Recording.open(tmp_path)
    assert len(list(recording.records())) == 5
    assert recording.dropped == 5


def test_a_stop_writes_what_waits(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock)
    writing.start()

    for said in records(0.0, 30):
        writing.put(said)
    writing.stop()

    assert len(bodies(tmp_path)) == 30
    assert writer_module.BLOCK_S <= 1.0, "what a crash may lose"


def test_a_file_that_somebody_removes_is_begun_anew(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock)
    writing.write(records(0.0, 3))
    for path in [*tmp_path.rglob("*.errec"), *tmp_path.rglob("*.eridx")]:
        path.unlink()

    writing.write(records(1.0, 3))

    assert bodies(tmp_path) == [said.body for said in records(1.0, 3)]


def test_a_wall_clock_that_is_set_back_loses_nothing_of_a_stretch(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock)
    for first_s in (10.0, 11.0, 12.0, 5.0, 6.0, 7.0):
        writing.write(records(first_s, 10))

    recording = Recording.open(tmp_path)
    begin_ns = records(5.0, 1)[0].unix_ns
    found = [each.body for _boot, each in recording.records(begin_ns, begin_ns + 3_000_000_000)]

    assert found == [said.body for first_s in (5.0, 6.0, 7.0) for said in records(first_s, 10)]


def test_no_name_on_the_bus_leads_out_of_the_folder(tmp_path: Path, clock: Clock) -> None:
    folder, outside = tmp_path / "recordings", tmp_path / "outside"
    folder.mkdir()
    names = (str(outside), "../outside", "r1/../../outside", "a\0b", "x" * 300)

    writer(folder, clock).write([record(0.0, region=name) for name in names])

    assert [path.name for path in tmp_path.iterdir()] == ["recordings"]
    assert [path.name for path in folder.iterdir()] == ["_"]
    assert len(bodies(folder, "_")) == len(names)


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_region_that_fell_silent_holds_no_file_open(tmp_path: Path, clock: Clock) -> None:
    writing = writer(tmp_path, clock)
    writing.write([*records(0.0, 2), *records(0.0, 2, region="r2")])
    before = handles()
    for _ in range(round(IDLE_S / TIDY_S) + 2):
        clock.at_s += TIDY_S
        writing.write([record(clock.at_s)])

    assert (writing.regions, handles()) == (("r1",), before - 2)
    writing.write([record(1.0, "r2", body=b"back")])
    assert bodies(tmp_path, "r2")[-1] == b"back"


def test_names_without_end_open_so_many_files_and_no_more_and_nothing_is_lost(
    tmp_path: Path, clock: Clock
) -> None:
    writing = writer(tmp_path, clock)
    before = handles()

    writing.write([record(0.0, region=f"x{number}") for number in range(OPEN_MOST + 50)])
    writing.write([record(1.0, region="x0")])

    assert len(writing.regions) == OPEN_MOST
    assert handles() - before == 2 * OPEN_MOST
    assert len(bodies(tmp_path, "_")) == 51
    assert len(bodies(tmp_path, "x0")) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_seen(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = writer(tmp_path, clock)
    monkeypatch.setattr(writing, "write", lambda batch, lost: {}["no such"])
    assert writing.writes
    writing.start()
    deadline_s = time.monotonic() + 10.0

    while writing.writes:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
