"""Which states and acks are what a node usually says: taken whole by the desk, and fit to be a mould for more."""

from easyrider import subjects
from easyrider.bus_port import Arrival
from easyrider.messages import LimitAck, NodeState
from easyrider_policy.core.fleet import Board
from easyrider_policy.core.silence import Key
from easyrider_policy.picture import Picture
from easyrider_policy.word_moulds import Sayer


def sayer_of(picture: Picture, word: NodeState | LimitAck, arrival: Arrival) -> Sayer | None:
    """Who said a word that the desk has just judged, if it took it and nothing about it is unusual; None: judge on."""
    node, safety = picture.fleet.node_index.get(word.node), picture.safety
    if node is None or word.tree != picture.rules.id or safety.ledger.roll.boot[node] != word.boot_id:
        return None
    mine = picture.fleet.gpus_of(node)
    listed = tuple(board.uuid for board in word.gpus)
    if not listed or listed != tuple(picture.fleet.gpus[mine]):
        return None
    if word.highest_epoch > safety.lead.highest_epoch:
        return None
    if isinstance(word, LimitAck):
        usual = _is_usual_ack(picture, word, node, arrival)
    else:
        usual = _is_usual_state(picture, word, node, arrival)
    if not usual:
        return None
    slot = picture.ages.slot(word.node, word.boot_id)
    return Sayer(node, word.node, word.boot_id, slot, mine.start)


def _is_usual_ack(picture: Picture, ack: LimitAck, node: int, arrival: Arrival) -> bool:
    return (
        arrival.subject == subjects.ack(picture.region, ack.node)
        and ack.answers == "set_limits"
        and ack.accepted
        and ack.refused is None
        and picture.safety.ledger.acked_key[node] == Key(ack.epoch, ack.seq)
        and not any(
            board.refused or board.requested_w is None or board.enforced_w is None for board in ack.gpus
        )
    )


def _is_usual_state(picture: Picture, state: NodeState, node: int, arrival: Arrival) -> bool:
    shown = picture.safety.ledger.shown_boards.get(node)
    return (
        arrival.subject == subjects.state(picture.region, state.node)
        and not state.leaving
        and shown is not None
        and shown.said == state.gpus
        and all(
            picture.boards.get(board.uuid)
            == Board(
                uuid=board.uuid,
                node=state.node,
                min_w=board.min_w,
                max_w=board.max_w,
                settable=board.settable,
            )
            for board in state.gpus
        )
        and not any(board.requested_w is None or board.enforced_w is None for board in state.gpus)
    )
