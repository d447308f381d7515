"""The console scripts: each imports its program when it is called, and ends quietly by Ctrl-C also meanwhile.

A program's imports take up to a second. Nothing is open yet, so that there is nothing to end in order.
"""

import importlib
import os
import signal
from functools import partial

INTERRUPTED = 130


def begin(module: str) -> int:
    """Import a program and run its `main`; its exit code."""
    listens = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # not so in the background of a shell
    if listens:
        # not by an exception: half an import can make another one of it
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    main = importlib.import_module(module).main
    if listens:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return int(main())
    except KeyboardInterrupt:
        return INTERRUPTED


easyrider = partial(begin, "easyrider_cli.__main__")
telemetry = partial(begin, "easyrider_telemetry.__main__")
forecaster = partial(begin, "easyrider_forecaster.__main__")
policy = partial(begin, "easyrider_policy.__main__")
policy_api = partial(begin, "easyrider_policy_api.__main__")
actuator = partial(begin, "easyrider_actuator.__main__")
guardian = partial(begin, "easyrider_guardian.__main__")
infra_bridge = partial(begin, "easyrider_infra_bridge.__main__")
recorder = partial(begin, "easyrider_recorder.__main__")
