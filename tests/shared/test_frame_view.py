"""Columns in, masked arrays out; what is invalid cannot be read by accident."""

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider import quality
from easyrider.columns import pack
from easyrider.errors import NotFinite, WrongField
from easyrider.frame_view import view
from easyrider.messages import NodeFrame


@pytest.fixture
def make_frame() -> Callable[..., NodeFrame]:
    def make(samples: int = 2, gpu_count: int = 3, slow: bool = True, **changed: bytes) -> NodeFrame:
        cells = samples * gpu_count
        kinds = {
            "power_w": "f4", "power_ok": "u1", "mean_w": "f4", "mean_ok": "u1", "energy_mj": "u8",
            "energy_ok": "u1", "limit_mw": "u4", "limit_ok": "u1", "age_ms": "u2",
        }  # fmt: skip
        slow_kinds = {
            "temperature_c": "i2", "util_pct": "u1", "sm_mhz": "u2", "mem_mhz": "u2", "reasons": "u8",
            "memory_mb": "u4", "mean10_w": "f4", "max10_w": "f4", "slow_ok": "u1",
        }  # fmt: skip
        columns = {name: pack(kind, [0] * cells) for name, kind in kinds.items()}
        columns |= {name: pack(kind, [0] * gpu_count * slow) for name, kind in slow_kinds.items()}
        columns["before_us"] = pack("u4", [0] * samples)
        return NodeFrame(
            region="r1", node="n1", boot_id="b", seq=1, t_ns=1, mono_ns=1, samples=samples,
            gpu_count=gpu_count, gpus="", gpus_hash=b"", window_s=0.1, refresh_s=0.1, rejected=0, cpu_pct=0.0,
            net_rx_bytes_per_s=0.0, net_tx_bytes_per_s=0.0, **(columns | changed),
        )  # fmt: skip

    return make


def test_columns_are_read_row_by_row_sample_first(make_frame: Callable[..., NodeFrame]) -> None:
    frame = make_frame(power_w=pack("f4", range(6)), limit_mw=pack("u4", [700_500] * 6))

    seen = view(frame)

    assert seen.power_w.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert seen.limit_w[0, 0] == 700.5


@pytest.mark.parametrize("mark", [quality.MISSING, quality.OUT_OF_RANGE, quality.BLANK, quality.STUCK])
def test_an_invalid_cell_is_masked_and_takes_part_in_no_sum(
    make_frame: Callable[..., NodeFrame], mark: int
) -> None:
    frame = make_frame(power_w=pack("f4", [500] * 6), power_ok=pack("u1", [0, mark, 0, 0, 0, 0]))

    seen = view(frame)

    assert seen.power_w.mask[0, 1]
    assert seen.power_w.sum() == 5 * 500
    assert np.ma.is_masked(seen.power_w[0, 1])


def test_a_frame_without_slow_columns_shows_none(make_frame: Callable[..., NodeFrame]) -> None:
    seen = view(make_frame(slow=False))

    assert seen.temperature_c is None
    assert seen.max10_w is None


@pytest.mark.parametrize("name", ["power_w", "power_ok", "energy_mj", "limit_mw", "before_us", "max10_w"])
def test_a_column_of_another_size_than_announced_is_refused_by_its_name(
    make_frame: Callable[..., NodeFrame], name: str
) -> None:
    frame = make_frame()
    broken = msgspec.structs.replace(frame, **{name: getattr(frame, name) + b"\0"})

    with pytest.raises(WrongField, match=name):
        view(broken)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_column_that_holds_no_number_is_refused(
    make_frame: Callable[..., NodeFrame], number: float
) -> None:
    with pytest.raises(NotFinite, match="power_w"):
        view(make_frame(power_w=pack("f4", [number] * 6)))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_whole_numbers_come_back_as_they_went(values: list[int]) -> None:
    assert np.frombuffer(pack("u8", values), "<u8").tolist() == values


def test_a_number_too_large_for_its_column_is_an_error_and_not_another_number() -> None:
    with pytest.raises(OverflowError):
        pack("u2", [65_536])
