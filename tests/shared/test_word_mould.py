"""A state or an ack that fits a mould says what decoding it would say; one that may say anything else does not fit."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from easyrider import wire
from easyrider.errors import MalformedMessage
from easyrider.messages import GpuAck, GpuState, LimitAck, NodeState
from easyrider.word_mould import COUNTS, LIMITS, WordShape, word_shape_of

FAR = 1 << 40
Word = NodeState | LimitAck


def state(**told: object) -> NodeState:
    """Of a node with two boards."""
    boards = tuple(
        GpuState(
            uuid=uuid, min_w=200.0, max_w=700.0, default_w=700.0, baseline_w=650.0, requested_w=300.0,
            enforced_w=301.0, fallback_w=250.0, settable=True, controlled=True,
        )
        for uuid in ("GPU-a", "GPU-b")
    )  # fmt: skip
    usual = NodeState(
        tree="t", region="r", node="n1", boot_id="boot", nonce=FAR + 3, highest_epoch=4, highest_seq=5000,
        armed=True, stage=0, leaving=False, gpus=boards, t_ns=FAR, mono_ns=FAR + 1,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **told)


def ack(**told: object) -> LimitAck:
    """Of the same node."""
    boards = tuple(
        GpuAck(uuid=uuid, requested_w=300.0, enforced_w=301.0, fallback_w=250.0)
        for uuid in ("GPU-a", "GPU-b")
    )
    usual = LimitAck(
        tree="t", region="r", node="n1", boot_id="boot", answers="set_limits", epoch=4, seq=5000, highest_epoch=4,
        highest_seq=5000, accepted=True, refused=None, gpus=boards, t_ns=FAR, mono_ns=FAR + 1,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **told)


WORDS = {"state": state, "ack": ack}
watts = st.one_of(st.floats(0.0, 1e9), st.floats(), st.none(), st.just(-0.0))
said = st.fixed_dictionaries(
    {},
    optional={
        "nonce": st.integers(0, 2**64 - 1),
        "seq": st.integers(0, 70_000),
        "highest_seq": st.integers(4_990, 2**16),
        "epoch": st.integers(0, 200),
        "highest_epoch": st.integers(0, 200),
        "t_ns": st.integers(-(2**63), 2**64 - 1),
        "mono_ns": st.integers(0, 2**64 - 1),
        "node": st.sampled_from(["n1", "n2"]),
        "boot_id": st.sampled_from(["boot", "boou"]),
        "tree": st.sampled_from(["t", "u"]),
        "stage": st.sampled_from([0, 1, 2, 3]),
        "leaving": st.booleans(),
        "held": st.booleans(),
        "armed": st.booleans(),
        "accepted": st.booleans(),
        "answers": st.sampled_from(["set_limits", "exit_grant", "hold"]),
    },
)
boards = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(LIMITS, watts),
            "uuid": st.sampled_from(["GPU-a", "GPU-b", "GPU-c"]),
            "max_w": st.sampled_from([700.0, 650.0]),
            "baseline_w": st.sampled_from([650.0, 600.0]),
            "settable": st.booleans(),
            "controlled": st.booleans(),
            "refused": st.sampled_from([None, "held"]),
        },
    ),
    min_size=2,
    max_size=2,
)


def odd(word: Word, said: dict[str, object], boards: list[dict[str, object]]) -> Word:
    """As far as it has such fields."""
    fields = {name: value for name, value in said.items() if name in word.__struct_fields__}
    has = word.gpus[0].__struct_fields__
    others = [{name: value for name, value in board.items() if name in has} for board in boards]
    fields["gpus"] = tuple(
        msgspec.structs.replace(board, **how) for board, how in zip(word.gpus, others, strict=True)
    )
    return msgspec.structs.replace(word, **fields)


def shape_of(word: Word) -> WordShape:
    shape = word_shape_of(wire.encode(word))
    assert shape is not None
    return shape


def fits(shape: WordShape, mould: bytes, data: bytes) -> bool:
    return bool(shape.fits(shape.block([data]), shape.block([mould]))[0])


def still(word: Word) -> Word:
    """The word without what may change from one to the next."""
    none = dict.fromkeys(COUNTS & set(word.__struct_fields__), 0)
    bare = tuple(msgspec.structs.replace(board, **dict.fromkeys(LIMITS, 0.0)) for board in word.gpus)
    return msgspec.structs.replace(word, gpus=bare, **none)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(WORDS)), said, boards, st.integers(0, 600), st.integers(0, 255), st.booleans())
@example("state", {"mono_ns": 2**63}, [{}, {}], 0, 0, False)
@example("ack", {}, [{"enforced_w": float("nan")}, {}], 0, 0, False)
@example("ack", {}, [{"requested_w": 1.1e9}, {"fallback_w": -1.0}], 0, 0, False)
@example("ack", {"epoch": 9, "highest_epoch": 9, "seq": 6000}, [{"enforced_w": 450.5}, {}], 0, 0, False)
def test_what_fits_a_mould_says_what_decoding_it_would(
    what: str, said: dict, boards: list[dict], at: int, byte: int, foul: bool
) -> None:
    usual = WORDS[what]()
    mould, shape = wire.encode(usual), shape_of(usual)
    data = msgspec.msgpack.encode(odd(usual, said, boards))
    if foul:
        data = data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :]
    if len(data) != shape.length or not fits(shape, mould, data):
        return
    word = wire.decode(data, (type(usual),))  # raises no MalformedMessage
    assert still(word) == still(usual)
    block = shape.block([data])
    for counter in shape.counters:
        assert int(shape.count(block, counter.name)[0]) == getattr(word, counter.name)
    for name in LIMITS:
        assert shape.limit_w(block, name)[0].tolist() == [getattr(board, name) for board in word.gpus]


@pytest.mark.parametrize("what", sorted(WORDS))
def test_what_changes_from_word_to_word_fits(what: str) -> None:
    usual = WORDS[what]()
    later = odd(
        usual,
        {"nonce": FAR, "seq": 5001, "highest_seq": 5001, "epoch": 7, "highest_epoch": 7, "mono_ns": FAR + 9},
        [{"requested_w": 450.0, "enforced_w": 449.0}, {"fallback_w": 200.5}],
    )
    assert fits(shape_of(usual), wire.encode(usual), wire.encode(later))


@pytest.mark.parametrize("what", sorted(WORDS))
def test_what_a_message_may_not_hold_does_not_fit(what: str) -> None:
    usual = WORDS[what]()
    mould, shape = wire.encode(usual), shape_of(usual)
    for watts in (float("nan"), float("inf"), -1.0, 2e9):
        data = msgspec.msgpack.encode(odd(usual, {}, [{"enforced_w": watts}, {}]))
        with pytest.raises(MalformedMessage):
            wire.decode(data, (type(usual),))
        assert not fits(shape, mould, data)


@pytest.mark.parametrize(
    "how",
    [{"node": "n2"}, {"boot_id": "boou"}, {"tree": "u"}, {"accepted": False}, {"answers": "exit_grant"}],
)
def test_an_ack_that_says_anything_else_does_not_fit(how: dict[str, object]) -> None:
    data = wire.encode(ack(**how))
    assert len(data) == shape_of(ack()).length
    assert not fits(shape_of(ack()), wire.encode(ack()), data)


@pytest.mark.parametrize("how", [{"leaving": True}, {"stage": 2}, {"armed": False}, {"held": True}])
def test_a_state_that_says_anything_else_does_not_fit(how: dict[str, object]) -> None:
    data = wire.encode(state(**how))
    assert len(data) == shape_of(state()).length
    assert not fits(shape_of(state()), wire.encode(state()), data)


def test_a_limit_that_was_not_read_back_has_another_shape() -> None:
    unread = odd(ack(), {}, [{"enforced_w": None}, {}])
    assert shape_of(unread) != shape_of(ack())
    assert not shape_of(unread).alike


def test_bytes_that_are_no_word_have_no_shape() -> None:
    for data in (b"", b"\xc1", b"\x91\x01", wire.encode(ack())[:-1], wire.encode(ack()) + b"\x00"):
        assert word_shape_of(data) is None
