"""Weights of rival forecasts by their rolling error; the outcome of origin t enters at t + h and not before."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed

ORIGINS = HORIZONS_S[-1] + 2
CONTEXTS = 4
STEADY, IN_DIP, NEAR_DIP, MOVING = range(CONTEXTS)
"""Losses are kept apart by what goes on at the origin: who is right in a stall is seldom right on the plateau."""
FORGET = 2.0 ** (-1 / 120)
SHARPNESS = 2.0
NEGLIGIBLE = 10.0
"""A rival so far behind weighs less than 1e-8: its weight is not worth an exponential."""
ASLEEP = 1.1
"""A rival with nothing to say is charged so many times what the mix missed by: a mix beats each of its members."""
MEMORY = 120
DEPTHS = tuple(horizon_s + 1 for horizon_s in HORIZONS_S)
STARTS = tuple(sum(DEPTHS[:column]) for column in range(len(DEPTHS)))
"""Origins of a horizon of h are remembered for h + 1 blocks: 53 slots in all, not 5 x 32."""


def slot_of(origin: int, horizon: int) -> int:
    """Where an origin of one horizon is remembered."""
    return STARTS[horizon] + origin % DEPTHS[horizon]


def slots_of(origin: int) -> list[int]:
    """Where an origin is remembered, horizon by horizon."""
    return [slot_of(origin, horizon) for horizon in range(len(DEPTHS))]


class Mix(Rowed):
    """One weighted combination per row and horizon, and the forecasts made at the last origins.

    A rival with nothing to say is charged what the mix missed by (sleeping experts: Freund and others 1997). With
    the loss of its start it would, as a rhythm found after minutes of none, speak alone at once, right or wrong.
    """

    def __init__(self, rows: int, first_loss: tuple[float, ...]) -> None:
        super().__init__(rows)
        experts, horizons = len(first_loss), len(HORIZONS_S)
        self.loss = self.column("loss", (CONTEXTS, horizons, experts), np.float32, np.asarray(first_loss))
        self.error_w = self.column("error_w", (horizons,), np.float64, np.nan)
        self.rival_error_w = self.column("rival_error_w", (horizons,), np.float64, np.nan)
        self.scored = self.column("scored", (horizons,), np.int64, 0)
        self._made = self.column("_made", (sum(DEPTHS), experts), np.float32, np.nan)
        self._said = self.column("_said", (sum(DEPTHS),), np.float32, np.nan)
        self._context = self.column("_context", (ORIGINS,), np.int8, STEADY)
        self._when = np.full(ORIGINS, -1)  # blocks that were kept: one may have passed without a forecast

    def weigh(self, rivals: Array, context: Array) -> Array:
        """The combination, (rows, horizons); NaN only where no rival has a value."""
        have = ~np.isnan(rivals)
        loss = self.loss[np.arange(self.rows), context]
        behind = np.where(have, loss, np.inf)
        behind -= np.minimum(behind.min(axis=2, keepdims=True), 1e6)
        gain = np.where(behind < NEGLIGIBLE, np.exp(-SHARPNESS * behind), 0.0)
        weight = gain.sum(axis=2)
        mixed = (gain * np.where(have, rivals, 0.0)).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weight > 0, mixed / weight, np.nan)

    def made(self, origin: int, horizon: int, expert: int) -> Array:
        """What one rival said at `origin`, (rows,); NaN where nothing was said then."""
        if not self.knows(origin):
            return np.full(self.rows, np.nan)
        return self._made[:, slot_of(origin, horizon), expert].astype(np.float64)

    def said(self, origin: int, horizon: int) -> Array:
        """What the mix said at `origin`, (rows,); NaN where nothing was said then."""
        if not self.knows(origin):
            return np.full(self.rows, np.nan)
        return self._said[:, slot_of(origin, horizon)].astype(np.float64)

    def best(self, horizon: int) -> Array:
        """Index of the heaviest rival of each row where nothing unusual goes on."""
        return np.asarray(self.loss[:, STEADY, horizon].argmin(axis=1))

    def keep(self, block: int, rivals: Array, said: Array, context: Array | int = STEADY) -> None:
        """Remember what was forecast at the end of `block`."""
        for column in range(len(HORIZONS_S)):
            self._made[:, slot_of(block, column)] = rivals[:, column]
        self._said[:, slots_of(block)] = said
        self._context[:, block % ORIGINS] = context
        self.kept(block)

    def kept(self, block: int) -> None:
        """The record of this origin is written."""
        self._when[block % ORIGINS] = block

    def knows(self, origin: int) -> bool:
        """Whether a forecast was said at this origin and is still remembered."""
        return bool(self._when[origin % ORIGINS] == origin)

    def score(self, block: int, horizon: int, outcome_w: Array, valid: Array, rating_w: Array) -> None:
        """Compare what was said `HORIZONS_S[horizon]` blocks before `block` with what came, (rows,).

        Rows that are not `valid` learn nothing: gaps, hidden samples and moved limits are no verdict.
        """
        origin = block - HORIZONS_S[horizon]
        if not self.knows(origin):
            return
        said = self._said[:, slot_of(origin, horizon)]
        rows = np.flatnonzero(valid & np.isfinite(said) & np.isfinite(outcome_w))
        if not len(rows):
            return
        made = self._made[rows, slot_of(origin, horizon)]
        outcome = outcome_w[rows]
        number = self.scored[rows, horizon] = self.scored[rows, horizon] + 1
        pace = 1.0 / np.minimum(number, MEMORY)
        for kept, forecast in ((self.error_w, said[rows]), (self.rival_error_w, made[:, 0])):
            miss, old = np.abs(forecast - outcome), kept[rows, horizon]
            kept[rows, horizon] = np.where(np.isfinite(old), old + pace * (miss - old), miss)
        scale = np.maximum(np.maximum(self.error_w[rows, horizon], 1e-3 * rating_w[rows]), 0.1)
        misses = np.abs(made - outcome[:, None]) / scale[:, None]
        asleep = ASLEEP * np.abs(said[rows] - outcome) / scale
        misses = np.where(np.isnan(misses), asleep[:, None], misses)
        gain = 0.12 if HORIZONS_S[horizon] >= 30 else 0.2
        context = self._context[rows, origin % ORIGINS]
        old = self.loss[rows, context, horizon]
        self.loss[rows, context, horizon] = FORGET * old + gain * np.clip(misses, 0.0, 8.0)
