"""The picture beside a model: which features of a job its estimates rest on, and how good they were on unseen jobs."""

from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from easyrider_cli.plots import BLUE, ORANGE
from easyrider_cli.train_outputs import DRAWN_BY
from easyrider_cli.words_drawn import words_as_said
from easyrider_estimator.core.model import Ready

_MOST = 20
_DPI = 120


def drawn(ready: Ready) -> bytes:
    """A PNG. Left: importance by feature. Right: error on unseen jobs beside that of the plain mean."""
    with words_as_said():
        return _drawn(ready)


def _drawn(ready: Ready) -> bytes:
    model = ready.model
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = model.importance[:_MOST]
    drawn = left.barh([one.feature for one in shown], [100 * one.share for one in shown], color=BLUE)
    left.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)
    left.invert_yaxis()
    left.set_xlabel("share of what splits gain, mean and p99 (%)")
    left.set_title("What estimates rest on", loc="left", fontweight="bold")
    names = [one.target for one in model.learned]
    # targets have units of their own: each is told as a share of what the plain mean errs
    off = [
        100 * one.measured.off / one.measured.plain_off if one.measured.plain_off else 0.0
        for one in model.learned
    ]
    bars = right.barh(names, off, color=ORANGE)
    right.bar_label(
        bars,
        [f"within interval {100 * one.measured.covered:.0f} %" for one in model.learned],
        padding=2,
        fontsize=8,
    )
    right.axvline(100, color="black", linewidth=1.0, linestyle=":")
    right.set_xlim(0, max(130.0, 1.3 * max(off, default=0.0)))
    right.invert_yaxis()
    right.set_xlabel("error on jobs not learned from (% of the plain mean's)")
    right.set_title(
        f"How good they are, intervals for {100 * model.coverage:.0f} %", loc="left", fontweight="bold"
    )
    note = f" {model.note}" if model.note else ""
    figure.suptitle(
        f"Model {ready.version}, {model.fingerprints} fingerprints.{note}", fontsize=11, wrap=True
    )
    FigureCanvasAgg(figure)
    held = BytesIO()
    figure.savefig(held, format="png", dpi=_DPI, metadata={"Software": DRAWN_BY})
    return held.getvalue()
