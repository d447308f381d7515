"""A frame that fits a mould says what decoding it would say; one that may say anything else does not fit."""

import hashlib

import msgspec
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from easyrider import frame_batch, wire
from easyrider.columns import pack
from easyrider.errors import MalformedMessage
from easyrider.frame_mould import shape_of
from easyrider.messages import NodeFrame

BOARDS = 2
FAR = 1 << 40


def frame(*, slow: bool = False, **said: object) -> NodeFrame:
    """One look at two boards."""
    usual = NodeFrame(
        region="r", node="n1", boot_id="boot", seq=FAR, t_ns=FAR + 1, mono_ns=FAR + 2, samples=1,
        gpu_count=BOARDS, gpus="", gpus_hash=hashlib.sha256(b"a,b").digest()[:8], window_s=0.025, refresh_s=0.1,
        before_us=pack("u4", [7]), power_w=pack("f4", [1.5] * BOARDS), power_ok=bytes(BOARDS),
        mean_w=pack("f4", [2.5] * BOARDS), mean_ok=bytes(BOARDS), energy_mj=pack("u8", [3] * BOARDS),
        energy_ok=bytes(BOARDS), limit_mw=pack("u4", [700_001] * BOARDS), limit_ok=bytes(BOARDS),
        age_ms=pack("u2", [20] * BOARDS), temperature_c=pack("i2", [60] * BOARDS) if slow else b"",
        util_pct=bytes([98] * BOARDS) if slow else b"", sm_mhz=pack("u2", [1755] * BOARDS) if slow else b"",
        mem_mhz=pack("u2", [2619] * BOARDS) if slow else b"", reasons=pack("u8", [4] * BOARDS) if slow else b"",
        memory_mb=pack("u4", [61440] * BOARDS) if slow else b"", mean10_w=pack("f4", [300.0] * BOARDS) if slow else b"",
        max10_w=pack("f4", [310.0] * BOARDS) if slow else b"", slow_ok=bytes(BOARDS) if slow else b"",
        rejected=0, cpu_pct=12.5, net_rx_bytes_per_s=1e6, net_tx_bytes_per_s=1e6,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **said)


floats = st.lists(st.floats(width=32), min_size=BOARDS, max_size=BOARDS).map(lambda row: pack("f4", row))
marks = st.lists(st.integers(0, 4), min_size=BOARDS, max_size=BOARDS).map(bytes)
told = st.fixed_dictionaries(
    {},
    optional={
        "seq": st.integers(0, 2**64 - 1),
        "mono_ns": st.integers(0, 2**64 - 1),
        "t_ns": st.integers(-(2**63), 2**64 - 1),
        "mean_w": floats,
        "power_w": floats,
        "mean_ok": marks,
        "limit_ok": marks,
        "limit_mw": st.lists(st.integers(0, 2**32 - 1), min_size=BOARDS, max_size=BOARDS).map(lambda r: pack("u4", r)),
        "before_us": st.integers(0, 2**32 - 1).map(lambda us: pack("u4", [us])),
        "max10_w": floats,
        "cpu_pct": st.floats(),
        "boot_id": st.sampled_from(["boot", "boou", "other boot"]),
        "node": st.sampled_from(["n1", "n2"]),
        "gpus_hash": st.sampled_from([hashlib.sha256(b"a,b").digest()[:8], b"12345678"]),
        "samples": st.sampled_from([1, 2]),
        "window_s": st.sampled_from([0.025, 1.0]),
    },
)  # fmt: skip
FIXED = ("region", "node", "boot_id", "samples", "gpu_count", "gpus", "gpus_hash", "window_s", "refresh_s")


@settings(max_examples=300, deadline=None)
@given(st.booleans(), told, st.booleans())
@example(False, {"mean_w": pack("f4", [float("nan"), 1.0])}, False)
@example(False, {"mono_ns": 2**63}, False)
@example(False, {"cpu_pct": float("inf")}, False)
@example(True, {}, False)
def test_what_fits_a_mould_says_what_decoding_it_would(
    slow: bool, said: dict[str, object], cut: bool
) -> None:
    mould = wire.encode(frame(slow=slow))
    shape = shape_of(mould)
    assert shape is not None
    data = msgspec.msgpack.encode(frame(slow=slow, **said))
    if cut:
        data = data[:-1] + b"\xc1"
    if len(data) != shape.length:
        return  # no mould of this length
    block, moulds = shape.block([data, mould]), shape.block([mould, mould])

    fits = shape.fits(block, moulds)

    assert fits[1]
    try:
        decoded = wire.decode(data, (NodeFrame,))
    except MalformedMessage:
        assert not fits[0]
        return
    assert isinstance(decoded, NodeFrame)
    before = frame(slow=slow)
    usual = all(getattr(decoded, name) == getattr(before, name) for name in FIXED)
    usual &= frame_batch.is_whole(decoded) and bool(frame_batch.finite([decoded])[0])
    assert fits[0] <= usual
    if fits[0]:
        assert np.array_equal(shape.mean_w(block)[0], frame_batch.mean_w([decoded])[0], equal_nan=True)
        assert np.array_equal(shape.limit_w(block)[0], frame_batch.limit_w([decoded])[0], equal_nan=True)
        assert shape.read_ns(block)[0] == frame_batch.read_ns([decoded])[0]
        assert shape.mono_ns(block)[0] == decoded.mono_ns
        assert shape.slow is slow
        if slow:
            assert np.array_equal(shape.reasons(block)[0], frame_batch.reasons(decoded))


def test_other_counters_stamps_and_watts_of_the_same_node_fit() -> None:
    mould = wire.encode(frame(slow=True))
    shape = shape_of(mould)
    assert shape is not None
    other = frame(slow=True, seq=FAR + 9, mono_ns=FAR + 10**9, mean_w=pack("f4", [9.0, 8.0]), cpu_pct=80.0)

    assert shape.fits(shape.block([wire.encode(other)]), shape.block([mould])).all()


def test_bytes_that_are_no_frame_have_no_shape() -> None:
    whole = wire.encode(frame())

    assert shape_of(b"\x80") is None
    assert shape_of(whole[:-3]) is None
    assert shape_of(whole + b"\x00") is None
    assert shape_of(b"\xde\x00\x02\xa1a") is None
