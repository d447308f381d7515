"""Recorded traces as programs: what is kept, what is scaled, what is no work."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from easyrider_twin import recordings
from easyrider_twin.programs import Recorded
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.tapes import Tape
from easyrider_twin.world import GpuModel

START_STOP = "job_start_run_stop__8x700w_gpu"
PAUSE = "job_pause_resume_with_software_power_floor__8x700w_gpu"


def trace(folder: Path, name: str, rows: list[tuple[float, int | str, float]]) -> None:
    text = "t_s,gpu,power_w\n" + "".join(f"{t},{gpu},{w}\n" for t, gpu, w in rows)
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def ramp(
    gpus: int, seconds: int, power_w: float, spacing_s: float = 0.5
) -> list[tuple[float, int | str, float]]:
    return [
        (k * spacing_s, gpu, power_w) for k in range(round(seconds / spacing_s) + 1) for gpu in range(gpus)
    ]


def test_shipped_recordings_carry_their_licences_and_leave_out_dead_sensors() -> None:
    assert {START_STOP, PAUSE} <= set(recordings.names())
    assert not any(name.startswith(("stuck", "table")) for name in recordings.names())
    assert "MIT License" in (recordings.SHIPPED / "LICENSES.txt").read_text()


def test_a_recording_keeps_its_energy_on_the_even_grid() -> None:
    recording = recordings.load(START_STOP)

    assert recording.gpus == 8
    assert recording.recorded_mean
    assert recording.power_w.sum(axis=1).mean() == pytest.approx(4669, rel=0.01)


def test_fast_recordings_are_averaged_not_thinned() -> None:
    recording = recordings.load("square_wave_9p6hz__a100_pcie40__shunt_957hz")

    assert not recording.recorded_mean
    assert recording.power_w.mean() == pytest.approx(116, abs=2)
    assert recording.power_w.std() > 40  # the swing is still there, no alias of it


def test_set_up_and_idle_stretches_are_no_work() -> None:
    tape = recordings.tape(Recorded(trace=START_STOP), 8, GpuModel())

    steady_s = 255.4 - 37.8
    assert tape.work_s(266.0) == pytest.approx(steady_s, abs=3)
    assert not tape.work[round(25 / 0.025)]  # set-up, with a process
    assert tape.present[round(25 / 0.025)]
    assert not tape.present[0]  # idle, no process


def test_a_pause_within_a_recording_is_no_work() -> None:
    tape = recordings.tape(Recorded(trace=PAUSE), 8, GpuModel())

    assert not tape.work[round(468.5 / 0.025)]
    assert tape.work[round(400 / 0.025)]


def test_a_tape_starts_anywhere_and_loops() -> None:
    tape = recordings.tape(Recorded(trace=START_STOP, start_s=200.0), 8, GpuModel())
    length_s = float(tape.edges_s[-1])

    assert tape.draw_w[tape.row(0.0)].sum() == pytest.approx(5510, abs=60)
    assert tape.place_s(length_s - 200.0 + 5.0) == pytest.approx(5.0)
    assert tape.work_s(3 * length_s) == pytest.approx(3 * tape.work_s(length_s))


def test_fewer_boards_are_repeated_and_another_rating_scaled_and_both_are_said(tmp_path: Path) -> None:
    trace(tmp_path, "small__2x400w", [*ramp(2, 20, 300.0), (0.0, "cpu0", 90.0)])

    tape = recordings.tape(Recorded(trace="small__2x400w", folder=str(tmp_path)), 8, GpuModel())

    assert tape.draw_w.shape[1] == 8
    assert tape.draw_w[0] == pytest.approx(np.full(8, 300.0 * 700 / 400))
    assert "2 boards repeated" in tape.source
    assert "scaled from 400 W to 700 W" in tape.source


def test_what_stands_beside_a_recording_wins_over_its_name(tmp_path: Path) -> None:
    trace(tmp_path, "odd__1x700w", ramp(1, 20, 300.0, spacing_s=0.1))
    (tmp_path / "traces.yaml").write_text(
        "odd__1x700w: {rating_w: 350, sensor: recorded_mean, window_s: 1.0}\n"
    )

    recording = recordings.load("odd__1x700w", tmp_path)

    assert recording.rating_w == 350
    assert recording.recorded_mean


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "t_s,gpu,power_w\n", "t_s,gpu,power_w\n0,0,abc\n"])
def test_a_file_without_power_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(text.encode()))

    with pytest.raises(BadRecording, match="bad"):
        recordings.load("bad", tmp_path)


def test_work_of_a_tape_is_the_same_however_it_is_walked() -> None:
    tape = Tape(
        edges_s=np.array([0.0, 2.0, 3.0, 7.0]),
        draw_w=np.array([[1.0], [2.0], [3.0]], dtype=np.float32),
        work=np.array([False, True, True]),
        present=np.array([True, True, True]),
        busy_pct=np.zeros(3, dtype=np.uint8),
        loop_from_s=2.0,
    )

    assert [tape.work_s(t) for t in (1.0, 2.5, 7.0, 9.5)] == pytest.approx([0.0, 0.5, 5.0, 7.5])
    assert [tape.row(t) for t in (0.0, 2.0, 6.9, 7.0, 8.5)] == [0, 1, 2, 1, 2]
