"""SYNTHETIC fingerprints: families of jobs whose power follows a rule and some noise. No real job was measured."""

import math
import random
from collections.abc import Sequence
from functools import cache

from easyrider.fingerprints import Fingerprint, Startup
from easyrider.job_types import JobType
from easyrider_estimator.adapters import lightgbm_trees
from easyrider_estimator.core.model import encode
from easyrider_estimator.core.training import train

BOARDS = {"SYNTHETIC-700": 700.0, "SYNTHETIC-400": 400.0}
FAMILIES = {"llama": 0.86, "vision": 0.70, "diffusion": 0.78, "speech": 0.62}
COUNTS = (8, 16, 32, 64, 128)
NOTE = "SYNTHETIC jobs; no real one was measured"


def job_type(family: str, board: str, count: int, batch: int, number: int = 0) -> JobType:
    return JobType(
        name=f"train-{family}-{number:04d}",
        image=f"registry.example/{family}:1.{number % 7}",
        configuration=f"batch={batch},precision={'fp8' if number % 3 == 0 else 'bf16'},seed={number}",
        gpu_model=board,
        gpu_count=count,
    )


def fingerprint(
    job: JobType, family: str, chance: random.Random, *, noise: float = 0.02, hidden: float = 0.0
) -> Fingerprint:
    max_w = BOARDS[job.gpu_model]
    batch = int(job.configuration.partition("batch=")[2].partition(",")[0])
    share = FAMILIES[family] - 0.025 * math.log2(job.gpu_count / 8) + 0.03 * math.log2(batch / 16)
    share += -0.03 if "fp8" in job.configuration else 0.0
    share = min(0.97, max(0.2, share + chance.gauss(0.0, noise)))
    settles_s = 12.0 + 6.0 * math.log2(job.gpu_count) * math.exp(chance.gauss(0.0, 0.1))
    start = [share * max_w * min(1.0, (2.0 * step + 2.0) / settles_s) for step in range(60)]
    p99 = min(1.0, share + 0.08 + abs(chance.gauss(0.0, noise)))
    return Fingerprint(
        type=job, seconds=1800.0, learned_unix_s=1.7e9, updated_unix_s=1.7e9, max_w=max_w, idle_w=0.1 * max_w,
        mean_w=share * max_w, spread_w=5.0, p99_w=p99 * max_w, peak_w=p99 * max_w, hidden=hidden,
        startup=Startup(mean_w=tuple(start), settles_s=settles_s),
    )  # fmt: skip


def jobs(count: int, seed: int, first: int = 0, **how: float) -> list[Fingerprint]:
    """`count` fingerprints, each of another type."""
    chance = random.Random(seed)
    found = []
    for number in range(first, first + count):
        family, board = chance.choice(sorted(FAMILIES)), chance.choice(sorted(BOARDS))
        job = job_type(family, board, chance.choice(COUNTS), chance.choice((8, 16, 32, 64)), number)
        found.append(fingerprint(job, family, chance, **how))
    return found


class OneFit:
    """Grows once and says the same trees again: for tests that look at what is learned from, not how well."""

    def __init__(self) -> None:
        self.rows: list[Sequence[Sequence[float]]] = []
        self._text = ""

    def __call__(self, rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> str:
        self.rows.append(rows)
        self._text = self._text or lightgbm_trees.grow(rows, wanted)
        return self._text


@cache
def model_file() -> bytes:
    """A model of 300 of them, as it is kept."""
    model = train(
        jobs(300, seed=1), lightgbm_trees.grow, library=f"lightgbm {lightgbm_trees.version()}", made_unix_s=1.7e9,
        note=NOTE, progress=lambda _done, _of, _what: None,
    )  # fmt: skip
    return encode(model)
