"""`easyrider`: the product's own coordinator, unchanged, in the hall's time.

What decides is `easyrider_policy`: `Coordinator`, `Picture` and `Desk` with everything below them, fed with the
messages of nodes, meters and jobs and obeyed by the commands it says. Left out are only the wires: bus and store (the
lead is granted at once and renewed each second), the journal, and the packing of frames into bytes: samples go into the
columns as `Intake` puts them there.
"""

import numpy as np

from easyrider import subjects
from easyrider.bus_port import Arrival
from easyrider.messages import ExitGrant, JobEvent, MeterReading
from easyrider_bench.controllers.contract import Floats, JobRow, Observation, Site
from easyrider_bench.controllers.declared import clock_s, meter_of, rules_of
from easyrider_bench.controllers.guardians import BOOT, REGION, Guardians
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.gather import POWER_CAP
from easyrider_policy.core.looks import Looks
from easyrider_policy.handlers import Desk
from easyrider_policy.picture import Picture

BIRTH_S = 1000.0
"""The coordinator's clock when the run begins: at no time does it read 0."""
HEARTBEAT_S = 1.0
REPEAT_S = 10.0
"""Between two times that a running job is told of."""
EPOCH = 1
VOLTS = 400.0


class EasyRider:
    """One coordinator and what is told to it. Asked ten times a second, and at once after an event."""

    def __init__(self, site: Site, _seed: int = 0) -> None:
        self.site = site
        self.guardians = Guardians(site)
        self.picture = Picture(rules_of(site), REGION, BIRTH_S)
        self.coordinator = Coordinator(self.picture)
        self.desk = Desk(self.picture, self.coordinator, lambda _: None, lambda *_: True)
        self._clock_s = clock_s(site) - BIRTH_S
        self._beat_s = -np.inf
        self._jobs: dict[str, tuple[JobRow, float]] = {}
        self._meter_seq = 0
        self._supplies: list[tuple[int, bool] | None] = [None] * len(
            site.domains
        )  # untold: told at the first look
        self._live = np.ones(len(site.domains), dtype=np.bool_)
        self._instant_w: Floats = np.full(site.gpus, np.nan)
        self._rows = [np.asarray(rows) for rows in self.guardians.boards]

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        """Limits as the coordinator's newest commands say them; None while it says nothing new."""
        mono_s = BIRTH_S + now_s
        for ack in self.guardians.answers(mono_s, seen.enforced_w):
            self.desk.on_ack(ack, self._arrival(subjects.ack(REGION, ack.node), mono_s))
        if mono_s - self._beat_s >= HEARTBEAT_S - 1e-6:
            self._beat(mono_s, seen)
        self._tell_jobs(mono_s, seen)
        self._tell_meters(mono_s, seen)
        self._tell_samples(mono_s, seen)
        return self._look(mono_s)

    def _look(self, mono_s: float) -> Floats | None:
        orders = self.coordinator.look(mono_s, self._clock_s + mono_s).orders
        for command in orders.messages:
            assert not isinstance(command, ExitGrant)  # nobody leaves
            self.guardians.take(command, mono_s)
        return self.guardians.asked_w() if orders.messages else None

    def _arrival(self, subject: str, mono_s: float) -> Arrival:
        return Arrival(subject=subject, mono_ns=round(mono_s * 1e9))

    def _beat(self, mono_s: float, seen: Observation) -> None:
        """Once a second: every guardian's word, and the store's."""
        self._beat_s = mono_s
        for node, name in enumerate(self.site.node_ids):
            state = self.guardians.state(node, mono_s, seen.enforced_w)
            self.desk.on_state(state, self._arrival(subjects.state(REGION, name), mono_s))
        safety = self.picture.safety
        if safety.lead.phase == "contending":
            safety.taken(EPOCH, mono_s, mono_s)
        else:
            safety.renewed(mono_s)

    def _tell_jobs(self, mono_s: float, seen: Observation) -> None:
        present = {job.id: job for job in seen.jobs}
        for name in [name for name in self._jobs if name not in present]:
            self._tell_job(self._jobs.pop(name)[0], "ended", mono_s)
        for name, job in present.items():
            if name not in self._jobs:
                self._tell_job(job, "started", mono_s)
                self._jobs[name] = (job, mono_s)
            elif mono_s - self._jobs[name][1] >= REPEAT_S:
                self._tell_job(job, "running", mono_s)
                self._jobs[name] = (job, mono_s)

    def _tell_job(self, job: JobRow, change: str, mono_s: float) -> None:
        nodes = self.site.node_of[job.boards]
        for node in np.unique(nodes).tolist():
            event = JobEvent(
                region=REGION, node=self.site.node_ids[node], boot_id=BOOT, job=job.id,
                change=change,  # type: ignore[arg-type]
                type_key=job.type_key, priority_class=job.priority_class, tenant="", queue="",
                gpus=tuple(self.guardians.uuids[row] for row in job.boards[nodes == node].tolist()),
                started_ns=0, t_ns=round(mono_s * 1e9), mono_ns=round(mono_s * 1e9),
            )  # fmt: skip
            self.desk.on_job(event, self._arrival("", mono_s))

    def _tell_meters(self, mono_s: float, seen: Observation) -> None:
        for place, domain in enumerate(self.site.domains):
            state = (int(seen.modules_ok[place]), bool(seen.on_battery[place]))
            moved = state != self._supplies[place]
            fresh = bool(seen.meter_fresh[place])
            live = bool(seen.carries[place].any())
            moved |= live != self._live[place]
            self._live[place] = live
            if not (fresh or moved):
                continue
            self._meter_seq += 1
            self._supplies[place] = state
            ups = domain.modules > 0
            reading = MeterReading(
                region=REGION, meter=meter_of(domain.id), domain=domain.id, boot_id=BOOT, seq=self._meter_seq,
                t_ns=round(mono_s * 1e9), mono_ns=round(mono_s * 1e9), period_s=self.site.meter_period_s,
                device="ups" if ups else "power_meter", quality="good", gated=True,
                power_w=float(seen.meter_w[place]) if fresh else None,
                voltage_v=VOLTS if live else 0.0,
                modules_total=domain.modules if ups else None,
                modules_ok=int(seen.modules_ok[place]) if ups else None,
                on_battery=bool(seen.on_battery[place]) if domain.kind == "ups" else None,
            )  # fmt: skip
            self.desk.on_meter(reading, self._arrival(subjects.meter(REGION, reading.meter), mono_s))

    def _tell_samples(self, mono_s: float, seen: Observation) -> None:
        """Rows of means into the columns: what `Intake` makes of usual frames of all nodes that talk."""
        picture = self.picture
        fleet = picture.fleet
        if len(fleet.gpus) != self.site.gpus:
            return  # frames of boards that no state has named yet say nothing
        heard = np.flatnonzero(seen.silent_s <= 0)
        for at, energy_w, instant_w in zip(seen.sample_s, seen.energy_w, seen.instant_w, strict=True):
            # A board without a counter gives the mean of two readings of its power field, as telemetry does.
            before_w = np.where(np.isnan(self._instant_w), instant_w, self._instant_w)
            mean_w = np.where(np.isnan(energy_w), (before_w + instant_w) / 2, energy_w)
            self._instant_w = instant_w.copy()
            at_s = BIRTH_S + float(at)
            nodes = [n for n in heard.tolist() if not np.isnan(mean_w[self._rows[n]]).all()]
            for size in {len(self._rows[n]) for n in nodes}:
                alike = np.array([n for n in nodes if len(self._rows[n]) == size])
                self._columns(alike, mean_w, seen.enforced_w, at_s)
        told = np.isin(self.site.node_of, heard)
        reasons = np.where(seen.flagged, POWER_CAP, 0).astype(np.uint64)
        picture.gathering.add_reasons(np.flatnonzero(told), reasons[told])
        for n in heard.tolist():
            picture.frames_s[self.site.node_ids[n]] = mono_s

    def _columns(self, nodes: np.ndarray, mean_w: Floats, enforced_w: Floats, at_s: float) -> None:
        picture = self.picture
        rows = np.array([self._rows[n] for n in nodes.tolist()])
        looks = Looks(
            nodes=nodes,
            rows=rows,
            mean_w=mean_w[rows],
            limit_w=enforced_w[rows],
            read_ns=np.full(len(nodes), round(at_s * 1e9)),
            minted_s=np.full(len(nodes), at_s),
        )
        picture.safety.ledger.looks_heard(looks)
        picture.gathering.add_looks(rows.ravel(), looks.mean_w.ravel(), looks.limit_w.ravel())
