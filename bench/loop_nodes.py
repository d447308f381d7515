"""One simulated node in virtual time: boards seen as telemetry sees them, a guardian of a few lines."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from easyrider.messages import (
    GpuAck,
    GpuState,
    Hold,
    LimitAck,
    NodeFrame,
    NodeState,
    SetLimits,
)
from easyrider_twin.plant import Plant
from easyrider_twin.sensors import Sensors

Floats = npt.NDArray[np.float64]
REGION = "local"
BOOT = "boot-1"
LOOKS_PER_SLOW = 10


@dataclass
class Guardian:
    """What one node was last told. It applies, reads back and answers; nothing is ever late here."""

    epoch: int = 0
    seq: int = 0
    nonce: int = 0
    armed: bool = False


class SimNode:
    """Frames, states and acks of one node; `enforced_w` (G,) is the plant's vector, of which it owns a slice."""

    def __init__(self, plant: Plant, sensors: Sensors, name: str, tree: str, enforced_w: Floats) -> None:
        self.name, self._tree = name, tree
        self._plant, self._sensors = plant, sensors
        self.boards = plant.layout.slices[name]
        self._enforced_w = enforced_w
        count = self.boards.stop - self.boards.start
        self.uuids = plant.layout.uuids[self.boards.start : self.boards.stop]
        self._requested_w = enforced_w[self.boards].copy()
        self._baseline_w = self._requested_w.copy()
        self._fallback_w: list[float | None] = [None] * count
        self.guardian = Guardian()
        self._energy_j = sensors.energy_j[self.boards].copy()
        self._stamp_us = sensors.energy_stamp_us[self.boards].copy()
        self._mean_w: Floats = np.full(count, np.nan)
        self._hash = hashlib.sha256(",".join(self.uuids).encode()).digest()[:8]
        self._looks = 0

    def frame(self, now_s: float) -> NodeFrame:
        """One look: means of energy differences over the counter's own time, as telemetry gives them."""
        mine, sensors = self.boards, self._sensors
        spent_j = sensors.energy_j[mine] - self._energy_j
        spent_s = (sensors.energy_stamp_us[mine] - self._stamp_us) / 1e6
        moved = spent_s > 0
        self._mean_w = np.where(moved, spent_j / np.where(moved, spent_s, 1.0), self._mean_w)
        self._energy_j, self._stamp_us = sensors.energy_j[mine].copy(), sensors.energy_stamp_us[mine].copy()
        known = np.isfinite(self._mean_w)
        slow = self._looks % LOOKS_PER_SLOW == 0
        said = ",".join(self.uuids) if self._looks % (10 * LOOKS_PER_SLOW) == 0 else ""
        self._looks += 1
        count = len(self.uuids)
        zeros = np.zeros(count)
        return NodeFrame(
            region=REGION,
            node=self.name,
            boot_id=BOOT,
            seq=self._looks,
            t_ns=round(now_s * 1e9),
            mono_ns=round(now_s * 1e9),
            samples=1,
            gpu_count=count,
            gpus=said,
            gpus_hash=self._hash,
            window_s=0.025,
            refresh_s=0.1,
            before_us=np.zeros(1, "<u4").tobytes(),
            power_w=sensors.instant_w[mine].astype("<f4").tobytes(),
            power_ok=bytes(count),
            mean_w=np.where(known, self._mean_w, 0.0).astype("<f4").tobytes(),
            mean_ok=np.where(known, 0, 1).astype("u1").tobytes(),
            energy_mj=(sensors.energy_j[mine] * 1000).astype("<u8").tobytes(),
            energy_ok=bytes(count),
            limit_mw=np.rint(self._enforced_w[mine] * 1000).astype("<u4").tobytes(),
            limit_ok=bytes(count),
            age_ms=zeros.astype("<u2").tobytes(),
            temperature_c=zeros.astype("<i2").tobytes() if slow else b"",
            util_pct=bytes(count) if slow else b"",
            sm_mhz=zeros.astype("<u2").tobytes() if slow else b"",
            mem_mhz=zeros.astype("<u2").tobytes() if slow else b"",
            reasons=sensors.event_reasons[mine].astype("<u8").tobytes() if slow else b"",
            memory_mb=zeros.astype("<u4").tobytes() if slow else b"",
            mean10_w=zeros.astype("<f4").tobytes() if slow else b"",
            max10_w=zeros.astype("<f4").tobytes() if slow else b"",
            slow_ok=bytes(count) if slow else b"",
            rejected=0,
            cpu_pct=0.0,
            net_rx_bytes_per_s=0.0,
            net_tx_bytes_per_s=0.0,
        )

    def state(self, now_s: float, fresh_nonce: bool) -> NodeState:
        """What the guardian says once a second and on change."""
        guardian = self.guardian
        guardian.nonce += fresh_nonce
        models = self._plant.layout.models[self.boards.start : self.boards.stop]
        enforced_w = self._enforced_w[self.boards]
        return NodeState(
            tree=self._tree,
            region=REGION,
            node=self.name,
            boot_id=BOOT,
            nonce=guardian.nonce,
            highest_epoch=guardian.epoch,
            highest_seq=guardian.seq,
            armed=guardian.armed,
            stage=0,
            leaving=False,
            gpus=tuple(
                GpuState(
                    uuid=uuid,
                    min_w=model.min_limit_w,
                    max_w=model.max_limit_w,
                    default_w=model.default_limit_w,
                    baseline_w=float(self._baseline_w[place]) if guardian.armed else None,
                    requested_w=float(self._requested_w[place]),
                    enforced_w=float(enforced_w[place]),
                    fallback_w=self._fallback_w[place],
                    settable=True,
                    controlled=self._fallback_w[place] is not None,
                )
                for place, (uuid, model) in enumerate(zip(self.uuids, models, strict=True))
            ),
            t_ns=round(now_s * 1e9),
            mono_ns=round(now_s * 1e9),
        )

    def obey(self, command: SetLimits | Hold, now_s: float) -> LimitAck:
        """Apply, read back, answer."""
        guardian = self.guardian
        guardian.epoch, guardian.seq = command.epoch, command.seq
        if isinstance(command, SetLimits):
            for place, entry in enumerate(command.limits):
                if entry.limit_w is not None:
                    self._requested_w[place] = entry.limit_w
                    self._enforced_w[self.boards.start + place] = entry.limit_w
                    self._fallback_w[place] = entry.fallback_w
                    guardian.armed = True
        enforced_w = self._enforced_w[self.boards]
        return LimitAck(
            tree=self._tree,
            region=REGION,
            node=self.name,
            boot_id=BOOT,
            answers="set_limits" if isinstance(command, SetLimits) else "hold",
            epoch=command.epoch,
            seq=command.seq,
            highest_epoch=guardian.epoch,
            highest_seq=guardian.seq,
            accepted=True,
            refused=None,
            gpus=tuple(
                GpuAck(
                    uuid=uuid,
                    requested_w=float(self._requested_w[place]),
                    enforced_w=float(enforced_w[place]),
                    fallback_w=self._fallback_w[place],
                )
                for place, uuid in enumerate(self.uuids)
            ),
            t_ns=round(now_s * 1e9),
            mono_ns=round(now_s * 1e9),
        )
