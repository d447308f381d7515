"""The demonstration's two pictures."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from easyrider_cli import plots
from easyrider_cli.plots import DomainRun, JobTrack, Outage, PowerPicture, RunWork, WorkPicture

T_S = np.arange(0.0, 150.0, 0.1)
OUTAGE = Outage(label="module fails", begin_s=60.0, end_s=120.0)
SOURCES = "2 nodes replay recorded traces, 2 run a synthetic job"


def power_picture() -> PowerPicture:
    hard_w = np.where((T_S > 60) & (T_S < 120), 28e3, 35e3)
    rng = np.random.default_rng(0)
    up_w = 24e3 + 4e3 * (np.sin(T_S) > -0.5) + rng.normal(0, 300, len(T_S))
    without = DomainRun(
        label="without control", t_s=T_S, wall_w=np.where(T_S < 90, up_w * 1.25, 0.0), hard_w=hard_w,
        target_w=0.8 * hard_w, trips_s=(90.0,),
    )  # fmt: skip
    static = DomainRun(label="static cap", t_s=T_S, wall_w=up_w * 0.8, hard_w=hard_w, target_w=0.8 * hard_w)
    kept_w = np.minimum(up_w, 0.8 * hard_w)
    live = DomainRun(label="with EasyRider", t_s=T_S, wall_w=kept_w, hard_w=hard_w, target_w=0.8 * hard_w)
    return PowerPicture(domain="UPS", runs=(without, static, live), outages=(OUTAGE,), sources=SOURCES)


def work_picture() -> WorkPicture:
    seconds = np.arange(0.0, 150.0)
    jobs = tuple(
        JobTrack(
            job=name, source=source, gpus=gpus, limit_t_s=np.array([0.0, 61, 125]),
            limit_w=np.array([700.0, 540 - 10 * gpus, 700]), work_t_s=seconds,
            done_pct=100 - np.clip(seconds - 60, 0, 60) * 0.006 * gpus,
        )
        for name, source, gpus in (("a", "recorded", 8), ("b", "recorded, repeated", 8), ("llm", "synthetic", 16))
    )  # fmt: skip
    runs = (
        RunWork(label="without control", done_pct={"a": 60.0, "b": 61.0, "llm": 58.0}, total_pct=59.3),
        RunWork(label="static cap", done_pct={"a": 88.0, "b": 89.0, "llm": 84.0}, total_pct=86.2),
        RunWork(label="with EasyRider", done_pct={"a": 95.0, "b": 95.5, "llm": 94.0}, total_pct=94.6),
    )
    return WorkPicture(jobs=jobs, runs=runs, outages=(OUTAGE,), rating_w=700.0, sources=SOURCES)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures as they are written."""
    figures: list[Figure] = []
    write = plots._write

    def keep(figure: Figure, path: Path) -> None:
        figures.append(figure)
        write(figure, path)

    monkeypatch.setattr(plots, "_write", keep)
    return figures


def words(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_the_power_picture_shows_every_run_with_limits_outage_and_trip(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    plots.draw_power(power_picture(), tmp_path / "power.png")

    said = words(drawn[0])
    for word in ("without control", "static cap: stays up", "with EasyRider: stays up", "trips at 90 s"):
        assert word in said
    for word in ("hard limit", "target", "module fails", "restored", "recorded", "synthetic"):
        assert word in said
    assert (tmp_path / "power.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["power.png"]


def test_every_axis_names_its_unit(tmp_path: Path, drawn: list[Figure]) -> None:
    plots.draw_power(power_picture(), tmp_path / "power.png")
    plots.draw_work(work_picture(), tmp_path / "work.png")

    labels = {axes.get_ylabel() for f in drawn for axes in f.axes} | {
        axes.get_xlabel() for f in drawn for axes in f.axes
    }
    assert labels - {""} == {
        "wall power (kW)",
        "time (s)",
        "limit per GPU (W)",
        "work done so far (% of uncapped)",
        "work done by the end (% of uncapped)",
    }


def test_the_work_picture_names_every_job_with_its_source(tmp_path: Path, drawn: list[Figure]) -> None:
    plots.draw_work(work_picture(), tmp_path / "work.png")

    said = words(drawn[0])
    for word in ("a, 8 GPUs, recorded", "llm, 16 GPUs, synthetic", "all jobs", "with EasyRider", "rating"):
        assert word in said


def test_the_ten_second_mean_is_one_of_what_was_there_at_the_beginning() -> None:
    run = DomainRun(
        label="", t_s=np.arange(0, 30, 0.1), wall_w=np.arange(300.0), hard_w=T_S[:300], target_w=T_S[:300]
    )

    mean_w = plots._trailing_mean(run)

    assert mean_w[0] == 0.0
    assert mean_w[9] == 4.5
    assert mean_w[-1] == np.mean(np.arange(200.0, 300.0))


def test_a_run_that_ended_early_is_drawn(tmp_path: Path) -> None:
    picture = power_picture()
    short = DomainRun(label="short", t_s=T_S[:1], wall_w=T_S[:1], hard_w=T_S[:1] + 1, target_w=T_S[:1] + 1)

    picture = PowerPicture(domain="UPS", runs=(*picture.runs[:2], short), outages=(), sources="")
    plots.draw_power(picture, tmp_path / "p.png")

    assert (tmp_path / "p.png").stat().st_size > 10_000
