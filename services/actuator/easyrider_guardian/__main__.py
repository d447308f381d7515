"""easyrider-guardian: the only process with GPU privilege. It has no network and takes orders that are not late."""

import os
import signal
import sys
from collections.abc import Sequence

from easyrider import __version__, log
from easyrider.config import describe, from_env
from easyrider.errors import BadConfig
from easyrider.watchdog import Watchdog
from easyrider_guardian.adapters.files import FolderInUse, StateFolder
from easyrider_guardian.adapters.listener import CannotListen, Listener
from easyrider_guardian.adapters.lossy_text import LossyText
from easyrider_guardian.assembly import assemble
from easyrider_guardian.giving_back import give_back
from easyrider_guardian.guardian import Guardian
from easyrider_guardian.settings import PREFIX, Config

NAME = "easyrider-guardian"
WORDS = ("--keep", "--restore")
USAGE = """{name} [--keep | --restore]

Applies power limits through NVML for the coordinator, and takes them down when nobody grants them any more.

--keep     a stop leaves limits as they are, for a restart or an upgrade (also {prefix}KEEP=true)
--restore  put back what was found before the first write, where no guardian runs, and end;
           nobody books it in the sums, so the operator answers for them

Exit codes: 0 stopped (restored, kept, or never armed), 1 cannot run or restore, 2 wrong settings,
3 stopped without leave to restore: min(present, fallback) holds; `{name} --restore` finishes it.

Settings come from the environment.

{table}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; what it returns is the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--help"], ["-h"]):
        print(USAGE.format(name=NAME, prefix=PREFIX, table=describe(Config, PREFIX)))
        return 0
    if words == ["--version"]:
        from importlib.metadata import version  # heavy, and rarely asked

        print(f"{NAME} {version('easyrider')}")
        return 0
    try:
        unknown = [f"{word!r} is not understood (--help)" for word in words if word not in WORDS]
        if unknown:
            raise BadConfig("arguments", unknown)
        config = from_env(Config, os.environ, PREFIX)
    except BadConfig as fault:
        print(f"{NAME}: {fault}", file=sys.stderr)
        return 2
    plain, lossy = sys.stderr, LossyText(sys.stderr)
    sys.stderr = lossy
    log.configure(NAME, config.log_level, config.log_format)
    try:
        code = restore(config) if "--restore" in words else serve(config, config.keep or "--keep" in words)
    except (FolderInUse, CannotListen, OSError) as fault:
        print(f"{NAME}: {fault}", file=plain)
        return 1
    finally:
        sys.stderr = plain
    lossy.drain()
    os._exit(code)  # a call into a hung driver may never return, and nobody waits for it


def serve(config: Config, keep: bool) -> int:
    """Introduce everything to everything, and run."""
    signals: list[str] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda which, _frame: signals.append(signal.Signals(which).name))
    folder = StateFolder(config.state_dir)
    listener = Listener(config.socket_path, config.peer_uids)
    signal.set_wakeup_fd(listener.bell, warn_on_full_buffer=False)
    node = assemble(config, folder, listener.ring)
    guardian = Guardian(node, listener, signals, config.leave_s, keep, Watchdog(os.environ))
    log.get(NAME).info(
        "guarding",
        version=__version__,
        node=config.node,
        armed=node.armed,
        stage=node.standing.stage,
        pid=os.getpid(),
    )
    code = guardian.run()
    listener.close()
    folder.close()
    log.get(NAME).info("stopped", exit_code=code)
    return code


def restore(config: Config) -> int:
    """Put back what was found."""
    return 0 if give_back(assemble(config, StateFolder(config.state_dir), lambda: None)) else 1


if __name__ == "__main__":
    sys.exit(main())
