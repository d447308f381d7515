"""A region that plays frames into an engine on a clock of its own."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from easyrider.columns import pack
from easyrider.messages import HorizonForecast, JobEvent, NodeFrame, SeriesForecast
from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider_forecaster.core.engine import Engine

STEP_S = 0.1


def frame(
    node: str,
    uuids: Sequence[str],
    mono_s: float,
    power_w: Sequence[float],
    *,
    limit_w: float = 700.0,
    instant_w: Sequence[float] | None = None,
    ok: int | Sequence[int] = 0,
    boot_id: str = "boot-1",
    named: bool = True,
) -> NodeFrame:
    """One sample of every GPU; `ok` marks the power columns."""
    count, joined = len(uuids), ",".join(uuids)
    marks = [ok] * count if isinstance(ok, int) else list(ok)
    shown = [0.0 if mark else float(w) for mark, w in zip(marks, power_w, strict=True)]
    instant = [0.0 if m else float(w) for m, w in zip(marks, instant_w or power_w, strict=True)]
    return NodeFrame(
        region="r", node=node, boot_id=boot_id, seq=0, t_ns=0, mono_ns=round(mono_s * 1e9), samples=1,
        gpu_count=count, gpus=joined if named else "", gpus_hash=hashlib.sha256(joined.encode()).digest()[:8],
        window_s=0.025, refresh_s=0.1, before_us=pack("u4", [0]),
        power_w=pack("f4", instant), power_ok=pack("u1", marks), mean_w=pack("f4", shown), mean_ok=pack("u1", marks),
        energy_mj=pack("u8", [0] * count), energy_ok=pack("u1", [0] * count),
        limit_mw=pack("u4", [round(limit_w * 1000)] * count), limit_ok=pack("u1", [0] * count),
        age_ms=pack("u2", [0] * count), temperature_c=b"", util_pct=b"", sm_mhz=b"", mem_mhz=b"", reasons=b"",
        memory_mb=b"", mean10_w=b"", max10_w=b"", slow_ok=b"", rejected=0, cpu_pct=0.0, net_rx_bytes_per_s=0.0,
        net_tx_bytes_per_s=0.0,
    )  # fmt: skip


@dataclass
class Region:
    """Nodes with GPUs, and an engine that hears them 2 ms later. `t_s` is the time since the beginning."""

    engine: Engine
    gpus: dict[str, tuple[str, ...]]
    t_s: float = 0.0
    start_s: float = 1000.0
    limit_w: dict[str, float] = field(default_factory=dict)
    said: tuple[SeriesForecast, ...] = ()

    @property
    def now_s(self) -> float:
        """The receiver's clock."""
        return self.start_s + self.t_s

    def job(
        self, job: str, node: str, change: str = "started", started_ns: int = 1, gpus: slice = slice(None)
    ) -> None:
        """A job event of this moment."""
        event = JobEvent(
            region="r", node=node, boot_id="boot-1", job=job, change=change, type_key="type", priority_class="normal",
            tenant="", queue="", gpus=self.gpus[node][gpus], started_ns=started_ns, t_ns=0,
            mono_ns=round(self.now_s * 1e9),
        )  # fmt: skip
        self.engine.intake.take_job(event, self.now_s + 0.002)

    def play(
        self,
        seconds: float,
        power: Callable[[str, float], Sequence[float] | float | None],
        *,
        ok: Callable[[str, float], int | Sequence[int]] = lambda node, t_s: 0,
        instant: Callable[[str, float], Sequence[float]] | None = None,
    ) -> Iterator[float]:
        """Frames every 0.1 s; yields the time after each second that was forecast (in `said`).

        `power(node, t_s)` gives watts of one or all GPUs over the 0.1 s that end at t_s; None: no frame.
        """
        for _ in range(round(seconds / STEP_S)):
            self.t_s = round(self.t_s + STEP_S, 6)
            for node, uuids in self.gpus.items():
                watts = power(node, self.t_s)
                if watts is None:
                    continue
                each = [watts] * len(uuids) if isinstance(watts, float | int) else list(watts)
                told = frame(
                    node, uuids, self.now_s, each, limit_w=self.limit_w.get(node, 700.0), ok=ok(node, self.t_s),
                    instant_w=None if instant is None else list(instant(node, self.t_s)),
                )  # fmt: skip
                self.engine.intake.take_frame(told, self.now_s + 0.002)
            if self.engine.advance(self.now_s + 0.01):
                self.said = self.engine.forecast()
                yield self.t_s

    def run(
        self, seconds: float, power: Callable[[str, float], Sequence[float] | float | None], **more
    ) -> None:  # type: ignore[no-untyped-def]
        """Play to the end."""
        for _ in self.play(seconds, power, **more):
            pass

    def series(self, id: str) -> SeriesForecast:  # noqa: A002
        """The last forecast of a job or domain."""
        return next(series for series in self.said if series.id == id)


def at(horizons: tuple[HorizonForecast, ...], horizon_s: float) -> HorizonForecast:
    """The forecast of one horizon."""
    return next(h for h in horizons if h.horizon_s == horizon_s)


def make_rules(nodes: Sequence[str], version: int = 1) -> Rules:
    """A PDU, a rack below it, and the nodes in the rack."""
    return Rules(
        id="site",
        version=version,
        domains=(
            Domain(id="pdu", kind="pdu", rating_w=40000.0),
            Domain(id="rack", kind="rack", parent="pdu", rating_w=40000.0),
        ),
        classes={"c": NodeClass(overhead_w=1600.0, overhead_slope=1.23, gpu_max_w=700.0)},
        nodes=tuple(Node(id=n, domain="rack", node_class="c", fallback_w_per_gpu=200.0) for n in nodes),
    )


def make_region(nodes: dict[str, int]) -> Region:
    """Nodes by name with so many GPUs, below one tree."""
    engine = Engine()
    engine.take_rules(make_rules(tuple(nodes)))
    return Region(
        engine, {node: tuple(f"GPU-{node}-{i}" for i in range(count)) for node, count in nodes.items()}
    )


def every_watt(said: tuple[SeriesForecast, ...]) -> np.ndarray:  # type: ignore[type-arg]
    """Every number of every horizon, (n, 4)."""
    rows = [
        (h.mean_w, h.peak_w, h.peak_q90_w, h.peak_q99_w)
        for series in said
        for h in (*series.draw, *series.demand)
    ]
    return np.array(rows)
