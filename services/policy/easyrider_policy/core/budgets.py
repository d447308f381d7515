"""Wall watts that are left for the jobs below each domain, once for what is drawn and once for what could be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.observe import UNREAD_S, Observation
from easyrider_policy.core.overshoot import MOST
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.tally import tally
from easyrider_policy.core.walls import Walls

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

REACTIVE_SHARE = 0.0025
"""Kept free while forecasts are not to be trusted, however well the reckoning holds."""
GRAIN_SHARE = 2e-4
"""Of the target: budgets are whole steps of it, so that noise of a few watts asks for no new plan."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Budgets:
    """(D,) wall watts for steered jobs; `held_back_w` is what margins and penalties took off `target_w`."""

    target_w: Floats
    hard_w: Floats
    held_back_w: Floats


def budgets(
    observation: Observation,
    walls: Walls,
    situation: Situation,
    ours: Bools,
    penalty_w: Floats,
    reactive: bool,
) -> Budgets:
    """What limits leave after everything that is not a steered job. `ours` (G,): boards of steered jobs."""
    fleet, layout = observation.layout.fleet, observation.layout
    idle = situation.steered & (layout.job_of < 0)
    armed_w = np.maximum(fleet.min_w, fleet.gpu_fallback_w) * MOST
    could_w = np.where(ours, 0.0, np.where(idle, armed_w, situation.counted_w))
    standing_w = walls.standing_w(situation.unmanaged_target_w)
    room_w = situation.target_w - standing_w - others_w(observation, situation, ours)
    # What was seen to be drawn less than was reckoned is credit; forecasts that are trusted need no margin.
    share = walls.reckoning.share
    share = share + REACTIVE_SHARE if reactive else np.minimum(share, 1.0)
    target_w = np.where(room_w > 0, room_w / share, room_w) - penalty_w
    step_w = np.maximum(1.0, GRAIN_SHARE * situation.target_w)
    target_w = np.floor(target_w / step_w) * step_w
    hard_w = situation.hard_w - fleet.margin_w - fleet.worst_fixed_w - situation.unmanaged_hard_w
    return Budgets(
        target_w=target_w,
        hard_w=hard_w - fleet.worst_wall_w(could_w),
        held_back_w=np.maximum(room_w - target_w, 0.0),
    )


def others_w(observation: Observation, situation: Situation, ours: Bools) -> Floats:
    """Wall watts (D,) that boards which are not ours (G,) are taken to draw, machines apart."""
    fleet, layout = observation.layout.fleet, observation.layout
    likely_w = np.where(ours, 0.0, _likely_w(observation, layout, situation.counted_w))
    return fleet.weights.normal(fleet.overhead_slope * _per_node(layout, likely_w))


def _likely_w(observation: Observation, layout: Layout, counted_w: Floats) -> Floats:
    """What boards outside our hands draw at most: their job's peak or their own draw, if somebody reads them."""
    likely_w = observation.gpu_w
    if layout.job_count:
        in_job = layout.job_of >= 0
        likely_w = np.where(in_job, np.fmax(likely_w, observation.peak_w[layout.job_of]), likely_w)
    unread = ~(observation.unread_s <= UNREAD_S)
    return np.where(unread, counted_w, likely_w)


def _per_node(layout: Layout, gpu_w: Floats) -> Floats:
    return tally(layout.fleet.gpu_node, gpu_w, len(layout.fleet.nodes))
