"""Subjects are made by functions; names that would break them are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider import subjects, units


@pytest.mark.parametrize("name", ["node.example.com", "", "a b", "*", ">", "a" * 65, "knötchen", "a\n"])
def test_a_name_that_would_break_a_subject_is_refused(name: str) -> None:
    with pytest.raises(subjects.BadToken):
        subjects.frame("r1", name)


@given(st.text(max_size=80))
def test_any_job_id_becomes_a_subject(job: str) -> None:
    assert subjects.job("r1", job).startswith("easyrider.v1.job.r1.")


def test_job_ids_that_differ_in_one_sign_keep_different_subjects() -> None:
    assert len({subjects.job("r", job) for job in ("a.b", "a_b", "a-b", "a b", "a:b", "a_2eb")}) == 6


def test_kind_comes_first_and_place_after() -> None:
    assert subjects.command("r1", "n1") == "easyrider.v1.command.r1.n1"
    assert subjects.commands_in("r1") == "easyrider.v1.command.r1.>"


@given(st.integers(0, 10**9))
def test_thousandths_come_back_as_they_went(milli: int) -> None:
    assert units.milli(units.from_milli(milli)) == milli


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_has_no_thousandths(value: float) -> None:
    with pytest.raises(ValueError, match="thousandths"):
        units.milli(value)
