"""The stretch of a recording that was asked for, refused by name where nothing can be in it."""

from datetime import UTC, datetime

from easyrider.errors import EasyRiderError
from easyrider_cli.moment_option import BadMomentOption, unix_ns
from easyrider_recorder.adapters.reader import NoRecording, Recording

_FOREVER_NS = 2**62


class NothingRecorded(EasyRiderError):
    """The recording holds no record of the stretch that was asked for; `first_ns`, `last_ns`: what it holds."""

    def __init__(self, first_ns: int, last_ns: int) -> None:
        self.first_ns, self.last_ns = first_ns, last_ns
        super().__init__(
            f"nothing was recorded between --from and --to: the recording goes from {_told(first_ns)} "
            f"to {_told(last_ns)}"
        )


def stretch(recording: Recording, begins: str | None, ends: str | None) -> tuple[int, int]:
    """Its ends in Unix ns, both within. Raises `BadMomentOption`, `NoRecording`, `NothingRecorded`."""
    from_ns = 0 if begins is None else unix_ns(begins)
    to_ns = _FOREVER_NS if ends is None else unix_ns(ends)
    if from_ns > to_ns:
        raise BadMomentOption(f"name no stretch: {begins} is later than {ends}")
    span = recording.span()
    if span is None:
        raise NoRecording(
            f"nothing was recorded of region {recording.region} there: its files hold no record"
        )
    if from_ns > span[1] or to_ns < span[0]:
        raise NothingRecorded(*span)
    return from_ns, to_ns


def _told(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
