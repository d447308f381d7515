"""Jobs come, change, restart and end; nothing leaks from one to the next."""

import pytest
from forecast_region import Region, at, frame


def test_a_job_that_starts_on_warm_gpus_knows_nothing_of_the_former_job(region: Region) -> None:
    region.job("first", "n1")
    region.run(90, lambda node, t_s: 650.0)
    region.job("first", "n1", change="ended")
    region.job("second", "n1", started_ns=2)
    region.run(75, lambda node, t_s: 200.0)

    assert [s.id for s in region.said if s.scope == "job"] == ["second"]
    assert at(region.series("second").demand, 30).peak_q99_w < 8 * 240.0


def test_the_same_job_started_again_forgets_its_former_run(region: Region) -> None:
    region.job("j", "n1")
    region.run(90, lambda node, t_s: 650.0)
    region.job("j", "n1", started_ns=2)
    region.run(3, lambda node, t_s: 130.0)

    assert region.series("j").basis == "nameplate"
    assert any(reason.startswith("young") for reason in region.series("j").reasons)


def test_a_running_job_said_again_keeps_its_history(region: Region) -> None:
    region.job("j", "n1")
    for _ in range(9):
        region.run(10, lambda node, t_s: 500.0)
        region.job("j", "n1", change="running")

    assert region.series("j").confidence > 0.95


def test_a_job_over_two_nodes_is_one_series(two_nodes: Region) -> None:
    for node in ("n1", "n2"):
        two_nodes.job("j", node)
    two_nodes.run(70, lambda node, t_s: 400.0 if node == "n1" else 500.0)

    said = two_nodes.series("j")
    assert said.gpu_count == 16
    assert at(said.draw, 10).mean_w == pytest.approx(16 * 450.0, rel=0.01)


def test_gpus_of_no_job_are_counted_in_the_domain_as_idle(two_nodes: Region) -> None:
    two_nodes.job("j", "n1", gpus=slice(4))
    two_nodes.run(80, lambda node, t_s: [600.0] * 4 + [75.0] * 4 if node == "n1" else 75.0)

    assert two_nodes.series("j").gpu_count == 4
    assert two_nodes.series("rack").gpu_count == 16
    assert at(two_nodes.series("rack").draw, 10).mean_w == pytest.approx(4 * 600 + 12 * 75, rel=0.01)


def test_a_frame_whose_gpus_are_not_known_yet_is_counted_and_dropped(region: Region) -> None:
    told = frame("n1", region.gpus["n1"], region.now_s, [300.0] * 8, named=False)

    region.engine.intake.take_frame(told, region.now_s)

    assert region.engine.intake.dropped["unknown_gpus"] == 1
    assert region.engine.intake.boards.rows == 0


def test_a_node_that_falls_silent_counts_the_device_maximum(two_nodes: Region) -> None:
    for node in ("n1", "n2"):
        two_nodes.job(f"job-{node}", node)
    two_nodes.run(80, lambda node, t_s: 300.0)
    two_nodes.run(6, lambda node, t_s: 300.0 if node == "n1" else None)

    assert two_nodes.series("job-n2").confidence == 0.0
    assert at(two_nodes.series("job-n2").demand, 10).mean_w == 8 * 700.0
    assert at(two_nodes.series("job-n1").demand, 10).mean_w == pytest.approx(8 * 300.0, rel=0.02)
    assert two_nodes.series("rack").basis == "nameplate"


def test_frames_that_a_frozen_bus_delivers_late_fall_into_their_own_seconds(region: Region) -> None:
    region.job("j", "n1")
    region.run(30, lambda node, t_s: 300.0)
    intake, held = region.engine.intake, []
    for step in range(8):
        held.append(frame("n1", region.gpus["n1"], region.now_s + 0.1 * (step + 1), [300.0] * 8))
    for told in held:
        intake.take_frame(told, region.now_s + 0.85)
    region.t_s = round(region.t_s + 0.8, 6)
    region.run(3, lambda node, t_s: 300.0)

    assert intake.boards.late == 0
    assert not any("missing" in reason for reason in region.series("j").reasons)
