"""`easyrider accuracy`: how right the forecasts of each job were, as the store has it; one job by horizon, drawn."""

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console

from easyrider import accuracy
from easyrider.accuracy import Accuracy, AccuracyUnreadable, Horizon
from easyrider.errors import EasyRiderError
from easyrider.store import Store
from easyrider.store_port import StoreRefused
from easyrider_cli.token_command import Place, place

_DEADLINE_S = 30.0
_UNREADABLE_SHOWN = 5
_SHOWN_S = 10


class NoAccuracy(EasyRiderError):
    """Nothing is kept of this job; forecasts go on either way."""


class CannotDraw(EasyRiderError):
    """No picture was drawn; the message says what to change."""


def kept(
    run: Path | None, installation: Path | None, redis_url: str | None, tree: str | None
) -> dict[str, bytes]:
    """Every record of the store by its id. Raises `NoStack`, `StoreSilent`, `StoreRefused`, `OSError`."""
    try:
        return asyncio.run(_kept(place(run, installation, redis_url, tree)))
    except ValueError as fault:  # an address that is none
        raise StoreRefused("connect", str(fault)) from fault


def show(
    held: dict[str, bytes],
    *,
    job: str | None,
    region: str | None,
    plot: Path | None,
    as_json: bool,
    said: Console,
    console: Console,
) -> None:
    """Newest first. Raises `NoAccuracy`, `CannotDraw`, `OSError`."""
    ones, unreadable = _decoded(held)
    for line in unreadable[:_UNREADABLE_SHOWN]:
        said.print(f"left aside: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if region is not None:
        ones = [one for one in ones if one.region == region]
    if job is None:
        if plot is not None:
            raise CannotDraw("a picture is of one job: easyrider accuracy JOB --plot FILE")
        _show_all(ones, len(unreadable), as_json, console)
        return
    one = next((one for one in ones if one.job == job), None)
    if one is None:
        known = ", ".join(sorted({one.job for one in ones})[:20]) or "none"
        raise NoAccuracy(f"nothing is kept of a job {job!r}; there is {known}")
    if plot is not None:
        _draw(one, plot)
    if as_json:
        sys.stdout.write(msgspec.json.encode(accuracy.told(one)).decode() + "\n")
        return
    for line in lines_of(one):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if plot is not None:
        console.print(str(plot), markup=False, highlight=False, soft_wrap=True)


def line_of(one: Accuracy) -> str:
    """One job in short, at ten seconds: of its demand, and where a limit hid that, of its draw."""
    side, horizon = _at(one)
    if horizon is None:
        return f"{one.job}  {_what(one)}: nothing was judged yet"
    score = horizon.run
    return (
        f"{one.job}  {_what(one)}: {side} over {horizon.horizon_s} s off by {_w(score.mae_w)}, "
        f"{_times(score.mase)} the last second's error; 0.99 bound held {_share(score.coverage99)} of "
        f"{score.windows:.0f}; {_rises(one)}"
    )


def lines_of(one: Accuracy) -> list[str]:
    """One job by side and horizon; what is not known is said to be unknown."""
    found = [f"{one.job}  {_what(one)}, kept for {one.seconds} s; watts of one GPU"]
    for side, horizons in (("demand", one.demand), ("draw", one.draw)):
        found.append(
            f"{side:7} {'windows':>8} {'error':>8} {'lately':>8} {'x last s':>8} {'bias':>8} {'peak':>8} "
            f"{'q50':>7} {'q90':>7} {'q99':>7} {'held90':>8} {'held99':>8} {'slack':>8}  left out"
        )
        for each in horizons:
            run = each.run
            found.append(
                f"{each.horizon_s:5} s {run.windows:8.0f} {_w(run.mae_w):>8} {_w(each.lately.mae_w):>8} "
                f"{_number(run.mase, 2):>8} {_w(run.bias_w):>8} {_w(run.peak_mae_w):>8} "
                f"{_number(run.pinball50_w, 1):>7} {_number(run.pinball90_w, 1):>7} {_number(run.pinball99_w, 1):>7} "
                f"{_share(run.coverage90):>8} {_share(run.coverage99):>8} {_w(run.slack_w):>8}  "
                f"{each.gaps} gaps, {each.hidden} by limits, {each.assumed} unknown"
            )
    return [*found, _rises(one)]


def _show_all(ones: list[Accuracy], unreadable: int, as_json: bool, console: Console) -> None:
    if as_json:
        document = {"jobs": [accuracy.told(one) for one in ones], "unreadable": unreadable}
        sys.stdout.write(msgspec.json.encode(document).decode() + "\n")
        return
    for one in ones:
        console.print(line_of(one), markup=False, highlight=False, soft_wrap=True)
    if not ones:
        console.print("no job's forecasts were judged yet", markup=False)


def _draw(one: Accuracy, picture: Path) -> None:
    if find_spec("matplotlib") is None:
        raise CannotDraw("pictures need matplotlib: pip install 'easyrider[plots]'")
    from easyrider_cli.accuracy_plot import draw

    draw(one, picture)


async def _kept(where: Place) -> dict[str, bytes]:
    async with Store.connect(
        where.redis_url, login=where.login, tls=where.tls, deadline_s=_DEADLINE_S
    ) as store:
        return {kept_id: data for kept_id, (_, data) in (await store.load_accuracies(where.tree)).items()}


def _decoded(held: dict[str, bytes]) -> tuple[list[Accuracy], list[str]]:
    found, unreadable = [], []
    for kept_id, data in sorted(held.items()):
        try:
            found.append(accuracy.decode(kept_id, data))
        except AccuracyUnreadable as fault:
            unreadable.append(str(fault))
    return sorted(found, key=lambda one: (-one.updated_unix_s, one.id)), unreadable


def _at(one: Accuracy) -> tuple[str, Horizon | None]:
    for side, horizons in (("demand", one.demand), ("draw", one.draw)):
        for each in horizons:
            if each.horizon_s == _SHOWN_S and each.run.windows:
                return side, each
    return "", None


def _what(one: Accuracy) -> str:
    what = f"{one.type_key}, " if one.type_key else ""
    return f"({what}{one.gpu_count} GPUs, {one.region})"


def _rises(one: Accuracy) -> str:
    rises = one.rises
    if not rises.seen and not rises.false and not rises.withdrawn:
        return "no rise was seen or announced"
    lead = "" if rises.lead_s is None else f", {rises.lead_s:.1f} s ahead"
    return (
        f"{rises.foretold} of {rises.seen} rises foretold{lead}; {rises.false} announced that never came, "
        f"{rises.withdrawn} withdrawn"
    )


def _w(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts:.1f} W"


def _times(ratio: float | None) -> str:
    return "unknown beside" if ratio is None else f"{ratio:.2f} x"


def _share(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"{value:.{digits}f}"
