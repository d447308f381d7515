"""What the state store is to the services, and what can go wrong with it. No client library here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from easyrider.errors import EasyRiderError


class StoreSilent(EasyRiderError):
    """No answer in time, not reachable, or still loading: nothing is known, nothing is assumed."""

    def __init__(self, verb: str, why: str) -> None:
        self.verb, self.why = verb, why
        super().__init__(f"{verb}: the store is silent ({why})")


class StoreRefused(EasyRiderError):
    """The store answers, with an error: read-only, out of memory, no permission."""

    def __init__(self, verb: str, why: str) -> None:
        self.verb, self.why = verb, why
        super().__init__(f"{verb}: the store refused ({why})")


class OlderRules(StoreRefused):
    """The store holds a newer version of the rules than the one to be saved."""

    def __init__(self, held: int, offered: int) -> None:
        self.held, self.offered = held, offered
        super().__init__("save_rules", f"it holds version {held}, newer than {offered}")


class OlderFingerprint(StoreRefused):
    """The store holds this fingerprint at the same revision or a newer one; what it holds stays."""

    def __init__(self, held: int, offered: int) -> None:
        self.held, self.offered = held, offered
        super().__init__("save_fingerprint", f"it holds revision {held}, not older than {offered}")


@dataclass(frozen=True, slots=True)
class Login:
    """A user of the store, and the file that holds its password; the password itself stays there."""

    user: str
    password_file: Path


class StorePort(Protocol):
    """Said by `easyrider.store.Store` and `easyrider.testing.FakeStore`; both take the same exam.

    Every verb raises `StoreSilent` or `StoreRefused`.
    """

    async def take_lead(
        self, tree: str, scope: str, owner: str, seen_epoch: int, lease_s: float
    ) -> int | None:
        """A new epoch, above every one stored and above `seen_epoch`; None while another holds the lease."""
        ...

    async def renew_lead(self, tree: str, scope: str, owner: str, epoch: int, lease_s: float) -> bool:
        """True: the lease runs for another `lease_s`. False: the store answered that it is not ours."""
        ...

    async def give_up_lead(self, tree: str, scope: str, owner: str, epoch: int) -> None:
        """Let others take it at once, if it is still ours."""
        ...

    async def save_state(self, tree: str, region: str, fields: dict[str, bytes]) -> None:
        """Write these fields of the region's wide hash; others stay."""
        ...

    async def load_state(self, tree: str, region: str) -> dict[str, bytes]:
        """Every field of the region's hash; empty where there is none."""
        ...

    async def save_rules(self, tree: str, version: int, document: bytes) -> None:
        """Keep this version. Raises `OlderRules` where a newer one is kept."""
        ...

    async def load_rules(self, tree: str) -> tuple[int, bytes] | None:
        """Version and document; None where there is none."""
        ...

    async def save_fingerprint(self, tree: str, kept_id: str, revision: int, data: bytes) -> None:
        """Keep what was learned under this id. Raises `OlderFingerprint` where as new a revision is kept."""
        ...

    async def load_fingerprint(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """Revision and data; None where there is none. Revision 0: what is there was not kept by us."""
        ...

    async def load_fingerprints(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """Every one by its id, as `load_fingerprint` gives it."""
        ...

    async def forget_fingerprint(self, tree: str, kept_id: str, revision: int) -> bool:
        """Keep nothing under this id, unless it is newer than this revision; whether something was forgotten."""
        ...

    async def save_accuracy(self, tree: str, unix_s: int, kept: dict[str, bytes]) -> None:
        """Keep how right the forecasts of these jobs were, as of this moment; what was kept of them is replaced."""
        ...

    async def load_accuracy(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """Moment and data; None where there is none. Moment 0: what is there was not kept by us."""
        ...

    async def load_accuracies(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """Every one by its id, as `load_accuracy` gives it."""
        ...

    async def sweep_accuracies(self, tree: str, before_unix_s: int, most: int) -> int:
        """Forget those kept before this moment, and the oldest beyond `most`; how many were forgotten."""
        ...
