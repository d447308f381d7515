"""How a person starts this program from where they are: hints that are printed have to work as printed."""

import shlex
import shutil
import sys
from pathlib import Path


def front_door() -> str:
    """The words that start this program from where the user is: its name where a shell finds it."""
    here = Path(sys.executable).parent / "easyrider"
    found = shutil.which("easyrider")
    if found is not None and Path(found).resolve() == here.resolve():
        return "easyrider"
    try:
        return shlex.quote(str(here.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(here))
