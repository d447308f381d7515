"""The comparison as text: one table a family, what bounds held, what failed, and what is asked of `easyrider`."""

from collections.abc import Sequence

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.ours import NAME
from easyrider_forecast_bench.series import HORIZONS_S
from easyrider_forecast_bench.telling.pooled import calibration, mae_w, ratios
from easyrider_forecast_bench.telling.verdicts import Verdict

WIDTH = 7
ASKED = "asked of easyrider:"


def table(done: Sequence[Done], verdicts: Sequence[Verdict]) -> str:
    """All of it."""
    lines: list[str] = []
    for family in dict.fromkeys(each.key.family for each in done):
        lines += [*_family(family, [each for each in done if each.key.family == family]), ""]
    lines += _costs(done)
    if verdicts:
        missed = sum(each.holds is False for each in verdicts)
        held = sum(each.holds is True for each in verdicts)
        lines += ["", f"{ASKED} {held} hold, {missed} fail, {len(verdicts) - held - missed} open"]
        marks = {True: "holds ", False: "FAILS ", None: "open  "}
        lines += [f"  {marks[each.holds]} {each.claim}: {each.number}" for each in verdicts]
    return "\n".join(lines) + "\n"


def _family(family: str, done: list[Done]) -> list[str]:
    names = list(dict.fromkeys(each.model for each in done))
    count = len({each.key for each in done})
    origins = max(f.n_origins for each in done for f in each.figures)
    kind = "recordings" if family == "recorded" else "synthetic series"
    lines = [f"{family}: {count} {kind}, up to {origins} origins each"]
    lines += _block(
        "mean abs. error of the mean, W", "of the peak, W", names, done, ("mae_mean_w", "mae_peak_w")
    )
    lines += _block("MASE of the mean", "pinball loss of the peak, W", names, done, ("mase", "pinball_w"))
    told = ratios(done, family)
    for what, figure in (("mean", "mae_mean_w"), ("peak", "mae_peak_w")):
        each = [
            f"{one.ratio:.2f} ({one.low:.2f}-{one.high:.2f}) {one.rival}"
            for one in told
            if one.figure == figure
        ]
        if each and family != "recorded":  # loads of unlike size are not to be pooled
            lines.append(f"  {what} over the best rival: {', '.join(each)}")
    lines += _bounds([each for each in done if each.model == NAME])
    return lines


def _block(
    left: str, right: str, names: Sequence[str], done: list[Done], figures: tuple[str, str]
) -> list[str]:
    """Two figures of every model, side by side over the horizons."""
    heads = "".join(f"{f'{h} s':>{WIDTH}}" for h in HORIZONS_S)
    lines = [f"  {'':<22}{left:>{WIDTH * 5}}  {right:>{WIDTH * 5}}", f"  {'':<22}{heads}  {heads}"]
    for name in names:
        mine = [each for each in done if each.model == name]
        words = [
            "".join(f"{_number(_pooled(mine, figure, h)):>{WIDTH}}" for h in HORIZONS_S) for figure in figures
        ]
        lines.append(f"  {name:<22}{words[0]}  {words[1]}")
    return lines


def _pooled(mine: list[Done], figure: str, horizon_s: int) -> float:
    if figure != "mase":
        return mae_w(mine, figure, horizon_s)
    scale_w = mae_w(mine, "scale_w", horizon_s)
    return mae_w(mine, "mae_mean_w", horizon_s) / scale_w if scale_w > 0 else float("nan")


def _bounds(mine: list[Done]) -> list[str]:
    found = calibration(mine)
    if not found:
        return []
    covered = ", ".join(f"{100 * one.coverage:.2f}" for one in found)
    slack = ", ".join(f"{one.slack:.2f}" for one in found)
    return [f"  0.99 bound: covered {covered} % over {found[0].hours:.1f} h, slack {slack}"]


def _costs(done: Sequence[Done]) -> list[str]:
    lines = [
        f"{'model':<24}{'us/tick':>10}{'MB':>8}{'fits':>8}{'failed':>8}{'not converged':>15}",
    ]
    for name in dict.fromkeys(each.model for each in done):
        mine = [each for each in done if each.model == name and each.key.family not in ("domain", "recorded")]
        mine = mine or [each for each in done if each.model == name]
        every = [each for each in done if each.model == name]
        cost = sum(each.us_per_tick for each in mine) / len(mine)
        lines.append(
            f"{name:<24}{cost:>10.1f}{max(each.memory_mb for each in mine):>8.0f}"
            f"{sum(each.fits for each in every):>8}{sum(each.failed for each in every):>8}"
            f"{sum(each.restless for each in every):>15}"
        )
    lines.append(
        "us: CPU time a series and tick, ours many series side by side; MB: added by a model and its library"
    )
    return lines


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
