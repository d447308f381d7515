"""Which verbs of the socket a user may say."""

ROOT_UID = 0


def may(verb: str, uid: int, own_uid: int) -> bool:
    """Whether a connected user may say this verb to a guardian that runs as `own_uid`.

    Every verb of the actuator is fenced, or asks the coordinator; `restore` does neither and raises limits, so
    only an operator may say it: the guardian's own user, or root.
    """
    return verb != "restore" or uid in (own_uid, ROOT_UID)
