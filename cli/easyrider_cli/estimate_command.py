"""`easyrider estimate`: what a job will draw before it starts, from a model file or an admin API."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider.job_types import JobType
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_estimator.core.estimates import LEAST_MAX_W, MOST_MAX_W, estimate

LONGEST = 256
"""Characters of anything that a job says."""


class CannotEstimate(EasyRiderError):
    """Nothing was estimated; the message says what to change."""


def asked_type(asked: dict[str, Any]) -> JobType:
    """What the job says of itself, its nameplate apart. Raises `CannotEstimate` with the option."""
    gpu_max_w = asked.get("gpu_max_w")
    if gpu_max_w is not None and not LEAST_MAX_W <= gpu_max_w <= MOST_MAX_W:
        raise CannotEstimate(f"--gpu-max-w {gpu_max_w:g}: from {LEAST_MAX_W:g} to {MOST_MAX_W:.0f}")
    for key, text in asked.items():
        if isinstance(text, str) and len(text) > LONGEST:
            raise CannotEstimate(f"--{key.replace('_', '-')}: at most {LONGEST} characters")
    try:
        return msgspec.convert({key: value for key, value in asked.items() if key != "gpu_max_w"}, JobType)
    except msgspec.ValidationError as fault:  # its words show how the record is written
        option = str(fault).partition("`$.")[2].rstrip("`").replace("_", "-")
        raise CannotEstimate(f"--{option}: it holds characters that are never shown") from fault


def by_file(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer of this model. Raises `CannotEstimate`, `ModelUnreadable`."""
    gpu_max_w = asked.get("gpu_max_w")
    job = asked_type(asked)
    ready = ModelFile(path).read()
    told: dict[str, Any] = msgspec.to_builtins(estimate(ready, job, gpu_max_w))
    return told | {"model": {"version": ready.version, "sha256": ready.sha256, "note": ready.model.note}}


def show(told: dict[str, Any], as_json: bool, console: Console) -> None:
    """One JSON line for machines, else lines for people."""
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for line in lines(told):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines(told: dict[str, Any]) -> list[str]:
    """What is not known is said to be unknown."""
    found = [f"{_basis(told)}: {'; '.join(told['why'])}"]
    found.append(f"reserve {_watts(told['reserve_w'])} for {told['gpu_count']} GPUs")
    for name, key in (("one GPU", "gpu"), ("the job", "job")):
        found.append(f"  {name}: mean {_interval(told[key]['mean_w'])}; p99 {_interval(told[key]['p99_w'])}")
    found += [
        f"  {step['from_s']:g} to {step['to_s']:g} s after its start: {_interval(step['mean_w'])} a GPU"
        for step in told["startup"]["steps"]
    ]
    settles = told["startup"]["settles_s"]
    if settles["expected"] is not None:
        found.append(
            f"  settles after {settles['expected']:.0f} s ({settles['low']:.0f} to {settles['high']:.0f})"
        )
    return found


def _basis(told: dict[str, Any]) -> str:
    if told["basis"] != "model":
        return str(told["basis"])
    model = told["model"]
    return f"model {model['version']}" + (f" ({model['note']})" if model["note"] else "")


def _interval(one: dict[str, Any]) -> str:
    if one["expected"] is None:
        return "unknown" if one["high"] is None else f"unknown, at most {_watts(one['high'])}"
    return f"{_watts(one['expected'])} ({_watts(one['low'])} to {_watts(one['high'])})"


def _watts(value: float | None) -> str:
    return "unknown" if value is None else f"{value / 1e3:.1f} kW" if value >= 10_000 else f"{value:.0f} W"
