"""What makes two jobs the same type: name, image, configuration, model and number of their GPUs, and their hash."""

import hashlib
from typing import Annotated

import msgspec

from easyrider.messages.base import Label, Record

GpuNumber = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
"""GPUs of a job in all."""


class JobType(Record, frozen=True, kw_only=True):
    """What a job says of itself. Two jobs of one type are expected to draw power alike."""

    name: Label
    image: Label = ""
    configuration: Label = ""  # "batch=32,framework=torch,layers=80", as `canonical` writes it
    gpu_model: Label = ""  # as the driver names it
    gpu_count: GpuNumber

    @property
    def id(self) -> str:
        """32 hexadecimal digits; the same wherever it is computed."""
        parts = (
            self.name,
            self.image,
            canonical(self.configuration),
            self.gpu_model,
            str(self.gpu_count),
        )
        told = "".join(f"{len(part.encode())}:{part}," for part in parts)
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    @property
    def told(self) -> bool:
        """Whether the job says anything of its type: jobs that say nothing have nothing in common."""
        return bool(self.name or self.image or self.configuration)


def settings(configuration: str) -> dict[str, str]:
    """The parts of "batch=32, layers=80" by their names; a part without "=" is there with an empty value."""
    pairs = (part.partition("=") for part in configuration.replace(";", ",").split(","))
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}


def canonical(configuration: str) -> str:
    """The same whatever the order and the blanks: sorted by name."""
    found = settings(configuration)
    return ",".join(f"{name}={found[name]}" if found[name] else name for name in sorted(found))
