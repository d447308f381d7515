"""Text to a stream that may hang: lines are dropped rather than waited for."""

import time
from queue import Full, Queue
from threading import Thread
from typing import TextIO

LINES_LIMIT = 1000
FLUSH_S = 0.5


class LossyText:
    """Writes on a thread of its own: a log nobody reads may cost lines, never the dead-man."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: Queue[str] = Queue(LINES_LIMIT)
        self._open = True
        Thread(target=self._run, name="log", daemon=True).start()

    def write(self, text: str) -> int:
        """Take the text, or drop it."""
        try:
            self._lines.put_nowait(text)
        except Full:
            return 0
        return len(text)

    def flush(self) -> None:
        """Nothing: the thread flushes. `drain` waits."""

    def drain(self) -> None:
        """Wait half a second at most until everything is written."""
        until_s = time.monotonic() + FLUSH_S
        while self._lines.unfinished_tasks and self._open and time.monotonic() < until_s:
            time.sleep(0.005)

    def isatty(self) -> bool:
        """No colours here."""
        return False

    def _run(self) -> None:
        while True:
            text = self._lines.get()
            try:
                if self._open:
                    self._stream.write(text)
                    self._stream.flush()
            except (OSError, ValueError):  # the reader is gone; nobody is left to tell
                self._open = False
            finally:
                self._lines.task_done()
