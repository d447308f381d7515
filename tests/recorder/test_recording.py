"""What is recorded is what is read again, by time; what is torn or rotten is named, and the rest is read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import NOON_NS, SECOND_NS, record, records

from easyrider_recorder.adapters.reader import NoRecording, Recording
from easyrider_recorder.adapters.segment import Segment
from easyrider_recorder.adapters.shelf import Shelf
from easyrider_recorder.core import framing
from easyrider_recorder.core.framing import Damaged, Record
from easyrider_recorder.core.places import file_name, hour_of, region_of, to_forget

ABOUT = {"boot_id": "boot-1", "region": "r1"}


def segment(folder: Path, blocks: list[list[Record]], dropped: int = 0) -> Path:
    """One file of these blocks."""
    made = Segment.create(folder / "r1", hour_of(blocks[0][0].unix_ns), ABOUT)
    for block in blocks:
        made.write(block, dropped)
    made.close()
    return made.path


def read(folder: Path, **stretch: int) -> list[Record]:
    return [found for _boot, found in Recording.open(folder).records(**stretch)]


def test_every_message_comes_back_with_subject_both_times_and_its_bytes(tmp_path: Path) -> None:
    said = [record(0.0, body=bytes(range(256))), record(0.1, body=b""), record(0.2, body=b"x" * 100_000)]

    segment(tmp_path, [said[:2], said[2:]])

    assert read(tmp_path) == said
    assert Recording.open(tmp_path).abouts() == [ABOUT]


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=80), st.binary(max_size=300)), min_size=1, max_size=20)
)
def test_any_messages_are_packed_and_unpacked_alike(said: list[tuple[str, bytes]]) -> None:
    wanted = [Record(subject, k, 2 * k, body) for k, (subject, body) in enumerate(said)]

    assert list(framing.records_of(b"".join(map(framing.raw_record, wanted)))) == wanted


def test_a_stretch_of_time_is_found_by_the_index_and_without_it(tmp_path: Path) -> None:
    path = segment(tmp_path, [records(float(s), 10) for s in range(60)])
    stretch = {"from_ns": NOON_NS + 30 * SECOND_NS, "to_ns": NOON_NS + 32 * SECOND_NS}

    by_index = read(tmp_path, **stretch)
    path.with_suffix(".eridx").unlink()
    without = read(tmp_path, **stretch)

    assert by_index == without
    assert [found.body for found in by_index[:2]] == [b"body 30.0", b"body 30.1"]
    assert len(by_index) == 21


def test_an_index_that_points_nowhere_is_not_believed(tmp_path: Path) -> None:
    path = segment(tmp_path, [records(0.0, 10)])
    path.with_suffix(".eridx").write_bytes(framing.index_entry(framing.IndexEntry(10**9, 0, 2**62, 1)))

    assert len(read(tmp_path)) == 10


@pytest.mark.parametrize("cut", [1, 30, 60, 61, 100])
def test_a_file_that_ends_in_the_middle_loses_its_last_block_alone_and_says_so(
    tmp_path: Path, cut: int
) -> None:
    path = segment(tmp_path, [records(0.0, 10), records(1.0, 10), records(2.0, 10)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])

    recording = Recording.open(tmp_path)
    found = [each for _boot, each in recording.records()]

    assert found == records(0.0, 10) + records(1.0, 10)
    (damage,) = recording.damage
    assert damage.offset + damage.size == len(whole) - cut
    assert damage.after_unix_ns == records(1.0, 10)[-1].unix_ns
    assert Shelf(tmp_path, 2**40, 0).newest_damage() == [damage]


def test_a_rotten_block_is_skipped_and_named_and_those_after_it_are_read(tmp_path: Path) -> None:
    path = segment(tmp_path, [records(0.0, 10), records(1.0, 10), records(2.0, 10)])
    second = framing.read_index(path.with_suffix(".eridx").read_bytes())[1].offset
    rotten = bytearray(path.read_bytes())
    rotten[second + framing.BLOCK_HEAD_SIZE + 8] ^= 0xFF
    path.write_bytes(rotten)

    recording = Recording.open(tmp_path)
    found = [each for _boot, each in recording.records()]

    assert found == records(0.0, 10) + records(2.0, 10)
    assert [(damage.offset, "rotten" in damage.why) for damage in recording.damage] == [(second, True)]


def test_a_rotten_head_costs_its_block_alone(tmp_path: Path) -> None:
    path = segment(tmp_path, [records(0.0, 10), records(1.0, 10), records(2.0, 10)])
    second = framing.read_index(path.with_suffix(".eridx").read_bytes())[1].offset
    rotten = bytearray(path.read_bytes())
    rotten[second + 10] ^= 0xFF
    path.write_bytes(rotten)
    path.with_suffix(".eridx").unlink()

    recording = Recording.open(tmp_path)
    found = [each for _boot, each in recording.records()]

    assert found == records(0.0, 10) + records(2.0, 10)
    assert [damage.offset for damage in recording.damage] == [second]


def test_what_is_no_recording_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match="holds no recording"):
        Recording.open(tmp_path)
    segment(tmp_path, [records(0.0, 1)])
    with pytest.raises(NoRecording, match="region r9"):
        Recording.open(tmp_path, "r9")
    with pytest.raises(Damaged):
        framing.about_of(b"PK\x03\x04 and more")


def test_messages_dropped_before_a_block_are_counted_with_it(tmp_path: Path) -> None:
    segment(tmp_path, [records(0.0, 3), records(1.0, 3)], dropped=7)

    recording = Recording.open(tmp_path)
    list(recording.records())

    assert recording.dropped == 14


@pytest.mark.parametrize(
    ("subject", "region"),
    [
        ("easyrider.v1.frame.r1.n1", "r1"),
        ("easyrider.v1.plan.r1", "r1"),
        ("easyrider.v1.event.xid.r1", "r1"),
        ("easyrider.v1.demand.site.r1", "r1"),
        ("rules.site.rules.r1", "r1"),
        ("nonsense", "_"),
    ],
)
def test_a_subject_belongs_to_its_region(subject: str, region: str) -> None:
    assert region_of(subject) == region


def test_a_second_start_within_the_hour_gets_a_file_of_its_own() -> None:
    hour = hour_of(NOON_NS)

    first = file_name(hour, [])
    second = file_name(hour, [first, "20200101T00Z-007.errec"])

    assert (first, second) == ("20260109T12Z-000.errec", "20260109T12Z-001.errec")


def test_the_oldest_files_go_until_the_rest_fits_and_one_in_use_stays() -> None:
    sizes = {"a": 50, "b": 50, "c": 50}

    assert to_forget(sizes, 100, []) == ["a"]
    assert to_forget(sizes, 100, ["a"]) == ["b"]
    assert to_forget(sizes, 150, []) == []
    assert to_forget(sizes, 0, ["c"]) == ["a", "b"]
