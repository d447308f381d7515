"""The telemetry process, as an operator starts it, on a simulated node and a real bus."""

import os
import time

import numpy as np
import pytest
from telemetry_ear import UUIDS, readiness, running, until, valid

from easyrider.frame_view import view
from easyrider_twin import standalone

pytestmark = pytest.mark.system


async def test_frames_flow_with_every_board_and_slow_columns_in_every_tenth(nats, tmp_path):
    async with running(nats, tmp_path) as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 45)

    frames = ear.frames[:45]
    assert [frame.seq for frame in frames] == list(range(1, 46))
    assert [bool(frame.slow_ok) for frame in frames] == [k % 10 == 0 for k in range(45)]
    assert frames[0].gpus.split(",") == UUIDS
    assert not any(frame.gpus for frame in frames[1:])
    assert {frame.gpu_count for frame in frames} == {8}
    last = view(frames[40])
    assert last.power_w.mask.sum() == last.mean_w.mask.sum() == last.limit_w.mask.sum() == 0
    assert np.allclose(last.limit_w, 700.0)
    assert last.temperature_c is not None
    assert last.mean10_w is not None
    assert not last.mean10_w.mask.any()


async def test_means_follow_the_counter_and_not_the_jitter_of_the_poll(nats, tmp_path):
    async with running(nats, tmp_path) as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 60)

    idle = np.array([view(frame).mean_w[0, 3] for frame in ear.frames[10:60]])  # every fourth board idles
    # on a busy machine the simulated node stamps a step late now and then: its fault, and no poll's
    assert np.percentile(np.abs(idle - standalone.IDLE_W), 90) < 5


async def test_a_hanging_board_is_missing_and_the_others_lose_no_frame(nats, tmp_path):
    async with running(nats, tmp_path) as (node, ear, process):
        await until(lambda: len(ear.frames) >= 10)
        node.state.gpus["fault_delay_us"][3] = 30_000_000
        await until(lambda: not valid(ear.frames[-1], 3))
        begun = len(ear.frames)

        await until(lambda: len(ear.frames) >= begun + 30)

        frames = ear.frames[begun : begun + 30]
        assert all(valid(frame, slot) for frame in frames for slot in range(8) if slot != 3)
        gaps_ms = np.diff([frame.mono_ns for frame in frames]) / 1e6
        assert np.percentile(gaps_ms, 90) < 200
        assert len(os.listdir(f"/proc/{process.pid}/task")) < 20
        stopped_s = time.monotonic()
        process.terminate()
        process.wait(10)
        assert time.monotonic() - stopped_s < 5
        assert process.returncode == 0


async def test_a_board_that_hangs_before_the_start_does_not_keep_the_others_away(nats, tmp_path):
    def hang(node):
        node.state.gpus["fault_delay_us"][0] = 60_000_000

    async with running(nats, tmp_path, hang) as (_, ear, _process):
        frame = await until(lambda: ear.frames and ear.frames[0])

    assert frame.gpus.split(",") == UUIDS[1:]


async def test_a_lost_board_is_missing_keeps_its_place_and_comes_back(nats, tmp_path):
    async with running(nats, tmp_path) as (node, ear, _process):
        await until(lambda: len(ear.frames) >= 5)
        node.state.gpus["fault_code"][5] = 15
        await until(lambda: not valid(ear.frames[-1], 5))
        assert ear.frames[-1].gpu_count == 8
        assert valid(ear.frames[-1], 4)
        assert readiness(tmp_path) == 200

        node.state.gpus["fault_code"][5] = 0

        await until(lambda: valid(ear.frames[-1], 5))


async def test_when_every_call_fails_it_is_not_ready_and_recovers_without_a_restart(nats, tmp_path):
    async with running(nats, tmp_path) as (node, ear, process):
        await until(lambda: len(ear.frames) >= 5)
        node.state.gpus["fault_code"] = 999
        await until(lambda: readiness(tmp_path) == 503, within_s=6)

        node.state.gpus["fault_code"] = 0

        await until(lambda: readiness(tmp_path) == 200)
        await until(lambda: all(valid(ear.frames[-1], slot) for slot in range(8)))
        assert process.poll() is None


async def test_started_before_the_driver_it_finds_everything_once_the_driver_is_there(nats, tmp_path):
    def unload(node):
        node.state.header["driver_state"] = 9

    async with running(nats, tmp_path, unload) as (node, ear, _process):
        await until(lambda: readiness(tmp_path) == 503)
        assert not ear.frames

        node.state.header["driver_state"] = 0

        await until(lambda: ear.frames and all(valid(ear.frames[-1], slot) for slot in range(8)))
        assert readiness(tmp_path) == 200


async def test_without_the_library_it_says_which_one_and_stays_up_unready(nats, tmp_path):
    missing = tmp_path / "nowhere" / "libnvidia-ml.so.1"

    async with running(nats, tmp_path, library=str(missing)) as (_, ear, process):
        line = await until(lambda: "was not found" in (tmp_path / "telemetry.log").read_text())

        assert line
        assert str(missing) in (tmp_path / "telemetry.log").read_text()
        assert "install the NVIDIA driver" in (tmp_path / "telemetry.log").read_text()
        assert readiness(tmp_path) == 503
        assert process.poll() is None
        assert not ear.frames


async def test_a_board_without_fields_is_read_through_the_older_calls(nats, tmp_path):
    def weaken(node):
        node.state.gpus["capabilities"][2] = 1 | 2  # no instant and no average field

    async with running(nats, tmp_path, weaken) as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 20)

    assert valid(ear.frames[-1], 2)
    assert ear.frames[-1].window_s == 1.0  # the older call is a mean of 1 s, and the frame says so


async def test_a_board_without_a_counter_has_means_by_integration_and_no_energy(nats, tmp_path):
    def weaken(node):
        node.state.gpus["capabilities"][2] = 1 | 4 | 8

    async with running(nats, tmp_path, weaken) as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 20)

    last = ear.frames[-1]
    assert (last.mean_ok[2], last.energy_ok[2]) == (0, 1)
    assert view(last).mean_w[0, 2] > 0


async def test_blank_markers_are_marked_and_counted(nats, tmp_path):
    async with running(nats, tmp_path) as (node, ear, _process):
        await until(lambda: len(ear.frames) >= 5)
        node.state.gpus["blank_mask"][1] = 1 | 2

        await until(lambda: ear.frames[-1].power_ok[1] == 3)

        await until(lambda: ear.frames[-1].rejected >= 4)
        assert ear.frames[-1].energy_ok[1] == 3


async def test_an_xid_error_becomes_an_event(nats, tmp_path):
    async with running(nats, tmp_path) as (node, ear, _process):
        await until(lambda: len(ear.frames) >= 15)

        node.state.gpus["xid_code"][6] = 79
        node.state.gpus["xid_seq"][6] += 1

        await until(lambda: '"xid": 79' in (tmp_path / "telemetry.log").read_text())
        assert UUIDS[6] in (tmp_path / "telemetry.log").read_text()


async def test_a_second_long_frame_carries_ten_rows_at_their_own_times(nats, tmp_path):
    async with running(nats, tmp_path, frame_s="1.0") as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 3)

    last = ear.frames[2]
    assert last.samples == 10
    before_s = view(last).before_s
    assert np.allclose(np.diff(before_s), -0.1, atol=0.06)
    assert last.slow_ok


def test_settings_that_make_no_sense_are_named_all_at_once(tmp_path):
    import subprocess
    import sys

    wrong = {"EASYRIDER_TELEMETRY_SAMPLING_HZ": "50", "EASYRIDER_TELEMETRY_FRAMES": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "easyrider_telemetry"],
        env=os.environ | wrong,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    for word in ("SAMPLING_HZ", "FRAMES is not a setting", "NODE is missing"):
        assert word in done.stderr
