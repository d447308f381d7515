"""The admin API beside a stack, and the token that opens it."""

import sys
import time
from pathlib import Path

from easyrider import tokens
from easyrider.free_ports import free_port
from easyrider.secret_files import write_secret
from easyrider_cli.process import Child
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers

API = "policy-api"
_USER = "api"
_TOKEN_S = 90 * 86400.0


def api_child(folder: RunFolder, running: Servers, region: str, tree: str) -> Child:
    """The API on a free port of the loopback, which it keeps when it is started again.

    Writes an administrator's token into `token_file(folder)`; the API is given its hash alone.
    """
    state = folder.state(API)
    state.mkdir(parents=True, exist_ok=True)
    shown, known = tokens.make("first-admin", "admin", "", time.time(), _TOKEN_S)
    first = state / "first-token.json"
    write_secret(first, tokens.encode(known))
    write_secret(token_file(folder), shown + "\n")
    settings: dict[str, object] = {
        "region": region,
        "tree": tree,
        "address": f"127.0.0.1:{free_port()}",
        "address_file": address_file(folder),
        "bootstrap_file": first,
        "state_dir": state,
        "health_file": folder.health(API),
        **running.bus(_USER),
        **running.store(_USER),
    }
    environ = {f"EASYRIDER_POLICY_API_{name.upper()}": str(value) for name, value in settings.items()}
    return Child(API, [sys.executable, "-m", "easyrider_policy_api"], folder.log(API), environ)


def token_file(folder: RunFolder) -> Path:
    """The administrator's token of the stack's API, mode 0600."""
    return folder.root / "api.token"


def address_file(folder: RunFolder) -> Path:
    """Where the stack's API is: host:port, written by itself."""
    return folder.root / "api.address"
