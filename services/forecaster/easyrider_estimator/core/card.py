"""The model card: what a model is for, what it learned from, how good it was on what was new to it, its limits."""

from easyrider.moments import rfc_3339
from easyrider_estimator.core.margins import FEWEST
from easyrider_estimator.core.model import Learned, Ready
from easyrider_estimator.core.targets import BY_NAME
from easyrider_estimator.core.training import FOLDS

TITLE = "# Model card: power of jobs before they start"


def card(ready: Ready) -> str:
    """In Markdown."""
    model = ready.model
    note = f"\nWhat whoever trained it says of the jobs: **{model.note}**\n" if model.note else ""
    return f"""{TITLE}

| | |
|---|---|
| version | `{ready.version}` |
| sha256 of the model | `{ready.sha256}` |
| made | {rfc_3339(model.made_unix_s)} |
| trees grown by | {model.library} |
| learned from | {model.fingerprints} fingerprints of {model.types} types of job |
| left out | {_left_out(model.left_out)} |
{note}
## What it is for

To tell a scheduler, before a job starts, its mean power, the 0.99 quantile of its power and the shape of its
start, from name, image, configuration and GPUs. Not for limits, breakers or bills: nothing that protects hardware
asks it. It knows jobs like those it learned from; for all others the answer is the nameplate, with the reason.

## How good it was

Each number is of jobs whose type no tree had learned from ({len(model.boards)} models of GPU, {FOLDS} folds by type).
"Plain" is the mean over known jobs on the same model of GPU. Intervals are drawn for {model.coverage:.0%} of jobs.

| estimate | unit | jobs | mean absolute error | plain | within the interval | its mean width |
|---|---|---|---|---|---|---|
{chr(10).join(_measured(one) for one in model.learned)}

## What it looks at

| feature | kind | importance for mean and p99 |
|---|---|---|
{chr(10).join(_features(ready))}

Estimates are shares of the device maximum, so that a model of GPU matters only where jobs use another share of it. Of
{len(model.passed_over)} further settings too few jobs said anything; they are not looked at.

## What it knows

| model of GPU | jobs | GPUs of a job | device maximum (W) |
|---|---|---|---|
{chr(10).join(_boards(ready))}

## Limits

- Coverage holds over jobs that come from where the known ones came from, not for each kind of job alone. A model of GPU
  with fewer than {FEWEST} jobs has the widest margin that any of its jobs ever needed.
- A job inside all ranges may still be unlike all: of its own image and model of GPU ranges are looked at one by one.
- Jobs of which limits hid much are left out: what they drew is what they were allowed.
- Types whose runs differ, although they say nothing of why, widen every interval.
"""


def _left_out(reasons: dict[str, int]) -> str:
    return "; ".join(f"{count} that {reason}" for reason, count in reasons.items()) or "none"


def _measured(one: Learned) -> str:
    unit = "share of the device maximum" if BY_NAME[one.target].share else "log(1 + s)"
    told = one.measured
    return (
        f"| {one.target} | {unit} | {told.jobs} | {told.off:.4f} | {told.plain_off:.4f} | {told.covered:.1%} "
        f"| {told.width:.4f} |"
    )


def _features(ready: Ready) -> list[str]:
    kinds = {
        feature.name: "number" if feature.values is None else f"{len(feature.values)} words"
        for feature in ready.model.features
    }
    return [
        f"| `{one.feature}` | {kinds.get(one.feature, '')} | {one.share:.1%} |"
        for one in ready.model.importance
    ]


def _boards(ready: Ready) -> list[str]:
    found = []
    for board in ready.model.boards:
        counts = board.of("gpu_count")
        span = "" if counts is None or counts.low is None else f"{counts.low:g} to {counts.high:g}"
        watts = (
            f"{board.least_max_w:g}"
            if board.least_max_w == board.most_max_w
            else f"{board.least_max_w:g} to {board.most_max_w:g}"
        )
        found.append(f"| {board.gpu_model.replace('|', '/')} | {board.jobs} | {span} | {watts} |")
    return found
