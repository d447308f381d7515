"""The demonstration rack on folders of recordings of every kind: each works, or is refused with one named error."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from easyrider_twin import recordings
from easyrider_twin.programs import Recorded
from easyrider_twin.rack import demo_world
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.simulate import simulate
from easyrider_twin.world import check

SECONDS = 150.0
Draw = Callable[[float, int], object]


def swing(t_s: float, gpu: int, period_s: float = 30.0) -> float:
    return 420.0 + 200.0 * math.sin(2 * math.pi * t_s / period_s) + gpu


def record(
    folder: Path,
    name: str,
    draw: Draw = swing,
    *,
    gpus: int = 8,
    seconds: float = 300.0,
    step_s: float = 0.33,
) -> None:
    lines = ["t_s,gpu,power_w"]
    for k in range(round(seconds / step_s)):
        lines += [f"{k * step_s:.3f},{gpu},{draw(k * step_s, gpu)}" for gpu in range(gpus)]
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode(), 1))


def judge(folder: Path, seed: int = 1) -> tuple[str, ...]:
    """The notes of a rack made of the folder, which must be a sound one that goes down uncontrolled."""
    world = demo_world(seed, SECONDS, folder)
    check(world)
    (failure,) = world.failures
    assert 45.0 <= failure.at_s <= 75.0
    assert failure.for_s <= 0.45 * SECONDS + 1e-6
    outcome = simulate(world, SECONDS)
    assert outcome.trips
    assert math.isfinite(outcome.work_lost_pct)
    assert all(math.isfinite(w.sum()) for w in outcome.wall_w.values())
    return world.notes


@pytest.mark.parametrize("gpus", [1, 4, 8])
def test_recordings_of_fewer_boards_are_repeated_and_labelled_so(tmp_path: Path, gpus: int) -> None:
    record(tmp_path, f"run__{gpus}x700w", gpus=gpus)

    repeated = [f"{gpus} boards repeated" in note for note in judge(tmp_path)[:2]]

    assert repeated == [gpus < 8] * 2


def test_whole_nodes_are_preferred_to_smaller_recordings(tmp_path: Path) -> None:
    for name, gpus in (("a__1x700w", 1), ("b__8x700w", 8), ("c__4x700w", 4), ("d__8x700w", 8)):
        record(tmp_path, name, gpus=gpus, seconds=90)

    world = demo_world(3, SECONDS, tmp_path)

    traces = {job.program.trace for job in world.jobs if isinstance(job.program, Recorded)}
    assert traces == {"b__8x700w", "d__8x700w"}


@pytest.mark.parametrize("seconds", [0.7, 5.0, 1800.0])
def test_short_recordings_loop_and_long_ones_are_entered_at_a_chosen_place(
    tmp_path: Path, seconds: float
) -> None:
    record(tmp_path, "run__8x700w", seconds=seconds)

    judge(tmp_path)


def test_gaps_are_joined_and_told_of(tmp_path: Path) -> None:
    record(tmp_path, "run__8x700w", lambda t_s, gpu: "" if 40 < t_s < 90 else swing(t_s, gpu))

    assert all("gap of 50 s" in note for note in judge(tmp_path)[:2])


@pytest.mark.parametrize("cell", ["nan", "inf", ""])
def test_cells_without_a_number_are_left_out(tmp_path: Path, cell: str) -> None:
    record(tmp_path, "run__8x700w", lambda t_s, gpu: cell if int(t_s * 3) % 7 == gpu else swing(t_s, gpu))

    judge(tmp_path)
    assert recordings.load("run__8x700w", tmp_path.resolve()).power_w.min() > 200


def test_other_ratings_come_from_the_file_beside_and_are_scaled(tmp_path: Path) -> None:
    record(tmp_path, "run", lambda t_s, gpu: swing(t_s, gpu) / 2)
    (tmp_path / "traces.yaml").write_text("run:\n  rating_w: 350\n  sensor: instant\n")

    assert all("scaled from 350 W to 700 W" in note for note in judge(tmp_path)[:2])


def test_draws_over_the_rating_are_clipped_and_labelled_so(tmp_path: Path) -> None:
    record(tmp_path, "run__8x400w")

    assert all("clipped at 714 W" in note for note in judge(tmp_path)[:2])


@pytest.mark.parametrize("draw_w", [0.0, 75.0, 690.0])
def test_a_recording_that_never_moves_still_gives_a_rack_that_goes_down(
    tmp_path: Path, draw_w: float
) -> None:
    record(tmp_path, "run__8x700w", lambda _t_s, _gpu: draw_w)

    judge(tmp_path)


def test_one_dead_board_among_living_ones_does_not_spoil_the_sums(tmp_path: Path) -> None:
    record(tmp_path, "run__8x700w", lambda t_s, gpu: 0.0 if gpu == 3 else swing(t_s, gpu))

    judge(tmp_path)


def table(text: str) -> bytes:
    return gzip.compress(
        text.encode(), mtime=0
    )  # the same bytes, and so the same name of a test, at any time


WHOLE = table("t_s,gpu,power_w\n" + "".join(f"{k},0,300\n" for k in range(50)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip at all",
        WHOLE[: len(WHOLE) // 2],
        WHOLE[:30] + b"\x00\x00\xff\xff" + WHOLE[34:],
        table(""),
        table("t_s,gpu\n0,0\n1,0\n"),
        table("time,device,watts\n0,0,300\n"),
        table("t_s,gpu,power_w\n0,0,300\n"),
        table("t_s,gpu,power_w\n0,0,300\n1\n"),
        table("t_s,gpu,power_w\nsoon,0,300\n1,0,300\n"),
        table("t_s,gpu,power_w\nnan,0,300\n1,0,300\n"),
        table("t_s,gpu,power_w\n0,0,-300\n1,0,300\n"),
        table("t_s,gpu,power_w\n0,0,nan\n1,0,nan\n"),
        table("t_s,gpu,power_w\n0,cpu0,90\n1,cpu0,90\n"),
        table("t_s,gpu,power_w\n5,0,300\n5,0,300\n"),
        table("t_s,gpu,power_w\n0,0,300\n1,0,300\n9,1,300\n10,1,300\n"),
        gzip.compress(b"t_s,gpu,power_w\n0,0,\xff\xfe\n", mtime=0),
    ],
)
def test_a_file_that_cannot_be_replayed_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    record(tmp_path, "good__8x700w", seconds=70)
    (tmp_path / "bad.csv.gz").write_bytes(content)

    with pytest.raises(BadRecording, match=r"bad\.csv\.gz"):
        demo_world(1, SECONDS, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "- run",
        "run:\n  rating: 3\n",
        "run:\n  rating_w: 0\n",
        "run:\n  rating_w: .nan\n",
        "run:\n  window_s: -1\n",
    ],
)
def test_a_file_beside_that_makes_no_sense_is_refused_by_name(tmp_path: Path, text: str) -> None:
    record(tmp_path, "run__8x700w", seconds=70)
    (tmp_path / "traces.yaml").write_text(text)

    with pytest.raises(BadRecording, match=r"traces\.yaml"):
        demo_world(1, SECONDS, tmp_path)


def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="nowhere"):
        demo_world(1, SECONDS, tmp_path / "nowhere")
