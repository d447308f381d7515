"""Whoever reads what is printed may have had enough, as `head` has: the command ends without a word."""

import os
import select
import sys
from contextlib import suppress

EXIT = 141
"""As shells tell a program that a closed pipe ended."""


class Reader:
    """Of our stdout, as it was when this was made: what draws tables puts another in its place once it is gone."""

    def __init__(self) -> None:
        try:
            self._handle: int | None = os.dup(1)
        except OSError:  # there is no stdout
            self._handle = None

    @property
    def gone(self) -> bool:
        """Whether nobody can ever read it again; a socket of the command's own that broke is not meant."""
        if self._handle is None:
            return False
        poll = select.poll()
        poll.register(self._handle, 0)
        return any(what & select.POLLERR for _, what in poll.poll(0))

    def close(self) -> None:
        """What is still held back has nobody to go to where the reader is gone."""
        if self._handle is None:
            return
        if self.gone:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            with suppress(OSError, ValueError):  # stdout may be no file
                os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        os.close(self._handle)
        self._handle = None
