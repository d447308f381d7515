"""What a job says of itself before it starts, as named values: numbers, or words cut down to what may come again."""

import math
import re

from easyrider.job_types import JobType, settings

GPU_COUNT, GPU_MODEL = "gpu_count", "gpu_model"
CONFIGURATION = "configuration."
OF_ONE_RUN = frozenset({"seed", "run", "run_id"})
"""Settings that tell one run from another and nothing of its power."""
_LONGEST, _LONGEST_KEY = 256, 200
_COUNTERS = re.compile(r"[0-9a-f]{8,}|\d+")


def texts(job: JobType) -> dict[str, str]:
    """Every value that the job says, by the name of the feature; what it does not say is not there."""
    found = {
        GPU_MODEL: job.gpu_model.strip(),
        "image": repository(job.image),
        "name": family(job.name),
    }
    found = {name: text for name, text in found.items() if text}
    for key, text in settings(job.configuration).items():
        if key.lower() not in OF_ONE_RUN:
            found[f"{CONFIGURATION}{key[:_LONGEST_KEY]}"] = text
    found[GPU_COUNT] = str(job.gpu_count)
    return found


def number(text: str) -> float | None:
    """A finite number; None where it is none."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) and abs(found) < 1e15 else None


def family(name: str) -> str:
    """A job's name without what counts its runs: "train-llama-0042" and "train-llama-0043" are one."""
    return _COUNTERS.sub("#", name.strip().lower())[:_LONGEST]  # some letters become two


def repository(image: str) -> str:
    """An image without its tag and digest."""
    place = image.strip().partition("@")[0]
    folder, slash, last = place.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"
