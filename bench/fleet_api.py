"""People at the admin API while the fleet is timed: two hundred questions a second, over plain HTTP on this machine."""

import http.client
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from fleet_frames import REGION, TREE

RATE_HZ = 200
PATHS = ("/v1/plan", "/v1/state", "/v1/jobs", "/v1/modes")
CALLERS = 8
CALLERS_NICE = 15


class Api:
    """The service as its users start it, with limits wide enough for one address, and its callers."""

    def __init__(self, folder: Path, bus: str, store: str) -> None:
        self._folder, self._over = folder, threading.Event()
        settings = {
            "NATS_URL": bus,
            "REDIS_URL": store,
            "REGION": REGION,
            "TREE": TREE,
            "ADDRESS": "127.0.0.1:0",
            "ADDRESS_FILE": folder / "api",
            "STATE_DIR": folder / "policy-api",
            "TOKEN_REQUESTS_PER_S": 10_000,
            "PEER_REQUESTS_PER_S": 10_000,
            "LOG_LEVEL": "error",
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
        named = {f"EASYRIDER_POLICY_API_{name}": str(value) for name, value in settings.items()}
        command = ["easyrider_cli", "token", "create", "bench", "--redis-url", store, "--tree", TREE]
        subprocess.run(
            [sys.executable, "-m", *command, "--out", str(folder / "token")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self._process = subprocess.Popen([sys.executable, "-m", "easyrider_policy_api"], env=kept | named)
        self._threads = [threading.Thread(target=self._call, args=(n,), daemon=True) for n in range(CALLERS)]
        self.answers: dict[int, int] = {}

    def start(self) -> None:
        """Questions flow from now on."""
        end_s = time.monotonic() + 20
        while not (self._folder / "api").exists():
            if time.monotonic() > end_s or self._process.poll() is not None:
                raise RuntimeError("the API did not start")
            time.sleep(0.05)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """No more; the service ends."""
        self._over.set()
        for thread in self._threads:
            thread.join(10)
        self._process.terminate()
        self._process.wait(15)

    def _call(self, number: int) -> None:
        # Callers sit on machines of their own; here they have what the service and the nodes leave.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), CALLERS_NICE)
        host, _, port = (self._folder / "api").read_text().strip().rpartition(":")
        headers = {"Authorization": f"Bearer {(self._folder / 'token').read_text().strip()}"}
        door = http.client.HTTPConnection(host, int(port), timeout=10)
        due_s, count = time.monotonic() + number / RATE_HZ, number
        while not self._over.is_set():
            time.sleep(max(0.0, due_s - time.monotonic()))
            try:
                door.request("GET", PATHS[count % len(PATHS)], headers=headers)
                status = door.getresponse()
                status.read()
                self.answers[status.status] = self.answers.get(status.status, 0) + 1
            except (OSError, http.client.HTTPException):
                self.answers[0] = self.answers.get(0, 0) + 1
                door.close()
            count += 1
            due_s = max(due_s + CALLERS / RATE_HZ, time.monotonic() - 0.1)
