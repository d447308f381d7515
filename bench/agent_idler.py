"""A bare Python process that wakes so many times a second for the same small piece of work, and what that costs.

`python bench/agent_idler.py HZ SECONDS` prints one line of JSON: `cpu_pct` of a core, and `cold_factor`, how many
times more a wake with one piece costs than a piece right behind another one. On a machine whose processors halt
between wakes the caches are cold each time, and a process that spins by the clock does not show it.
"""

import json
import sys
import time

PIECES = 400
"""Back to back, before and after the waking, for what a warm piece costs."""


def piece() -> int:
    """A tenth of a millisecond of what Python programs do: objects, a dictionary, calls."""
    seen: dict[str, tuple[int, float]] = {}
    for number in range(500):
        seen[f"board {number % 8}"] = (number, number / 7)
    return sum(number for number, _ in seen.values())


def warm_s() -> float:
    """CPU seconds of one piece among many."""
    began_s = time.process_time()
    for _ in range(PIECES):
        piece()
    return (time.process_time() - began_s) / PIECES


def main() -> int:
    """Prints the figures."""
    hz, seconds = int(sys.argv[1]), int(sys.argv[2])
    before_s = warm_s()
    due_s, begun_s, cpu_s = time.monotonic(), time.monotonic(), time.process_time()
    for _ in range(hz * seconds):
        due_s += 1 / hz
        time.sleep(max(0.0, due_s - time.monotonic()))
        piece()
    cpu_s, elapsed_s = time.process_time() - cpu_s, time.monotonic() - begun_s
    a_wake_s, a_warm_s = cpu_s / (hz * seconds), min(before_s, warm_s())
    print(json.dumps({"cpu_pct": 100 * cpu_s / elapsed_s, "cold_factor": a_wake_s / a_warm_s}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
