"""Messages as a bus brings them, for recordings made by tests."""

from easyrider_recorder.core.framing import Record

SECOND_NS = 1_000_000_000
NOON_NS = 1_767_960_000 * SECOND_NS  # 2026-01-09 12:00:00 UTC


def record(at_s: float, region: str = "r1", body: bytes = b"said", subject: str | None = None) -> Record:
    """A message that came so long after noon; the monotonic clock began 1,000 s before."""
    at_ns = round(at_s * SECOND_NS)
    return Record(
        subject or f"easyrider.v1.frame.{region}.n1", 1000 * SECOND_NS + at_ns, NOON_NS + at_ns, body
    )


def records(first_s: float, count: int, step_s: float = 0.1, region: str = "r1") -> list[Record]:
    """Messages at an even pace, each with a body of its own."""
    return [
        record(first_s + k * step_s, region, f"body {first_s + k * step_s:.1f}".encode())
        for k in range(count)
    ]
