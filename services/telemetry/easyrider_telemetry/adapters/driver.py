"""The driver's own thread: opens NVML, finds the boards, hears of XID errors, begins anew when told to.

Each board is looked up in a thread of its own with a common deadline: one that hangs at start is absent, not a
reason for the others to wait.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from easyrider.devices import identity
from easyrider.devices.events import Xid, XidEvents
from easyrider.devices.identity import Identity
from easyrider.devices.library import Library
from easyrider.devices.nvml_errors import DeviceError, DriverError
from easyrider.devices.readings import BoardReader

_LOOK_UP_S = 3.0
_EVENTS_EVERY_S = 1.0
_LOOK_AGAIN_S = 30.0
_FIRST_BACK_OFF_S, _LAST_BACK_OFF_S = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """The boards that answered, and how many of those that the driver lists did not."""

    boards: tuple[tuple[Identity, BoardReader], ...]
    absent: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """NVML does not work; another attempt begins in `retry_s`."""

    fault: DeviceError
    retry_s: float


Report = Found | Trouble | Xid


class Driver:
    """Runs in one thread and hands `Report`s, from it, to `hand`."""

    def __init__(self, library: Library, hand: Callable[[Report], None]) -> None:
        self._library, self._hand = library, hand
        self._anew = False
        self._stopping = False
        self._look_ups: dict[int, _LookUp] = {}

    def start(self) -> None:
        """The thread started; it does not keep the process."""
        threading.Thread(target=self._run, name="nvml-driver", daemon=True).start()

    def begin_anew(self) -> None:
        """Shut NVML down and open it again, as after a driver reload."""
        self._anew = True

    def stop(self) -> None:
        """No further attempt."""
        self._stopping = True

    def _run(self) -> None:
        back_off_s = _FIRST_BACK_OFF_S
        opened = False
        while not self._stopping:
            self._anew = False
            try:
                (self._library.restart if opened else self._library.start)()
                opened = True
                self._forget_handles()
                while not self._interrupted:
                    found = self._find()
                    self._hand(found)
                    back_off_s = _FIRST_BACK_OFF_S
                    self._listen(found)
            except DeviceError as fault:
                self._hand(Trouble(fault, back_off_s))
                self._wait(back_off_s)
                back_off_s = min(2 * back_off_s, _LAST_BACK_OFF_S)

    @property
    def _interrupted(self) -> bool:
        return self._anew or self._stopping

    def _wait(self, wait_s: float) -> bool:
        """True when told meanwhile to stop or to begin anew; looks once a second, which costs less than an event."""
        until_s = time.monotonic() + wait_s
        while not self._interrupted and (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 1.0))
        return self._interrupted

    def _find(self) -> Found:
        count = self._library.count()
        for index in range(count):
            before = self._look_ups.get(index)
            if before is None or (before.done.is_set() and before.result is None):
                self._look_ups[index] = _LookUp(self._library, index)
        deadline_s = _LOOK_UP_S
        found: list[tuple[Identity, BoardReader]] = []
        for index in range(count):
            look_up = self._look_ups[index]
            if not look_up.done.wait(deadline_s):
                deadline_s = 0.0  # spent by one board; the others have had theirs meanwhile
                continue
            if look_up.result is not None:
                found.append(look_up.result)
            elif isinstance(look_up.fault, DriverError):
                raise look_up.fault
        return Found(tuple(found), count - len(found))

    def _forget_handles(self) -> None:
        """NVML began anew: handles from before are void. A look-up under way stays the only one of its board."""
        self._look_ups = {index: up for index, up in self._look_ups.items() if not up.done.is_set()}

    def _listen(self, found: Found) -> None:
        """Hand XID errors on until told to begin anew, or until the driver lists more boards than were found."""
        try:
            events: XidEvents | None = XidEvents(reader.board for _, reader in found.boards)
        except DriverError:
            raise
        except DeviceError:  # no events here: everything else works
            events = None
        waited_s = 0.0
        try:
            while not self._wait(_EVENTS_EVERY_S):
                for xid in events.take() if events is not None else ():
                    self._hand(xid)
                waited_s += _EVENTS_EVERY_S
                if waited_s >= _LOOK_AGAIN_S:
                    waited_s = 0.0
                    if self._library.count() != len(found.boards):
                        return
        finally:
            if events is not None:
                events.close()


class _LookUp:
    """One board asked for its names in a thread of its own."""

    def __init__(self, library: Library, index: int) -> None:
        self.done = threading.Event()
        self.result: tuple[Identity, BoardReader] | None = None
        self.fault: DeviceError | None = None
        self._library, self._index = library, index
        threading.Thread(target=self._run, name=f"nvml-find-{index}", daemon=True).start()

    def _run(self) -> None:
        try:
            board = self._library.board(self._index)
            self.result = identity.identify(board), BoardReader(board)
        except DeviceError as fault:
            self.fault = fault
        self.done.set()
