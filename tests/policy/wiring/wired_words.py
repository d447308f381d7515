"""What boxes of a wired site say of themselves: states, acks and wishes to leave, usual ones and odd ones."""

from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np
from wired_box import REGION, TREE, Box, at
from wired_site import Wired

from easyrider import subjects
from easyrider.bus_port import Arrival
from easyrider.messages import GpuAck, Leaving, LimitAck, NodeState
from easyrider_policy.core.silence import Key
from easyrider_policy.words import Words

Word = NodeState | LimitAck | Leaving


def odd(word: Word, how: dict[str, object]) -> Word:
    """The word with what is odd about it, as far as it has such fields."""
    fields = {name: value for name, value in how.items() if name in word.__struct_fields__}
    boards = how.get("boards")
    if boards and not isinstance(word, Leaving):
        told = word.gpus[0].__struct_fields__ if word.gpus else ()
        fits = {name: value for name, value in boards.items() if name in told}
        fields["gpus"] = (
            *word.gpus[:1],
            *(msgspec.structs.replace(board, **fits) for board in word.gpus[1:]),
        )
    return msgspec.structs.replace(word, **fields)


def word_of(box: Box, what: str, now_s: float, limit_w: float, seq: int) -> Word:
    """A state, an ack of the vector `seq`, or the wish to leave, of a box that holds this limit."""
    box.limit_w, box.fallback_w, box.key = [limit_w, limit_w], 250.0, (1, seq)
    state = box.state(now_s)
    if what == "state":
        return state
    if what == "leaving":
        return Leaving(
            tree=TREE, region=REGION, node=box.name, boot_id=box.boot, nonce=state.nonce, reason="stop",
            gpus=(), t_ns=0, mono_ns=state.mono_ns,
        )  # fmt: skip
    return led_ack(box, state, seq)


def led_ack(box: Box, state: NodeState, seq: int) -> LimitAck:
    return LimitAck(
        tree=TREE, region=REGION, node=box.name, boot_id=box.boot, answers="set_limits", epoch=1, seq=seq,
        highest_epoch=1, highest_seq=seq, accepted=True, refused=None, t_ns=0, mono_ns=state.mono_ns - 1,
        gpus=tuple(
            GpuAck(uuid=gpu.uuid, requested_w=gpu.requested_w, enforced_w=gpu.enforced_w, fallback_w=250.0)
            for gpu in state.gpus
        ),
    )  # fmt: skip


def site() -> Wired:
    """Leads with epoch 1; both boxes have told of their boards."""
    wired = Wired()
    wired.picture.safety.taken(1, wired.now_s, wired.now_s)
    for box in wired.boxes.values():
        wired.desk.on_state(box.state(wired.now_s), at(subjects.state(REGION, box.name), wired.now_s))
    wired.picture.follow()
    return wired


def subject_of(word: Word) -> str:
    return (
        subjects.ack(REGION, word.node) if isinstance(word, LimitAck) else subjects.state(REGION, word.node)
    )


def told(word: Word, where: Arrival) -> tuple[bytes, bytes, int]:
    """As the bus hands it over; also what `wire.encode` would refuse to say."""
    return where.subject.encode(), msgspec.msgpack.encode(word), where.mono_ns


def said(wired: Wired, what: str, name: str, seq: int, limit_w: float = 300.0) -> tuple[Word, Arrival]:
    word = word_of(wired.boxes[name], what, wired.now_s, limit_w, seq)
    return word, at(subject_of(word), wired.now_s)


def heard(wired: Wired, what: str, name: str, seq: int) -> tuple[bytes, bytes, int]:
    return told(*said(wired, what, name, seq))


def repeating() -> tuple[Wired, Words]:
    """Both boxes have said twice what they say, and each has a vector in flight."""
    wired = site()
    words = Words(wired.desk)
    for seq in (1, 2):
        words._waiting += [heard(wired, what, name, seq) for name in "ab" for what in ("ack", "state")]
        words.take()
        wired.clock.at_s += 1.0
    for node in (0, 1):
        wired.picture.safety.ledger.sent(node, Key(1, 3), np.full(2, 600.0), np.full(2, 250.0))
    return wired, words


def judged_alone(wired: Wired) -> list[str]:
    """Nodes whose words the desk judges from now on, one name a word; the rest is believed unread."""
    judged: list[str] = []
    for how in ("on_state", "on_ack"):

        def on_word(word: Word, where: Arrival, judge: Callable[[Word, Arrival], None]) -> None:
            judged.append(word.node)
            judge(word, where)

        setattr(wired.desk, how, partial(on_word, judge=getattr(wired.desk, how)))
    return judged


def raises_on(wired: Wired, node: str, how: str) -> None:
    """Whatever `node` says that has to be judged alone ends in an exception."""
    judge = getattr(wired.desk, how)

    def on_word(word: Word, where: Arrival) -> None:
        if word.node == node:
            raise KeyError("one node's word fails")
        judge(word, where)

    setattr(wired.desk, how, on_word)


def say(
    wired: Wired, words: Words, what: str, name: str, seq: int, limit_w: float = 300.0, **how: object
) -> None:
    """One node says this, and nobody else does; `late_s`: how long before now it was made; `how`: what is odd."""
    late_s = float(how.pop("late_s", 0.0))
    word, where = said(wired, what, name, seq, limit_w)
    word = odd(word, {"mono_ns": word.mono_ns - round(late_s * 1e9), **how})
    words._waiting.append(told(word, where))
    words.take()
