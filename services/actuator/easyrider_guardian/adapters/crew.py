"""All boards of the node, each on its own thread, and NVML's own start on another: nobody waits for a stuck one."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue

from easyrider import log
from easyrider.devices.nvml_errors import DriverError
from easyrider.units import nanoseconds
from easyrider_guardian.adapters.board_worker import BoardWorker, Told
from easyrider_guardian.adapters.boards import DriverPort
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.adapters.worker import Worker
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core.orders import Order, Outcome

LOOK_DEADLINE_S = 0.25
WRITE_DEADLINE_S = 0.5
RENEW_EVERY_S = 1.0


class Crew:
    """Looks and writes on every board, within deadlines."""

    def __init__(self, driver: DriverPort, write_log: WriteLog, wake: Callable[[], None]) -> None:
        self._driver, self._write_log, self._wake = driver, write_log, wake
        self._opener = Worker("driver")
        self._opening: Future[int] | None = None
        self._tried_ns = -nanoseconds(RENEW_EVERY_S)
        self._opened = False
        self._told: SimpleQueue[Told] = SimpleQueue()
        self._workers: dict[int, BoardWorker] = {}
        self._log = log.get("crew")

    @property
    def opened(self) -> bool:
        """NVML answered; boards may be looked at."""
        return self._opened

    @property
    def count(self) -> int:
        """Boards that the driver listed last."""
        return len(self._workers)

    def tend(self, now_ns: int) -> None:
        """Open NVML, or again after a fault: at most once a second, and never under a call that runs."""
        for worker in self._workers.values():
            worker.check()
        if self._opening is not None and self._opening.done():
            self._take(self._opening)
            self._opening = None
        elif not self._opened and self._opening is None and not self._opener.busy:
            if now_ns - self._tried_ns < nanoseconds(RENEW_EVERY_S) or self._stuck():
                return
            first, self._tried_ns = not self._workers, now_ns
            self._opening = self._opener.submit(self._driver.start if first else self._driver.restart)
            self._opening.add_done_callback(lambda _future: self._wake())

    def renew(self) -> None:
        """Every handle failed: NVML is started anew at the next `tend`."""
        self._opened = False

    def look(self) -> list["Future[object]"]:
        """Have every board that is free read; results come through `drain`."""
        free = [worker for worker in self._workers.values() if not worker.busy] if self._opened else []
        return [worker.look() for worker in free]  # type: ignore[misc]

    def look_now(self) -> None:
        """Have every board read and wait for those that answer in time; results come through `drain`."""
        if not self._opened:
            return
        futures = [worker.look() for worker in self._workers.values() if not worker.stuck]
        _, late = wait(futures, timeout=LOOK_DEADLINE_S)
        for future in late:
            future.cancel()

    def start(self, order: Order) -> bool:
        """Have one write begin without waiting for it; False: the board is busy or unknown."""
        worker = self._worker(order.uuid)
        if worker is None or worker.busy or not self._opened:
            return False
        worker.write(order)
        return True

    def carry_out(self, orders: Iterable[Order]) -> dict[str, Outcome]:
        """Have writes made side by side; what came of each, "no_answer" where a board did not finish in time."""
        outcomes: dict[str, Outcome] = {}
        running: dict[Future[Outcome], Order] = {}
        for order in orders:
            worker = self._worker(order.uuid)
            if worker is None or worker.stuck or not self._opened:
                outcomes[order.uuid] = Outcome(order=order, at_ns=boot_ns(), fault="no_answer")
            else:
                running[worker.write(order)] = order
        done, late = wait(running, timeout=WRITE_DEADLINE_S)
        for future in late:
            future.cancel()
            order = running[future]
            outcomes[order.uuid] = Outcome(order=order, at_ns=boot_ns(), fault="no_answer")
        for future in done:
            outcomes[running[future].uuid] = future.result()
        return outcomes

    def hangs(self, uuid: str) -> bool:
        """Whether a call to this board has been running for too long."""
        worker = self._worker(uuid)
        return worker is not None and worker.stuck

    def drain(self) -> list[Told]:
        """Everything the boards told since the last call, in order."""
        told: list[Told] = []
        while True:
            try:
                told.append(self._told.get_nowait())
            except Empty:
                return told

    def _worker(self, uuid: str) -> BoardWorker | None:
        return next((worker for worker in self._workers.values() if worker.uuid == uuid), None)

    def _stuck(self) -> bool:
        return any(worker.busy for worker in self._workers.values())

    def _take(self, opening: "Future[int]") -> None:
        try:
            count = opening.result()
        except DriverError as fault:
            log.bounded(self._log, "driver", 60).error("NVML does not start; trying again", fault=str(fault))
            return
        for index in range(count):
            if index in self._workers:
                self._workers[index].forget()
            else:
                self._workers[index] = BoardWorker(
                    index, self._driver, self._write_log, self._told, self._wake
                )
        self._opened = True
        self._log.info("NVML is open", boards=count)
