"""What is kept of a type of job is read back whole or refused by name."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider import fingerprints
from easyrider.fingerprints import BINS, Fingerprint, FingerprintUnreadable, Pauses, SpeedPoint, Startup
from easyrider.job_types import JobType, canonical, settings

TYPE = JobType(name="llm", image="train:3", configuration="batch=32,layers=80", gpu_model="H100", gpu_count=8)


def whole(**changes: Any) -> Fingerprint:
    return msgspec.structs.replace(
        Fingerprint(
            type=TYPE, revision=3, seconds=600, learned_unix_s=1.8e9, updated_unix_s=1.8e9, max_w=700.0,
            idle_w=75.0, mean_w=510.5, spread_w=12.0, p99_w=655.0, peak_w=660.0, hidden=0.25, period_s=3.2,
            shape_w=tuple(400.0 + k for k in range(BINS)), startup=Startup(mean_w=(80.0, None, 600.0), settles_s=4.0),
            pauses=Pauses(cadence_s=240.0, long_s=12.0, depth_w=150.0, lengths_s=(1.5, 12.0)),
            points=(SpeedPoint(limit_share=0.7, speed_ratio=0.97, seconds=40.0),),
        ),
        **changes,
    )  # fmt: skip


def test_a_fingerprint_is_read_back_as_it_was_kept():
    one = whole()

    assert fingerprints.decode(one.id, fingerprints.encode(one)) == one


@pytest.mark.parametrize(
    "spoiled",
    [
        b"", b"null", b"\xff\xfe", b"[" * 5000, b'{"v":1}', b"x" * 70_000,
        fingerprints.encode(whole()).replace(b"510.5", b"1e999"),
        fingerprints.encode(whole()).replace(b"510.5", b"-1"),
        fingerprints.encode(whole()).replace(b"510.5", b"701"),
        fingerprints.encode(whole()).replace(b"510.5", b"661"),
        fingerprints.encode(whole()).replace(b'"peak_w":660.0', b'"peak_w":10.0'),
        fingerprints.encode(whole()).replace(b"510.5", b'"510.5"'),
        fingerprints.encode(whole()).replace(b'"runs"', b'"rums"'),
        fingerprints.encode(whole()).replace(b'"v":1', b'"v":2'),
        fingerprints.encode(whole()).replace(b"[400.0,", b"["),
        fingerprints.encode(whole()).replace(b"train:3", b"train:4"),
    ],
)  # fmt: skip
def test_what_is_no_fingerprint_is_refused_by_name_and_says_under_which_id(spoiled: bytes):
    with pytest.raises(FingerprintUnreadable) as refused:
        fingerprints.decode(whole().id, spoiled)

    assert refused.value.kept_id == whole().id


@pytest.mark.parametrize(
    "wrong",
    [
        {"peak_w": 500.0}, {"p99_w": 500.0}, {"idle_w": 520.0}, {"mean_w": 690.0}, {"mean_w": 10.0},
        {"mean_w": float("nan")}, {"peak_w": float("inf")}, {"period_s": float("nan")}, {"hidden": 1.5},
        {"shape_w": ()}, {"period_s": None}, {"runs": -1}, {"variant": 3}, {"max_w": 0.0},
        {"startup": Startup(mean_w=(float("nan"),))}, {"pauses": Pauses(depth_w=9000.0)},
    ],
)  # fmt: skip
def test_a_fingerprint_that_could_not_be_read_back_is_not_written(wrong: dict[str, Any]):
    with pytest.raises(FingerprintUnreadable):
        fingerprints.encode(whole(**wrong))


@given(data=st.binary(max_size=300))
def test_any_bytes_are_a_fingerprint_or_refused_by_name(data: bytes):
    with pytest.raises(FingerprintUnreadable):
        fingerprints.decode(whole().id, data)


def test_a_type_is_the_same_whatever_the_order_of_its_settings_and_another_with_any_part_changed():
    again = msgspec.structs.replace(TYPE, configuration=" layers = 80 ,batch=32")
    others = [
        msgspec.structs.replace(TYPE, **change)
        for change in (
            {"name": "llm2"}, {"image": "train:4"}, {"configuration": "batch=64,layers=80"}, {"gpu_model": "H200"},
            {"gpu_count": 16}, {"name": "llmtrain:3", "image": ""},
        )
    ]  # fmt: skip

    assert again.id == TYPE.id
    assert len({one.id for one in [TYPE, *others]}) == 1 + len(others)


def test_settings_are_read_by_name_and_written_in_one_order():
    assert settings("layers=80; batch = 32, amp") == {"layers": "80", "batch": "32", "amp": ""}
    assert canonical("layers=80; batch = 32, amp") == "amp,batch=32,layers=80"


def test_a_job_that_says_nothing_of_its_type_has_none():
    assert not JobType(name="", gpu_model="H100", gpu_count=8).told
