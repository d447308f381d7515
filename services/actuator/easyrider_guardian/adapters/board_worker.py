"""One board's calls on one thread: looks, and writes that are checked to the last moment and read back."""

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

from easyrider.devices.nvml_errors import DeviceError
from easyrider_guardian.adapters.boards import BoardPort, DriverPort, reason_of
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.adapters.worker import Worker
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core.orders import Look, Order, Outcome
from easyrider_guardian.core.records import Reading
from easyrider_guardian.core.repair import matches
from easyrider_guardian.core.vector import in_range_w

READS, READ_EVERY_S = 5, 0.05
STAMP_SLACK_NS = 10_000_000
Told = Look | Outcome
T = TypeVar("T", Look, Outcome)


class BoardWorker:
    """The board at one index. Results go to `told` before their future is done, then `wake` is called."""

    def __init__(
        self,
        index: int,
        driver: DriverPort,
        log: WriteLog,
        told: "SimpleQueue[Told]",
        wake: Callable[[], None],
    ) -> None:
        self.index = index
        self.uuid: str | None = None
        self._driver, self._log, self._told, self._wake = driver, log, told, wake
        self._board: BoardPort | None = None
        self._worker = Worker(f"gpu {index}")

    @property
    def busy(self) -> bool:
        """A call runs or waits."""
        return self._worker.busy

    @property
    def stuck(self) -> bool:
        """The board has not answered for so long that it is not waited for."""
        return self._worker.stuck

    def forget(self) -> None:
        """The handle is void: NVML was started anew. The next call asks for the board again."""
        self._worker.submit(self._forget)

    def look(self) -> "Future[Look]":
        """Read range and limits."""
        return self._worker.submit(lambda: self._tell(self._look()))

    def write(self, order: Order) -> "Future[Outcome]":
        """Ask for a limit, if it is still permitted at that moment, and read back what came of it."""
        return self._worker.submit(lambda: self._tell(self._write(order)))

    def check(self) -> None:
        """Raises what a call on the thread raised and nobody expected."""
        if self._worker.failure is not None:
            raise self._worker.failure

    def _tell(self, told: T) -> T:
        self._told.put(told)
        self._wake()
        return told

    def _forget(self) -> None:
        self._board = None

    def _open(self) -> BoardPort:
        if self._board is None:
            self._board = self._driver.board(self.index)
            self.uuid = self._board.uuid
        return self._board

    def _look(self) -> Look:
        asked_ns = boot_ns()  # what is told is no younger than the question
        try:
            reading = self._open().read()
        except DeviceError as fault:
            self._board = None
            return Look(index=self.index, uuid=self.uuid, at_ns=boot_ns(), fault=reason_of(fault))
        return Look(index=self.index, uuid=self.uuid, at_ns=asked_ns, reading=reading)

    def _write(self, order: Order) -> Outcome:
        try:
            board = self._open()
            before = board.read()
        except DeviceError as fault:
            self._board = None
            return Outcome(order=order, at_ns=boot_ns(), fault=reason_of(fault))
        refused = self._unfit(order, board, before)
        if refused is not None:
            return Outcome(order=order, at_ns=boot_ns(), reading=before, refused=refused)
        stamp_ns = self._announce(order)
        if isinstance(stamp_ns, str):
            return Outcome(order=order, at_ns=boot_ns(), reading=before, refused=stamp_ns)
        fault_word = None
        try:
            board.write(order.limit_w)
        except DeviceError as fault:
            fault_word = reason_of(fault)  # some drivers report an error and change the limit all the same
        outcome = self._read_back(order, board, fault_word)
        self._note(order, stamp_ns, outcome)
        return outcome

    def _unfit(self, order: Order, board: BoardPort, before: Reading) -> str | None:
        if board.uuid != order.uuid:
            return "moved"  # the order of the boards changed; the next look finds it again
        if in_range_w(order.limit_w, before) != order.limit_w:
            return f"out_of_range {before.min_w:g}..{before.max_w:g} W"
        return None

    def _announce(self, order: Order) -> int | str:
        """The stamp of the write, its line being on disk and the permit asked after that; else why not."""
        while True:
            stamp_ns = boot_ns()
            refused = order.permit(stamp_ns)
            if refused is not None:
                return refused
            try:
                self._log.about_to(order, self.index, stamp_ns)
            except OSError:
                if order.raises:
                    return "cannot_store"
            refused = order.permit(boot_ns())
            if refused is not None:
                return refused
            if boot_ns() - stamp_ns < STAMP_SLACK_NS:
                return stamp_ns

    def _read_back(self, order: Order, board: BoardPort, fault_word: str | None) -> Outcome:
        reading, asked_ns = None, boot_ns()
        if fault_word in ("no_permission", "not_supported"):
            return Outcome(order=order, at_ns=boot_ns(), fault=fault_word)
        for read in range(READS):
            if read:
                time.sleep(READ_EVERY_S)
            asked_ns = boot_ns()
            try:
                reading = board.read()
            except DeviceError as fault:
                self._board, fault_word = None, reason_of(fault)
                break
            if matches(order.limit_w, reading):
                return Outcome(order=order, at_ns=asked_ns, reading=reading, verified=True)
        return Outcome(order=order, at_ns=asked_ns, reading=reading, fault=fault_word)

    def _note(self, order: Order, stamp_ns: int, outcome: Outcome) -> None:
        enforced_w = None if outcome.reading is None else outcome.reading.enforced_w
        with contextlib.suppress(OSError):  # the ack says the same; a full disk shows at the next store
            self._log.came_of(order, stamp_ns, enforced_w, outcome.verified, outcome.fault)
