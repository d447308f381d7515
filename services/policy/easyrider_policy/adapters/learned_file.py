"""What was learned of boards and jobs, on the coordinator's own disk: a restart need not learn it anew."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from easyrider import log
from easyrider_policy.core import curves
from easyrider_policy.core.learned_kept import Learned, sane

_LOG = log.get("policy")
FORM = 1
BOARDS_FOR_S = 7 * 86_400.0
"""Boards and drivers are changed; the next week still tells much of one."""
JOBS_FOR_S = 1_800.0
"""After longer, a job of the same name may be another program."""


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. Another form, or another bank of curves, is none that can be read."""

    form: int
    steepness: tuple[float, ...]
    saved_unix_s: float
    learned: Learned


class LearnedFile:
    """`learned.json`, replaced by rename, fsynced. `unix_s`: the clock of this machine, for the age alone."""

    def __init__(self, folder: Path, unix_s: Callable[[], float] = time.time) -> None:
        self._path, self._unix_s = folder / "learned.json", unix_s

    def read(self) -> Learned:
        """What is young enough and can have been; else nothing, and all is learned anew, which is said."""
        try:
            page = msgspec.json.decode(self._path.read_bytes(), type=Page)
        except FileNotFoundError:
            return Learned()
        except (OSError, msgspec.DecodeError) as fault:
            _LOG.warning("what was learned before is not known", path=str(self._path), fault=str(fault))
            return Learned()
        age_s = self._unix_s() - page.saved_unix_s
        if page.form != FORM or page.steepness != curves.STEEPNESS or age_s < 0:
            why = "it is of another form, or of a time to come"
            _LOG.warning("what was learned before is not used", path=str(self._path), why=why)
            return Learned()
        found = sane(page.learned)
        return Learned(
            boards=found.boards if age_s <= BOARDS_FOR_S else {},
            jobs=found.jobs if age_s <= JOBS_FOR_S else {},
        )

    def keep(self, learned: Learned) -> None:
        """Make it durable. Raises `OSError`."""
        page = Page(form=FORM, steepness=curves.STEEPNESS, saved_unix_s=self._unix_s(), learned=learned)
        half = self._path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(msgspec.json.encode(page))
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._path)
