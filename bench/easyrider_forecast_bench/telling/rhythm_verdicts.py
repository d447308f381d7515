"""What is asked of the product about rhythms, each with its number."""

from easyrider_forecast_bench.telling.verdicts import Verdict
from easyrider_forecast_bench.trials import RECORDED_ALIASES, Rhythms

RIGHT, FASTER_RIGHT = 0.95, 0.75


def rhythm_verdicts(tried: Rhythms) -> list[Verdict]:
    """All claims."""
    return [
        Verdict(
            "period within 6 % in 95 % of cases over 0.4-20 s at jitter up to 5 %",
            tried.right >= RIGHT,
            f"{100 * tried.right:.1f} %; {100 * tried.faster_right:.0f} % over 0.2-0.4 s",
        ),
        Verdict(
            "where two estimators agree a period is surer",
            tried.agreed_right >= max(tried.right, RIGHT),
            f"right in {100 * tried.agreed_right:.1f} % of the {100 * tried.agreed:.0f} % that agree",
        ),
        Verdict(
            "below two refreshes a period is not observable", tried.unobservable, str(tried.unobservable)
        ),
        Verdict(
            "every simulated alias is flagged, no true wave is",
            tried.aliases_flagged == 1.0 and tried.true_flagged == 0.0,
            f"{100 * tried.aliases_flagged:.0f} % of aliases, {100 * tried.true_flagged:.0f} % of true waves",
        ),
        Verdict(
            "both recorded aliases are flagged",
            len(tried.recorded_flagged) == len(RECORDED_ALIASES),
            ", ".join(tried.recorded_flagged) or "none",
        ),
        Verdict(
            "a fingerprint halves the time to 1.3 x the steady error at 1-5 s",
            None,
            "apart: bench/fingerprints.py",
        ),
    ]
