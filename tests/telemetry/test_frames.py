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
