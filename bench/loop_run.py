"""The twin's plant and the real coordinator in one virtual time, message by message."""

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from easyrider import subjects
from easyrider.bus_port import Arrival
from easyrider.messages import ExitGrant, JobEvent, MeterReading, PowerForecast
from easyrider.tree import Rules
from easyrider_forecaster.core.engine import Engine
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.picture import Picture
from easyrider_twin.gpus import STEP_S
from easyrider_twin.history import STEPS_PER_SAMPLE, History
from easyrider_twin.outcome import Outcome
from easyrider_twin.plant import Plant
from easyrider_twin.sensors import Sensors
from easyrider_twin.world import Meter, World
from loop_nodes import BOOT, REGION, SimNode

Floats = npt.NDArray[np.float64]
BIRTH_S = 1000.0
WARM_UP_S = 12.0
"""As in the demonstration: the services lead, verified, before the jobs start."""
LOOK_STEPS = 2
JOBS_STEPS = 20
METER_DELAY_S = 0.1
METER_GAIN_SD = 0.003


@dataclass
class SimMeter:
    """One meter: mean power of its last period and the modules that work."""

    spec: Meter
    place: int
    gain: float
    sum_w: float = 0.0
    seq: int = 0


@dataclass
class Trace:
    """Ten rows a second of what was and what the planner believed, by job; for people who look for causes."""

    rows: list[dict[str, object]] = field(default_factory=list)


@dataclass
class Loop:
    """One closed loop. `forecasts`: the forecaster's engine listens and speaks too."""

    world: World
    rules: Rules
    forecasts: bool = False
    trace: Trace | None = None

    def __post_init__(self) -> None:
        world = self.world
        self.plant = plant = Plant(world)
        self.sensors = Sensors(plant, 1_700_000_000_000_000)
        self.enforced_w = plant.layout.default_limit_w.copy()
        self.picture = Picture(self.rules, REGION, BIRTH_S)
        self.coordinator = Coordinator(self.picture)
        self.desk = Desk(self.picture, self.coordinator, lambda _: None, lambda *_: True)
        self.nodes = [SimNode(plant, self.sensors, n.id, self.rules.id, self.enforced_w) for n in world.nodes]
        self.by_name = {node.name: node for node in self.nodes}
        rng = np.random.default_rng([world.seed, 3])
        places = list(plant.domains.devices)
        self.meters = [
            SimMeter(meter, places.index(meter.domain), float(rng.normal(1.0, METER_GAIN_SD)))
            for meter in world.meters
        ]
        self.engine = Engine() if self.forecasts else None
        if self.engine is not None:
            self.engine.take_rules(self.rules)
        self.commands: list[object] = []
        self.readings: list[tuple[float, MeterReading]] = []
        self.known_jobs: dict[tuple[str, str], tuple[str, ...]] = {}
        self.said_s: dict[tuple[str, str], float] = {}
        self.history = History(plant, keep_s=1e6)
        self.limits: list[Floats] = []  # enforced, once a look, while the job clock runs
        self.mixtures: list[Floats] = []  # the higher of enforced and on its way
        self.look_s: list[float] = []  # CPU of looks that planned
        self.forecast_seq = 0

    def run(self, seconds: float) -> Outcome:
        """`seconds` of the job clock."""
        plant = self.plant
        warm = round(WARM_UP_S / STEP_S)
        for step in range(warm + round(seconds / STEP_S)):
            if step == warm:
                plant.jobs.start()
            now_s = BIRTH_S + (step + 1) * STEP_S
            self._obey(now_s)
            plant.step(self.enforced_w)
            self.sensors.see()
            sampled = self.history.add()
            self._say(step, now_s)
            if step % LOOK_STEPS == 0:
                self._look(now_s)
            if sampled and self.trace is not None and plant.jobs.started:
                self._note()
        return self.history.outcome()

    def _arrival(self, subject: str, now_s: float) -> Arrival:
        return Arrival(subject=subject, mono_ns=round(now_s * 1e9))

    def _obey(self, now_s: float) -> None:
        for command in self.commands:
            assert not isinstance(command, ExitGrant)
            node = self.by_name[command.node]
            ack = node.obey(command, now_s)
            self.desk.on_ack(ack, self._arrival(subjects.ack(REGION, node.name), now_s))
            if self.engine is not None:
                self.engine.intake.take_ack(ack)
        self.commands.clear()

    def _say(self, step: int, now_s: float) -> None:
        for number, node in enumerate(self.nodes):
            if step % STEPS_PER_SAMPLE == number % STEPS_PER_SAMPLE:
                frame = node.frame(now_s)
                self.desk.on_frame(frame, self._arrival(subjects.frame(REGION, node.name), now_s))
                if self.engine is not None:
                    self.engine.intake.take_frame(frame, now_s)
            if step % 40 == (7 * number) % 40:
                state = node.state(now_s, fresh_nonce=True)
                self.desk.on_state(state, self._arrival(subjects.state(REGION, node.name), now_s))
            if step % JOBS_STEPS == (3 * number) % JOBS_STEPS:
                self._jobs(node.name, now_s)
        self._meters(step, now_s)
        if step % 40 == 11:
            started_s = now_s
            safety = self.picture.safety
            if safety.lead.phase == "contending":
                safety.taken(1, started_s, now_s)
            else:
                safety.renewed(started_s)
            self._forecast(now_s)

    def _forecast(self, now_s: float) -> None:
        if self.engine is None or not self.engine.advance(now_s):
            return
        self.forecast_seq += 1
        said = PowerForecast(
            region=REGION, boot_id=BOOT, seq=self.forecast_seq, t_ns=round(now_s * 1e9),
            mono_ns=round(now_s * 1e9), series=self.engine.forecast(),
        )  # fmt: skip
        self.desk.on_forecast(said, self._arrival(subjects.forecast(REGION), now_s))

    def _jobs(self, node: str, now_s: float) -> None:
        uuids = self.plant.layout.uuids
        present = {
            job.id: job
            for job in self.plant.jobs.running
            if job.present and node in job.nodes and self.plant.jobs.started
        }
        for where, held in list(self.known_jobs.items()):
            if where[0] == node and where[1] not in present:
                self._event(node, where[1], held, "ended", now_s)
                del self.known_jobs[where]
        for name, job in present.items():
            where = (node, name)
            mine = self.by_name[node].boards
            held = tuple(uuids[b] for b in job.boards.tolist() if mine.start <= b < mine.stop)
            if where not in self.known_jobs:
                self.known_jobs[where] = held
                self._event(node, name, held, "started", now_s)
            elif now_s - self.said_s[where] >= 10.0:
                self._event(node, name, held, "running", now_s)

    def _event(self, node: str, name: str, gpus: tuple[str, ...], change: str, now_s: float) -> None:
        self.said_s[node, name] = now_s
        spec = next(j.spec for j in self.plant.jobs.running if name.startswith(j.spec.id))
        event = JobEvent(
            region=REGION, node=node, boot_id=BOOT, job=name, change=change,  # type: ignore[arg-type]
            type_key=spec.type_key, priority_class=spec.priority_class, tenant=spec.tenant, queue=spec.queue,
            gpus=gpus, started_ns=0, t_ns=round(now_s * 1e9), mono_ns=round(now_s * 1e9),
        )  # fmt: skip
        self.desk.on_job(event, self._arrival("", now_s))
        if self.engine is not None:
            self.engine.intake.take_job(event, now_s)

    def _meters(self, step: int, now_s: float) -> None:
        domains = self.plant.domains
        for meter in self.meters:
            meter.sum_w += float(domains.wall_w[meter.place])
            period = round(meter.spec.period_s / STEP_S)
            if (step + 13 * meter.place) % period:
                continue
            device = domains.devices[meter.spec.domain]
            meter.seq += 1
            ups = meter.spec.kind == "ups"
            reading = MeterReading(
                region=REGION, meter=meter.spec.id, domain=meter.spec.domain, boot_id=BOOT, seq=meter.seq,
                t_ns=round(now_s * 1e9), mono_ns=round(now_s * 1e9), period_s=meter.spec.period_s,
                device="ups" if ups else "power_meter", quality="good", gated=True,
                power_w=meter.gain * meter.sum_w / period,
                modules_total=device.spec.modules if ups else None,
                modules_ok=device.modules_ok if ups else None,
            )  # fmt: skip
            meter.sum_w = 0.0
            self.readings.append((now_s + METER_DELAY_S, reading))
        while self.readings and self.readings[0][0] <= now_s + 1e-9:
            _, reading = self.readings.pop(0)
            self.desk.on_meter(reading, self._arrival(subjects.meter(REGION, reading.meter), now_s))
            if self.engine is not None:
                self.engine.intake.take_meter(reading, now_s)

    def _look(self, now_s: float) -> None:
        began_s = time.process_time()
        look = self.coordinator.look(now_s)
        if look.cause is not None:
            self.look_s.append(time.process_time() - began_s)
        self.commands += look.orders.messages
        if not self.plant.jobs.started:
            return
        mixture_w = self.enforced_w.copy()
        for command in self.commands:
            if hasattr(command, "limits"):
                mine = self.by_name[command.node].boards
                sent_w = np.array([np.nan if e.limit_w is None else e.limit_w for e in command.limits])
                mixture_w[mine] = np.fmax(mixture_w[mine], sent_w)
        self.mixtures.append(mixture_w)
        self.limits.append(self.enforced_w.copy())

    def _note(self) -> None:
        assert self.trace is not None
        decision, seen = self.coordinator.decision, self.picture.observation
        rows = {job.id: row for row, job in enumerate(seen.layout.jobs)}
        for job in self.plant.jobs.running:
            place = job.tape.row(job.played_s)
            row = rows.get(job.id)
            fresh = decision is not None and row is not None and row < len(decision.reasons)
            self.trace.rows.append(
                {
                    "t": round(self.plant.t_s, 2),
                    "job": job.spec.id,
                    "work": bool(place is not None and job.tape.work[place] and job.present),
                    "speed": round(job.speed, 3),
                    "natural": round(float(self.plant.jobs.natural_w[job.boards].mean()), 1),
                    "draw": round(float(self.plant.power_w[job.boards].mean()), 1),
                    "limit": round(float(self.enforced_w[job.boards].min()), 1),
                    "peak": None if row is None else round(float(seen.peak_w[row]), 1),
                    "known": None if row is None else bool(seen.peaks.known[row]),
                    "stalled": None if row is None else bool(seen.stalls.stalled[row]),
                    "duty": None if row is None else round(float(seen.duty.duty[row]), 2),
                    "busy": None if row is None else round(float(seen.busy.share[row]), 2),
                    "best": round(float(decision.best_w[row]), 1) if fresh else None,
                    "why": decision.reasons[row] if fresh else None,
                    "reactive": bool(decision.reactive) if decision is not None else None,
                    "wall": {d: round(float(w)) for d, w in
                             zip(self.plant.domains.devices, self.plant.domains.wall_w, strict=True)},
                    "target": round(float(self.plant.domains.limits_w()[1][0])),
                    "penalty": round(float(self.picture.memory.penalty_w.max(initial=0.0))),
                }
            )  # fmt: skip
