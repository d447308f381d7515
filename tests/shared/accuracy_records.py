"""Records of how right forecasts were, made by hand."""

from easyrider.accuracy import Accuracy, Horizon, Point, Rises, Score

NOTHING = Score(
    windows=0.0, mae_w=None, bias_w=None, mase=None, peak_mae_w=None, pinball50_w=None, pinball90_w=None,
    pinball99_w=None, coverage90=None, coverage99=None, slack_w=None,
)  # fmt: skip
SOME = Score(
    windows=100.0, mae_w=12.5, bias_w=-1.0, mase=0.5, peak_mae_w=20.0, pinball50_w=10.0, pinball90_w=4.0,
    pinball99_w=1.0, coverage90=0.9, coverage99=0.99, slack_w=30.0,
)  # fmt: skip


def horizons(run: Score = SOME) -> tuple[Horizon, ...]:
    """Of 1 and 10 s."""
    return tuple(Horizon(horizon_s=h, run=run, lately=NOTHING, gaps=1, hidden=2, assumed=3) for h in (1, 10))


def one(
    job: str = "llm-16",
    *,
    region: str = "local",
    tenant: str = "team-a",
    updated_unix_s: float = 1.8e9,
    demand: Score = SOME,
    draw: Score = SOME,
    trail: tuple[Point, ...] = (Point(mean_w=500.0, q99_w=650.0, seen_mean_w=505.0, seen_peak_w=None),),
) -> Accuracy:
    """A job's record."""
    return Accuracy(
        job=job, region=region, tenant=tenant, type_key="llm", gpu_count=8, updated_unix_s=updated_unix_s, seconds=600,
        draw=horizons(draw), demand=horizons(demand),
        rises=Rises(seen=9, foretold=7, lead_s=4.5, false=1, withdrawn=2),
        trail_ends_unix_s=1.8e9 if trail else None, trail_step_s=10.0, trail=trail,
    )  # fmt: skip
