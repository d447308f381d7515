"""What the planner is told of the world apart from jobs: limits in force, what cannot be steered, foreign load."""

import numpy as np

from easyrider_policy.core import foreign
from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.picture import Picture


def situation_of(picture: Picture, now_s: float, estimates: Estimates) -> Situation:
    """What the planner is told of limits, and of what cannot be steered now."""
    safety, ledger = picture.safety, picture.safety.ledger
    reach = (now_s - ledger.roll.nonce_s < picture.rules.leases.ttl_s) & ~safety.leavings.away()
    steered = picture.managed & picture.fleet.settable & ~ledger.stuck & reach[picture.fleet.gpu_node]
    steered &= ~safety.leavings.gone(picture.managed)
    steered &= ~safety.leavings.asking(now_s)[picture.fleet.gpu_node]
    hard_w = picture.hard_meant_w(now_s)
    sums = safety.planned_sums(now_s, picture.managed, hard_w, estimates)
    counted_w = safety.planned_w(now_s)
    could_w = foreign.could_w(picture.fleet, foreign_boards(picture), counted_w)
    return Situation(
        now_s=now_s,
        limit_w=asked_w(picture),
        steered=steered,
        counted_w=counted_w,
        hard_w=hard_w,
        target_w=picture.target_meant_w,
        unmanaged_hard_w=foreign.besides(sums.unmanaged_w, could_w),
        unmanaged_target_w=foreign.besides(sums.unmanaged_w, foreign_drawn_w(picture)),
        holds=safety.holds,
        closed=sums.closed,
        pilot_floor_w=picture.rules.pilot_floor_w,
        confidence=picture.confidence(now_s),
        ahead_w=picture.foreseen.part_w(now_s),
        pressed=picture.heat.pressed,
        echo=picture.echo,
    )


def foreign_boards(picture: Picture) -> Bools:
    """(G,) boards that nobody limits, nor holds until they are let go."""
    return ~(picture.managed | picture.safety.ledger.told)


def foreign_drawn_w(picture: Picture) -> Floats:
    """(D,) wall watts that they draw, as far as they are read."""
    return foreign.drawn_w(picture.fleet, foreign_boards(picture), picture.observation.gpu_w)


def asked_w(picture: Picture) -> Floats:
    """(G,) what each board is asked to hold: newest sent, else as read back; NaN unknown."""
    ledger, commands = picture.safety.ledger, picture.safety.commands
    held_w = commands.held.limit_w
    shown_w = np.where(np.isnan(ledger.requested_w), picture.gathering.limit_w, ledger.requested_w)
    based = commands.based[picture.fleet.gpu_node] & ~np.isnan(held_w)
    return np.where(based, held_w, shown_w)
