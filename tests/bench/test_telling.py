"""What is told of finished runs, and when nothing is."""

from pathlib import Path
from typing import Any

import pytest

from easyrider_bench import cells as kept
from easyrider_bench.cases import Key
from easyrider_bench.cells import Cells, Done
from easyrider_bench.controllers.contract import Entry
from easyrider_bench.running import Asked, NothingToReplay, Refused, UnknownName, run
from easyrider_bench.score import Figures
from easyrider_bench.telling.refusals import refusals
from easyrider_bench.telling.rows import POOLED, Row, pooled
from easyrider_bench.telling.table import table
from easyrider_bench.telling.verdicts import keeps, verdicts

NONE = Entry(name="none", make=None)


def figures(**more: Any) -> Figures:
    plain = dict.fromkeys(POOLED, 1.0) | {"trips": 0, "over_target_s": 0.0, "jobs_lost_pct": {}}
    return Figures(**(plain | more))


def done(controller: str = "none", scenario: str = "mixed", seed: int = 1, **more: Any) -> Done:
    key = Key(scenario=scenario, oversub_pct=30, seed=seed, seconds=300.0)
    return Done(controller=controller, key=key, target_share=0.8, figures=figures(**more), cpu_s=1.0)


def row(controller: str, scenario: str = "mixed", **more: Any) -> Row:
    usual = {"heat_max": 0.0, "sum_rule_s": 0.0, "over_target_j": 0.0, "target_energy_j": 1e7}
    return pooled([done(controller, scenario, **(usual | more))], [controller])[0]


def test_seeds_are_pooled_each_figure_by_its_rule() -> None:
    both = [
        done(seed=1, trips=1, over_target_j=10.0, heat_max=0.2, worst_job_lost_pct=5.0, work_lost_pct=2.0),
        done(seed=2, trips=2, over_target_j=30.0, heat_max=0.1, worst_job_lost_pct=9.0, work_lost_pct=4.0),
    ]

    (one,) = pooled(both, ["none"])

    assert (one["seeds"], one["trips"], one["over_target_j"]) == (2, 3, 40.0)
    assert (one["heat_max"], one["worst_job_lost_pct"], one["work_lost_pct"]) == (0.2, 9.0, 3.0)


def test_a_row_has_the_fields_that_readers_of_the_file_expect() -> None:
    assert list(row("none")) == [
        "scenario", "oversub_pct", "target_share", "seeds", "controller", "trips", "heat_max", "over_target_j",
        "over_hard_j", "drop_over_j", "target_energy_j", "sum_rule_s", "work_lost_pct", "worst_job_lost_pct",
        "peak_to_mean", "ramp_p99_w_per_s", "changes_per_min", "reversals_per_min", "billing_demand_kw", "plan_ms",
    ]  # fmt: skip


def test_halls_that_endanger_nothing_are_refused() -> None:
    rows = [row("none", name, trips=1) for name in ("over60", "module_lost")] + [row("none", "mixed")]

    assert "only 2 scenarios trip" in refusals(rows)[0]
    assert refusals([*rows, row("none", "feed_lost", trips=1)]) == []


def test_an_oracle_that_trips_or_loses_more_than_ours_is_refused() -> None:
    ours = row("easyrider", work_lost_pct=5.0)

    assert "the oracle trips in mixed" in refusals([ours, row("oracle", trips=1, work_lost_pct=4.0)])[0]
    assert "it is none" in refusals([ours, row("oracle", work_lost_pct=5.2)])[0]
    assert refusals([ours, row("oracle", work_lost_pct=5.05)]) == []


def test_who_keeps_the_target_is_said_by_trips_and_joules_and_in_a_billed_hall_by_the_bill() -> None:
    ours = row("easyrider", "demand", billing_demand_kw=40.0)

    assert keeps(row("static", "demand", billing_demand_kw=40.1), ours)
    assert not keeps(row("static", "demand", billing_demand_kw=41.0), ours)
    assert not keeps(row("static", over_target_j=1001.0), row("easyrider"))
    assert not keeps(row("static", trips=1), row("easyrider"))


def test_each_claim_is_judged_by_its_own_number() -> None:
    rows = [
        row("easyrider", work_lost_pct=6.0, reversals_per_min=3.5, over_target_j=5.0),
        row("oracle", work_lost_pct=4.0),
        row("static", work_lost_pct=5.8),
        row("three_band", work_lost_pct=5.0, over_target_j=1e6),
    ]

    told = {each.claim: each for each in verdicts(rows)}

    assert told["0 trips"].holds
    assert told["joules over target at most 0.01 of three-band's"].holds
    assert not told["work lost at most 1.2 x oracle + 0.5"].holds
    assert told["no cell above 1.5 x oracle + 0.5"].holds
    beaten = told["never over 0.1 point more than one that keeps the target"]
    assert not beaten.holds
    assert "static by 0.20" in beaten.number
    assert not told["at most 3 reversals a GPU and minute"].holds


def test_the_table_marks_who_did_not_keep_the_target() -> None:
    text = table([row("easyrider"), row("three_band", over_target_j=1e6)], [])

    assert "1.00*" in text
    assert text.count("*\n") + text.count("1.00*") >= 1


def test_a_finished_run_is_found_again_until_something_that_decides_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, one = Cells(tmp_path), done()
    cells.store(NONE, one)

    assert cells.load(NONE, one.key) == one
    assert cells.load(NONE, done(seed=2).key) is None
    assert cells.load(Entry(name="none", make=None, exact=True), one.key) is None
    monkeypatch.setattr(kept, "texts", lambda module: f"{module}, changed")
    assert cells.load(NONE, one.key) is None


def test_a_cell_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    cells, one = Cells(tmp_path), done()
    cells.store(NONE, one)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:40])

    assert cells.load(NONE, one.key) is None


def test_only_the_whole_bench_writes_the_whole_file(tmp_path: Path) -> None:
    assert Asked(out=tmp_path).name == "controllers"
    assert Asked(out=tmp_path, quick=True).name == "controllers-quick"
    assert Asked(out=tmp_path, traces=tmp_path).name == "controllers-traces"
    assert Asked(out=tmp_path, scenarios=("mixed",)).name == "controllers-part"


def test_names_that_are_not_there_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="there is no scenario mixd"):
        run(Asked(out=tmp_path, scenarios=("mixd",)), lambda _: None, lambda _: None)


def test_a_folder_without_recordings_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(NothingToReplay, match="holds no"):
        run(Asked(out=tmp_path, traces=tmp_path), lambda _: None, lambda _: None)
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(NothingToReplay, match=r"bad\.csv\.gz"):
        run(Asked(out=tmp_path, traces=tmp_path), lambda _: None, lambda _: None)


def test_a_refused_bench_writes_no_report_and_says_where_its_rows_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("easyrider_bench.running.finish", lambda *_: [done()])

    with pytest.raises(Refused, match="only 0 scenarios trip"):
        run(Asked(out=tmp_path), lambda _: None, lambda _: None)

    assert not (tmp_path / "controllers.json").exists()
    assert (tmp_path / "controllers-refused.json").exists()
