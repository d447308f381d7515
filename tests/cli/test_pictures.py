"""A demonstration as pictures: the right runs, the right labels."""

from pathlib import Path

from easyrider_cli import pictures
from easyrider_cli.demo import Demonstration


def test_the_power_picture_shows_the_domain_that_loses_a_module_in_three_runs(shown: Demonstration) -> None:
    picture = pictures.power_picture(shown)

    failure = shown.world.failures[0]
    assert picture.domain == "UPS"
    assert [run.label for run in picture.runs] == [
        "without control",
        f"static cap of {shown.static.cap_w:.0f} W a GPU",
        "with EasyRider",
    ]
    assert picture.runs[0].trips_s
    assert picture.runs[2].trips_s == ()
    assert picture.outages[0].begin_s == failure.at_s
    assert picture.outages[0].end_s == failure.at_s + failure.for_s


def test_recorded_and_synthetic_load_are_told_apart(shown: Demonstration) -> None:
    picture = pictures.work_picture(shown)

    assert {job.job: job.source for job in picture.jobs} == {
        "recorded-1": "recorded",
        "recorded-2": "recorded",
        "llm-16": "synthetic",
    }
    assert picture.sources.endswith("jobs on recorded power: 2, synthetic jobs: 1")


def test_work_before_any_was_due_is_unknown_not_zero(shown: Demonstration) -> None:
    job = pictures.work_picture(shown).jobs[0]

    assert str(job.done_pct[0]) == "nan"
    assert job.done_pct[-1] == 80.0


def test_both_pictures_are_written(shown: Demonstration, tmp_path: Path) -> None:
    drawn = pictures.draw(shown, tmp_path)

    assert [path.name for path in drawn] == ["demo_power.png", "demo_work.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
