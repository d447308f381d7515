"""Whether an operator may answer for a node that is said to be dark."""

import numpy as np

from easyrider_policy.core.control import Control
from easyrider_policy.core.silence import TRUST_S


def why_not(control: Control, name: str, now_s: float) -> str | None:
    """Why what is booked for a node may not be released; None: it may.

    A node that speaks draws what it draws, whatever an operator says; one that fell silent may have left its boards
    at their limits, so only a person who knows that it is dark can say so.
    """
    node = control.fleet.node_index.get(name)
    if node is None:
        return f"{name!r} is no node of these rules"
    if control.ledger.dark[node]:
        return f"{name} counts nothing already: it was released before and was not heard since"
    age_s = now_s - float(control.ledger.roll.heard_s[node])
    if np.isfinite(age_s) and age_s <= TRUST_S:
        return (
            f"{name} was heard {age_s:.1f} s ago: it counts what it may draw. Cut its power, and ask again when "
            f"nothing was heard of it for {TRUST_S:.0f} s"
        )
    return None
