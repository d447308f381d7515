"""docs/api.md: the lines that start the API beside a stack are run as they stand there."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from easyrider.embedded import free_port
from easyrider_cli import address

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]
ROOT, BIN = Path(__file__).parents[2], Path(sys.executable).parent
ASK = """
trap 'kill %1; wait' EXIT
printf 'Authorization: Bearer %s' "$(cat "$TOKEN_FILE")" > "$RUN/bearer"
curl -sf --retry 60 --retry-delay 1 --retry-all-errors -H @"$RUN/bearer" "$API/v1/tree"
"""


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH")
def test_the_api_is_started_beside_a_stack_by_the_lines_of_the_page() -> None:
    (lines,) = re.findall(r"^```bash\n(.*?)^```", (ROOT / "docs" / "api.md").read_text(), re.M | re.S)
    runtime = Path(tempfile.mkdtemp(prefix="ab-"))
    run, log = runtime / "run", runtime / "up.log"
    environ = {name: v for name, v in os.environ.items() if not name.startswith("EASYRIDER_")}
    environ |= {"XDG_RUNTIME_DIR": str(runtime), "PATH": f"{BIN}:{environ['PATH']}"}
    with log.open("w") as opened:
        up = subprocess.Popen(
            [BIN / "easyrider", "up", "--run", str(run)], env=environ, stdout=opened, stderr=opened
        )
    try:
        end_s = time.monotonic() + 90
        while "up in enforce" not in log.read_text():
            assert up.poll() is None and time.monotonic() < end_s, log.read_text()  # noqa: PT018
            time.sleep(0.2)
        where = address.read(run)
        told = {"RUN": str(run), "BUS": where.nats_url, "STORE": where.redis_url}
        told["EASYRIDER_POLICY_API_ADDRESS"] = f"127.0.0.1:{free_port()}"

        done = subprocess.run(
            ["bash", "-eum", "-o", "pipefail", "-c", lines + ASK],
            env=environ | told, cwd=runtime, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        assert '"domains"' in done.stdout
    finally:
        up.send_signal(signal.SIGINT)
        try:
            up.wait(30)
        finally:
            up.kill()
            shutil.rmtree(runtime, ignore_errors=True)
