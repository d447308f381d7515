"""What the process is made of, and what it survives."""

import os
import signal
import subprocess
import sys
import time


def test_the_guardian_imports_no_network_library():
    program = (
        "import sys, easyrider_guardian.__main__\n"
        "foreign = {'nats', 'redis', 'fastapi', 'uvloop', 'httpx', 'numpy', 'prometheus_client', 'yaml'}\n"
        "print(sorted(foreign & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)

    assert done.stdout == "[]\n", done.stderr


def test_the_guardian_opens_no_network_socket(node):
    node.start()
    node.ready()

    inodes = {
        os.readlink(f"/proc/{node.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{node.process.pid}/fd")
    }
    inodes = {link.removeprefix("socket:[").rstrip("]") for link in inodes if link.startswith("socket:")}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open(f"/proc/{node.process.pid}/net/{table}") as lines:
            assert not inodes & {line.split()[9] for line in list(lines)[1:]}


def test_a_log_that_nobody_reads_costs_lines_and_not_the_dead_man(node, wait_until):
    flood = (
        "import sys\n"
        "from easyrider_guardian import guardian\n"
        "real = guardian.Guardian._tell\n"
        "def tell(self, now_ns):\n"
        "    print('x' * 4000, file=sys.stderr)\n"
        "    real(self, now_ns)\n"
        "guardian.Guardian._tell = tell\n"
        "from easyrider_guardian.__main__ import main; raise SystemExit(main())"
    )
    read, write = os.pipe()
    node.process = subprocess.Popen(
        [sys.executable, "-c", flood],
        env=node.environment(dead_man_s=2, second_stage_s=60),
        stderr=write,
        text=True,
    )
    try:
        wait_until(node._answers, 10)
        node.ready()
        for _ in range(40):
            node.state()  # far more than a pipe holds
        node.say(node.limits(500, 500, 500, 500, fallback_w=250))

        wait_until(lambda: node.enforced_w() == [250] * 4, 3.5)
        node.signal(signal.SIGTERM)
        assert node.exit_code(6) == 3
    finally:
        os.close(read)
        os.close(write)


def test_a_state_written_by_a_newer_release_is_read(node):
    import json
    import zlib

    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    seq = node.seq
    node.kill()
    for name in ("state.json", "baseline.json"):
        path = node.state_dir / name
        body = json.dumps(json.loads(path.read_text().splitlines()[0]) | {"v": 2, "colour": "red"}).encode()
        path.write_bytes(body + b"\n%08x\n" % zlib.crc32(body))

    node.start()

    state = node.ready()
    assert (state.highest_seq, state.armed, state.stage) == (seq, True, 0)
    assert "damaged" not in node.stderr.read_text()


def test_twenty_kills_at_any_moment_leave_a_node_that_starts_and_holds_its_limits(node):
    node.start(dead_man_s=10)
    node.ready()
    for round_ in range(20):
        limit_w = 300.0 + 10 * round_
        pid = os.fork()
        if pid == 0:
            try:
                node.say(node.limits(limit_w, limit_w, limit_w, limit_w))
            finally:
                os._exit(0)
        time.sleep(0.001 * (round_ % 7))  # the moment of the kill, another one each time
        node.kill()
        os.waitpid(pid, 0)
        node.seq += 1
        node.start(dead_man_s=10)
        node.ready()
        ack = node.say(node.limits(400, 400, 400, 400))
        assert ack.accepted
        assert node.enforced_w() == [400] * 4
    ring = {(int(entry["gpu"]), int(entry["requested_mw"])) for entry in node.boards.ring[: node.writes]}
    lines = {(line["gpu"], round(line["requested_w"] * 1000)) for line in node.lines()}
    assert ring <= lines, "every write of the hardware has its line, kills or not"


def test_the_guardian_is_small_and_idle(node):
    node.start()
    node.ready()
    before = _cpu_s(node.process.pid)
    for _ in range(3):
        node.say(node.limits(400, 400, 400, 400))
        time.sleep(1)  # what is measured is how much it works in so long

    with open(f"/proc/{node.process.pid}/status") as status:
        rss_mb = next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
    assert rss_mb < 60
    assert (_cpu_s(node.process.pid) - before) / 3 < 0.2


def _cpu_s(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
