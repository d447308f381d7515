"""Which verbs of the socket a user may say."""

ROOT_UID = 0
OPERATORS_VERBS = frozenset({"restore", "hold", "clear"})


def may(verb: str, uid: int, own_uid: int) -> bool:
    """Whether a connected user may say this verb to a guardian that runs as `own_uid`.

    Every verb of the actuator is fenced, or asks the coordinator; `restore` does neither and raises limits, and a
    hold is an operator's word against whoever commands, so only an operator may say and clear it: the guardian's
    own user, or root.
    """
    return verb not in OPERATORS_VERBS or uid in (own_uid, ROOT_UID)
