"""easyrider-guardian: the only process with GPU privilege. It has no network and takes orders that are not late."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from easyrider import log
from easyrider.config import describe, from_env
from easyrider.errors import BadConfig
from easyrider_guardian.adapters.boards import NvmlDriver
from easyrider_guardian.adapters.clocks import boot_id, boot_ns
from easyrider_guardian.adapters.crew import Crew
from easyrider_guardian.adapters.files import FolderInUse, StateFolder, Unreadable
from easyrider_guardian.adapters.keeper import Keeper
from easyrider_guardian.adapters.listener import CannotListen, Listener
from easyrider_guardian.adapters.lossy_text import LossyText
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Baseline
from easyrider_guardian.core.resume import resume
from easyrider_guardian.guardian import Guardian
from easyrider_guardian.node import Node
from easyrider_guardian.settings import PREFIX, Config

F = TypeVar("F")
NAME = "easyrider-guardian"
USAGE = """{name} [--keep]

Applies power limits through NVML for the coordinator, and takes them down when nobody grants them any more.

--keep  a stop leaves limits as they are, for a restart or an upgrade (also {prefix}KEEP=true)

Exit codes: 0 stopped (restored, kept, or never armed), 1 cannot run, 2 wrong settings,
3 stopped without leave to restore: min(present, fallback) holds; `easyrider restore` finishes later.

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
        unknown = [
            f"{word!r} is not understood (--help, --version, --keep)" for word in words if word != "--keep"
        ]
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
        code = serve(config, config.keep or "--keep" in words)
    except (FolderInUse, CannotListen, OSError) as fault:
        print(f"{NAME}: {fault}", file=plain)
        return 1
    finally:
        sys.stderr = plain
    lossy.drain()
    os._exit(code)  # a call into a hung driver may never return, and nobody waits for it


def serve(config: Config, keep: bool) -> int:
    """Introduce everything to everything, and run."""
    folder = StateFolder(config.state_dir)
    listener = Listener(config.socket_path, config.peer_uids)
    terms, boot = config.terms, boot_id()
    crew = Crew(NvmlDriver(config.nvml_library), WriteLog(folder.path), listener.ring)
    lost: dict[str, Baseline] | None = {}  # armed, and nobody knows what was found
    baselines = _found(folder.baselines, damaged=lost)
    standing = resume(_found(folder.standing, damaged=None), baselines, terms, boot, boot_ns())
    keeper = Keeper(folder)
    node = Node(terms, Minter(boot, terms.tree, terms.node), crew, keeper, standing, baselines)
    if node.armed:
        node.keep(standing)
    guardian = Guardian(node, listener, config.leave_s, keep)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda which, _frame: guardian.stop(signal.Signals(which).name))
    signal.set_wakeup_fd(listener.bell, warn_on_full_buffer=False)
    log.get(NAME).info("guarding", node=terms.node, armed=node.armed, stage=standing.stage, pid=os.getpid())
    code = guardian.run()
    listener.close()
    folder.close()
    log.get(NAME).info("stopped", exit_code=code)
    return code


def _found(read: Callable[[], F], damaged: F) -> F:
    """What is on file; a damaged file is told of and counts as the rules of `resume` say."""
    try:
        return read()
    except Unreadable as fault:
        log.get(NAME).error("damaged", fault=str(fault))
        return damaged


if __name__ == "__main__":
    sys.exit(main())
