"""What is believed of a job before it has shown anything: the seam where stored fingerprints enter."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Prior:
    """Peak of one GPU in W as if uncapped, and where the belief comes from."""

    peak_w: float
    basis: Literal["fingerprint", "nameplate"]


class Priors(Protocol):
    """Answers for a job type on boards of a given device maximum."""

    def prior(self, type_key: str, max_w: float) -> Prior:
        """Never above `max_w`."""
        ...


class Nameplate:
    """Knows no job types: everything may draw the device maximum."""

    def prior(self, type_key: str, max_w: float) -> Prior:  # noqa: ARG002 - the port's signature
        """The device maximum."""
        return Prior(max_w, "nameplate")
