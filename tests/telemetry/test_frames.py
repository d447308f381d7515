"""Rows become frames that the fleet can read."""

import numpy as np
import pytest

from easyrider import quality, wire
from easyrider.frame_view import view
from easyrider.messages import NodeFrame
from easyrider_telemetry.core.board import SlowCells
from easyrider_telemetry.core.frame import FrameBuilder, HostLoad

S = 1_000_000_000
CELLS = (300.0, 0, 299.5, 0, 12_345_678_901, 0, 700_000, 0, 40)


def builder(*uuids: str) -> FrameBuilder:
    made = FrameBuilder("local", "n1", "boot")
    made.set_gpus(uuids)
    return made


def test_a_frame_survives_the_wire_with_every_column_in_place():
    frames = builder("a", "b")
    missing = (0.0, quality.MISSING, 0.0, quality.STUCK, 0, quality.BLANK, 0, quality.MISSING, 65535)
    frames.add(10 * S, [CELLS, missing])
    frames.add(10 * S + S // 10, [CELLS, CELLS])
    slow = [SlowCells(-5, 99, 1980, 2619, 4, 81920, 300.0, 650.0, 0), SlowCells(0, 0, 0, 0, 0, 0, 0, 0, 1)]

    frame = wire.decode(wire.encode(frames.build(1, slow, 7, HostLoad())), (NodeFrame,))

    seen = view(frame)
    assert (frame.samples, frame.gpu_count, frame.rejected, frame.seq) == (2, 2, 7, 1)
    assert seen.power_w.tolist() == [[300.0, None], [300.0, 300.0]]
    assert seen.mean_w.tolist() == [[299.5, None], [299.5, 299.5]]
    assert seen.energy_mj.tolist() == [[12_345_678_901, None], [12_345_678_901] * 2]
    assert seen.limit_w.tolist() == [[700.0, None], [700.0, 700.0]]
    assert seen.age_ms.tolist() == [[40, 65535], [40, 40]]
    assert np.allclose(seen.before_s, [0.1, 0.0])
    assert seen.temperature_c is not None
    assert seen.temperature_c.tolist() == [-5, None]
    assert seen.max10_w is not None
    assert seen.max10_w.tolist() == [650.0, None]


def test_the_boards_are_said_at_first_when_they_change_and_every_ten_seconds():
    frames = builder("a")
    said = []
    for k in range(250):
        if k == 120:
            frames.set_gpus(["a", "b"])
        frames.add(k * S // 10, [CELLS] * (1 if k < 120 else 2))
        frame = frames.build(k, None, 0, HostLoad())
        if frame.gpus:
            said.append((k, frame.gpus))

    assert said == [(0, "a"), (100, "a"), (120, "a,b"), (220, "a,b")]


def test_the_hash_of_the_boards_is_in_every_frame_and_changes_with_them():
    frames = builder("a")
    frames.add(0, [CELLS])
    before = frames.build(0, None, 0, HostLoad()).gpus_hash

    frames.set_gpus(["a", "b"])
    frames.add(S, [CELLS, CELLS])

    assert frames.build(1, None, 0, HostLoad()).gpus_hash != before
    assert len(before) == 8


@pytest.mark.parametrize("gpus", [0, 1, 16])
def test_a_node_of_any_number_of_boards_makes_a_frame(gpus):
    frames = builder(*(f"g{k}" for k in range(gpus)))
    frames.add(S, [CELLS] * gpus)

    frame = frames.build(0, None, 0, HostLoad())

    assert view(frame).power_w.shape == (1, gpus)


@pytest.mark.parametrize("gpus", [1, 2, 40])
def test_the_bytes_of_every_frame_are_those_of_its_record(gpus):
    uuids = [f"GPU-{number}" for number in range(gpus + 1)]
    long_way, short_way = builder(*uuids[:gpus]), builder(*uuids[:gpus])
    short_way.seq = long_way.seq = 100
    host = HostLoad()
    for k in range(400):
        if k == 150:
            short_way.seq = long_way.seq = 65_530  # where the number takes more bytes
        if k == 300:
            for frames in (long_way, short_way):
                frames.sense(1.0, 0.02)
        if k == 350:
            for frames in (long_way, short_way):
                frames.set_gpus(uuids)
        row = [tuple(cell + k * (place % 2 == 0) for place, cell in enumerate(CELLS))] * (gpus + (k >= 350))
        slow = [SlowCells(-5, 99, 1980, 2619, 4, 81920, 300.0, 650.0, 0)] * len(row) if k % 10 == 0 else None
        host = HostLoad(cpu_pct=k // 10) if k % 10 == 0 else host
        for frames in (long_way, short_way):
            for _ in range(2 if k % 37 == 0 else 1):
                frames.add(10 * S + k * S // 10, row)

        expected = wire.encode(long_way.build(10**18 + k, slow, k // 90, host))

        assert short_way.encode(10**18 + k, slow, k // 90, host) == expected


def test_a_form_fills_most_frames_and_only_those_that_it_can():
    frames = builder("a", "b")
    frames.seq = 299
    built = []
    build = frames.build
    frames.build = lambda *told: built.append(frames.seq + 1) or build(*told)
    slow = [SlowCells(-5, 99, 1980, 2619, 4, 81920, 300.0, 650.0, 0)] * 2
    host = HostLoad()
    for k in range(100):
        frames.add(10 * S + k * S // 10, [CELLS, CELLS])
        host = HostLoad(cpu_pct=k // 10) if k % 10 == 0 else host
        frames.encode(10**18 + k, slow if k % 10 == 0 else None, 1 if k > 44 else 0, host)

    # those with slow columns; and from a reading refused on until slow columns are due again
    assert sorted(built) == sorted([*range(300, 400, 10), *range(345, 350)])
