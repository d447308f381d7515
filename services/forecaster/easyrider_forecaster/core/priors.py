"""What is believed of a job before it has shown anything: the seam where stored fingerprints enter."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.fingerprints_start import Start


@dataclass(frozen=True, slots=True)
class Prior:
    """Peak of one GPU in W as if uncapped, and where the belief comes from."""

    peak_w: float
    basis: Literal["fingerprint", "nameplate"]


class Priors(Protocol):
    """Answers for jobs on boards of a given device maximum."""

    def prior(self, job: str, max_w: float) -> Prior:
        """Never above `max_w`."""
        ...

    def start(self, job: str, age_s: float) -> Start | None:
        """What is known of a start that is still going on, `age_s` after the job was first heard of."""
        ...

    def match(self, rows: int) -> Array:
        """How far what each row shows fits what is believed of it, (rows,): NaN nothing is, 0 not at all."""
        ...


class Nameplate:
    """Knows no job types: everything may draw the device maximum."""

    def prior(self, job: str, max_w: float) -> Prior:  # noqa: ARG002 - the port's signature
        """The device maximum."""
        return Prior(max_w, "nameplate")

    def start(self, job: str, age_s: float) -> Start | None:  # noqa: ARG002 - the port's signature
        """Nothing is."""
        return None

    def match(self, rows: int) -> Array:
        """Nothing is believed of any."""
        return np.full(rows, np.nan)
