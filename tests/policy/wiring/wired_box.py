"""A box that answers like a guardian, and short ways to say what boxes, meters and jobs say."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from easyrider.bus_port import Arrival
from easyrider.messages import (
    ExitGrant,
    GpuAck,
    GpuState,
    Hold,
    JobEvent,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    SetLimits,
)

REGION, TREE = "r", "site"
BEHIND_S = 900.0
"""The boxes' clocks show so much less than ours."""


@dataclass
class Box:
    """A node: its guardian takes what is newer than what it took, and its boards draw what they may."""

    name: str
    limit_w: list[float] = field(default_factory=lambda: [700.0, 700.0])
    draw_w: list[float] = field(default_factory=lambda: [600.0, 600.0])
    fallback_w: float | None = None
    key: tuple[int, int] = (0, 0)
    boot: str = "boot-1"
    seq: int = 0
    deaf: bool = False
    dumb: bool = False

    @property
    def uuids(self) -> list[str]:
        return [f"{self.name}{i}" for i in (0, 1)]

    def state(self, now_s: float, **other: Any) -> NodeState:
        gpus = tuple(
            GpuState(
                uuid=uuid, min_w=200.0, max_w=700.0, default_w=700.0, requested_w=watts, enforced_w=watts,
                baseline_w=None if self.fallback_w is None else 700.0, fallback_w=self.fallback_w,
                settable=True, controlled=self.fallback_w is not None,
            )
            for uuid, watts in zip(self.uuids, self.limit_w, strict=True)
        )  # fmt: skip
        told: dict[str, Any] = {
            "tree": TREE, "region": REGION, "node": self.name, "boot_id": self.boot, "nonce": int(now_s * 10),
            "highest_epoch": self.key[0], "highest_seq": self.key[1], "armed": self.fallback_w is not None,
            "stage": 0, "leaving": False, "gpus": gpus, "t_ns": 0, "mono_ns": mono_ns(now_s),
        }  # fmt: skip
        return NodeState(**{**told, **other})

    def frame(self, now_s: float, **other: Any) -> NodeFrame:
        self.seq += 1
        draw_w = np.minimum(self.draw_w, self.limit_w)
        told = {"mono_ns": mono_ns(now_s), "boot_id": self.boot, "seq": self.seq, **other}
        return frame(self.name, self.uuids, [draw_w], [self.limit_w], **told)

    def take(self, command: SetLimits | Hold | ExitGrant, now_s: float) -> LimitAck:
        """What the guardian answers."""
        key = (command.epoch, command.seq)
        fresh = key > self.key
        if fresh:
            self.key = key
            if isinstance(command, SetLimits):
                self.limit_w = [limit.limit_w for limit in command.limits]
                self.fallback_w = command.limits[0].fallback_w
        kinds = {SetLimits: "set_limits", Hold: "hold", ExitGrant: "exit_grant"}
        return LimitAck(
            tree=TREE, region=REGION, node=self.name, boot_id=self.boot, answers=kinds[type(command)],
            epoch=key[0], seq=key[1], highest_epoch=self.key[0], highest_seq=self.key[1], accepted=fresh,
            refused=None if fresh else "stale_seq", t_ns=0, mono_ns=mono_ns(now_s),
            gpus=tuple(
                GpuAck(uuid=uuid, requested_w=watts, enforced_w=watts, fallback_w=self.fallback_w)
                for uuid, watts in zip(self.uuids, self.limit_w, strict=True)
            ),
        )  # fmt: skip


def mono_ns(now_s: float) -> int:
    """What a box's clock shows."""
    return int((now_s - BEHIND_S) * 1e9)


def at(subject: str, now_s: float) -> Arrival:
    """It comes now."""
    return Arrival(subject, int(now_s * 1e9))


def frame(
    node: str, uuids: list[str], draws_w: Any, limits_w: Any, gpus: str = "", **other: Any
) -> NodeFrame:
    """Rows of (gpu,) watts, 100 ms apart, the last one now."""
    draw, limit = np.array(draws_w, dtype="<f4"), np.array(limits_w)
    count, width = draw.shape
    good = bytes(count * width)
    told: dict[str, Any] = {
        "region": REGION, "node": node, "boot_id": "boot-1", "seq": 1, "t_ns": 0, "samples": count,
        "gpu_count": width, "gpus": gpus, "gpus_hash": hashlib.sha256(",".join(uuids).encode()).digest()[:8],
        "window_s": 0.1, "refresh_s": 0.1, "energy_mj": bytes(8 * count * width), "energy_ok": good,
        "before_us": np.arange(count - 1, -1, -1, dtype="<u4").__mul__(100_000).astype("<u4").tobytes(),
        "power_w": draw.tobytes(), "power_ok": good, "mean_w": draw.tobytes(), "mean_ok": good,
        "limit_mw": (limit * 1000).astype("<u4").tobytes(), "limit_ok": good, "age_ms": bytes(2 * count * width),
        **dict.fromkeys(
            ("temperature_c", "util_pct", "sm_mhz", "mem_mhz", "reasons", "memory_mb", "mean10_w", "max10_w",
             "slow_ok"), b""),
        "rejected": 0, "cpu_pct": 0.0, "net_rx_bytes_per_s": 0.0, "net_tx_bytes_per_s": 0.0,
    }  # fmt: skip
    return NodeFrame(**{**told, **other})


def reading(now_s: float, power_w: float | None = 2000.0, **other: Any) -> MeterReading:
    """Of meter `m` on the PDU."""
    told: dict[str, Any] = {
        "region": REGION, "meter": "m", "domain": "pdu", "boot_id": "bridge-1", "seq": 1, "t_ns": 0,
        "mono_ns": mono_ns(now_s), "period_s": 1.0, "device": "power_meter", "quality": "good", "gated": True,
        "power_w": power_w,
    }  # fmt: skip
    return MeterReading(**{**told, **other})


def job(now_s: float, node: str = "a", **other: Any) -> JobEvent:
    """A job on both boards of a node."""
    told: dict[str, Any] = {
        "region": REGION, "node": node, "boot_id": "boot-1", "job": "j1", "change": "started",
        "type_key": "llm", "priority_class": "", "tenant": "", "queue": "", "gpus": (f"{node}0", f"{node}1"),
        "started_ns": 0, "t_ns": 0, "mono_ns": mono_ns(now_s),
    }  # fmt: skip
    return JobEvent(**{**told, **other})
