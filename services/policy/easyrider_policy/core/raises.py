"""How much of the wanted raises the verified room carries: one share per job, so that its boards stay equal."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats

Ints = NDArray[np.int64]

ROUNDS = 3
SLACK_W = 1e-6


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Admitted:
    """`share` (G,) of each board's raise that may be sent; `binding` (G,) the domain that binds it, -1: none."""

    share: Floats
    binding: Ints


def none(fleet: Fleet) -> Admitted:
    """Nobody wants to rise."""
    boards = len(fleet.gpus)
    return Admitted(share=np.zeros(boards), binding=np.full(boards, -1, dtype=np.int64))


def admit(
    fleet: Fleet,
    need_w: Floats,
    rises: Bools,
    group: Ints,
    room_w: Floats,
    blocked: Mapping[int, str],
) -> Admitted:
    """Shares of raises that keep every domain within its room, for every mixture of old and new limits.

    `need_w` (G,): board watts by which the count would grow if the whole raise were sent; a raise within what
    is counted anyway needs none. `group` (G,): boards of one job share one number. A domain in `blocked` or over
    its limit lets nothing rise, need or not. The count grows at most in proportion to the share, so shares of
    needs suffice.
    """
    if not rises.any():
        return none(fleet)
    share, binding = np.zeros(len(fleet.gpus)), np.full(len(fleet.gpus), -1, dtype=np.int64)
    # Over its limit by count a domain lets nothing rise, not even inside the count: what is real may be less.
    closed = room_w < -SLACK_W
    closed[list(blocked)] = True
    rows = np.flatnonzero(rises)
    above = fleet.node_ancestors[fleet.gpu_node[rows]]
    groups, member = np.unique(group[rows], return_inverse=True)
    left_w, left = np.maximum(room_w, 0.0), np.ones(len(groups))
    for turn in range(ROUNDS):
        wanted = np.zeros(len(fleet.gpus))
        wanted[rows] = need_w[rows] * left[member]
        asked_w = fleet.slope_w(wanted)
        ratio = np.where(asked_w > left_w + SLACK_W, left_w / np.maximum(asked_w, SLACK_W), 1.0)
        ratio[closed] = 0.0
        at_board = np.append(ratio, np.inf)[above]  # -1 reads the last cell: no such domain
        # A domain whose sum does not grow by this board does not bind it.
        at_board = np.where((need_w[rows] <= 0)[:, None] & ~np.append(closed, False)[above], 1.0, at_board)
        least = np.ones(len(groups))
        np.minimum.at(least, member, at_board.min(axis=1))
        if turn == 0:
            tightest = above[np.arange(len(rows)), at_board.argmin(axis=1)]
            binding[rows] = np.where(at_board.min(axis=1) < 1.0, tightest, -1)
        granted = np.zeros(len(fleet.gpus))
        granted[rows] = wanted[rows] * least[member]
        left_w = np.maximum(left_w - fleet.slope_w(granted), 0.0)
        left *= 1.0 - least
    share[rows] = 1.0 - left[member]
    return Admitted(share=share, binding=binding)
