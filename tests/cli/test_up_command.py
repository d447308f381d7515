"""What would spoil a stack is refused before anything is started."""

from pathlib import Path

import pytest
from rich.console import Console

from easyrider_cli.preflight import CannotShow
from easyrider_cli.up_command import keep_up


def test_a_folder_that_nothing_can_be_recorded_into_is_refused_at_once() -> None:
    with pytest.raises(CannotShow, match="--record /proc/nowhere"):
        keep_up(1, "observe", None, None, False, Path("/proc/nowhere"), Console())
