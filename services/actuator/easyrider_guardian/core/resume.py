"""Where a guardian stands when it starts: unarmed, where it was, or expired."""

from collections.abc import Mapping
from dataclasses import replace

from easyrider_guardian.core.records import Baseline, Holding, Standing, Terms


def resume(
    stored: Standing | None,
    baselines: Mapping[str, Baseline] | None,
    terms: Terms,
    boot_id: str,
    now_ns: int,
) -> Standing:
    """The standing to go on with. `baselines` None: there is no baseline file, so nothing was ever written.

    Armed with the state of this boot, the countdown goes on. State that is missing or unreadable is expired:
    stage 1 at once, stage 2 counted from now, the last grant being no younger. State of another boot is
    expired and its last grant is older than this boot. Of another tree or node, its epochs are not
    comparable: the same as missing.
    """
    fresh = Standing(boot_id=boot_id, tree=terms.tree, node=terms.node)
    ours = stored is not None and (stored.tree, stored.node) == (terms.tree, terms.node)
    if baselines is None:
        # Fences outlive disarming; what was held does not.
        if stored is not None and ours:
            return replace(fresh, epoch=stored.epoch, seq=stored.seq)
        return fresh
    if stored is None or not ours:
        return replace(fresh, grant_ns=now_ns, stage=1, holdings=_unknown(baselines))
    if stored.boot_id == boot_id:
        return stored
    return replace(stored, boot_id=boot_id, grant_ns=0, stage=1)


def _unknown(baselines: Mapping[str, Baseline]) -> dict[str, Holding]:
    """Boards that were written once: nobody knows what they hold, so nothing may rise before stage 2."""
    return {uuid: Holding(present_w=found.requested_w, fallback_w=None) for uuid, found in baselines.items()}
