"""Which limits of a region's root are its parent's word and not its own: raising them there would free nothing."""

import numpy as np

from easyrider import scopes
from easyrider_policy.picture import Picture


def lent_by_parent(picture: Picture) -> dict[str, str]:
    """`lent:<parent>` by the reason that names the limit, `share:<parent>` where no lease runs; empty at the top."""
    envelope = picture.envelope
    region = None if envelope is None else scopes.find(picture.rules, picture.region)
    if envelope is None or region is None or region.parent is None:
        return {}
    kind = "share" if envelope.granted_w is None else "lent"
    root, told = picture.fleet.domains[0], f"{kind}:{region.parent}"
    own_w = np.minimum(picture.facility.target_w, picture.targets.ceiling_w)
    own_w = np.minimum(own_w, picture.billing.ceiling_w)
    found = {f"target:{root}": told} if envelope.target_w < own_w[0] else {}
    return found | ({f"hard:{root}": told} if envelope.hard_w < picture.facility.hard_w[0] else {})
