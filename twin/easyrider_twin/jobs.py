"""All jobs at once: each plays its tape at the speed of its slowest board."""

from dataclasses import dataclass

import numpy as np

from easyrider_twin import recordings, speed, synthetic
from easyrider_twin.layout import Layout
from easyrider_twin.outcome import FloatArray, JobOutcome
from easyrider_twin.programs import Recorded
from easyrider_twin.tapes import BoolArray, Tape
from easyrider_twin.world import Job, World


@dataclass
class Running:
    """One job: its boards, its tape and how far it got."""

    spec: Job
    boards: np.ndarray
    nodes: frozenset[str]
    tape: Tape
    _played_s: FloatArray  # its place in the arrays of all jobs, shape (1,)
    _speed: FloatArray
    present: bool = False
    runs: int = 0
    killed_at_s: float | None = None

    @property
    def played_s(self) -> float:
        """Program seconds done."""
        return float(self._played_s[0])

    @property
    def speed(self) -> float:
        """Program seconds per second while present; 1 is uncapped."""
        return float(self._speed[0])

    @property
    def id(self) -> str:
        """Id as a scheduler would show it: a job that left and came back is a new one of the same type."""
        return self.spec.id if self.runs <= 1 else f"{self.spec.id}-run{self.runs}"


class Jobs:
    """Natural draw, speed and progress of every job of a world. The job clock stands at 0 until `start`."""

    def __init__(self, world: World, layout: Layout) -> None:
        self._layout = layout
        jobs = len(world.jobs)
        self._played_s, self._speed = np.zeros(jobs), np.ones(jobs)
        self._same_until_s = np.full(jobs, -np.inf)  # played seconds until which the row read last holds
        self._present, self._living = np.zeros(jobs, dtype=np.bool_), np.ones(jobs, dtype=np.bool_)
        self.running = [
            _running(job, layout, world, self._played_s[k : k + 1], self._speed[k : k + 1])
            for k, job in enumerate(world.jobs)
        ]
        sizes = [len(job.boards) for job in self.running]
        empty = np.empty(0, dtype=np.intp)
        self._boards = np.concatenate([job.boards for job in self.running]) if sizes else empty
        self._starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp) if sizes else empty
        self._job_of = np.repeat(np.arange(len(sizes)), sizes)
        self._memory = np.zeros(layout.gpus, dtype=np.bool_)
        self._mean = np.zeros(layout.gpus, dtype=np.bool_)
        for job in self.running:
            self._memory[job.boards] = job.spec.program.bound == "memory"
            self._mean[job.boards] = job.tape.recorded_mean
        self._some_memory = bool(self._memory.any())
        self.natural_w = layout.idle_w.copy()
        self.busy_pct = np.zeros(layout.gpus, dtype=np.uint8)
        self.occupied = np.zeros(layout.gpus, dtype=np.bool_)
        self.started = False
        self.t_s = 0.0
        self.changed = set(layout.slices)
        """Nodes on which a job came or went; whoever lists jobs clears it."""

    @property
    def recorded_mean(self) -> BoolArray:
        """Boards whose present draw is a recorded 1 s mean already."""
        return self._mean & self.occupied

    def start(self) -> None:
        """Let the job clock run."""
        self.started = True

    def show(self) -> None:
        """Read each tape where it may have come to another row: natural draw, utilisation, who is there."""
        if not self.started:
            return
        for number in np.flatnonzero(self._living & (self._played_s >= self._same_until_s)).tolist():
            job = self.running[number]
            row = job.tape.row(job.played_s)
            self._same_until_s[number] = job.tape.same_until_s(job.played_s)
            present = row is not None and bool(job.tape.present[row])
            if present != job.present:
                self._turn(number, present)
            if row is not None and present:
                self.natural_w[job.boards] = job.tape.draw_w[row]
                self.busy_pct[job.boards] = job.tape.busy_pct[row]

    def pace(self, draw_w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(board speed, share): what each board could do, and the share of time its job lets it work."""
        ratio = np.minimum(draw_w / self.natural_w, 1.0)
        board_speed = speed.compute_bound(ratio)
        if self._some_memory:
            board_speed = np.where(self._memory, speed.memory_bound(ratio), board_speed)
        share = np.ones(self._layout.gpus)
        if len(self._starts):
            slowest = np.minimum.reduceat(board_speed[self._boards], self._starts)
            self._speed[:] = slowest
            share[self._boards] = slowest[self._job_of] / board_speed[self._boards]
        return board_speed, share

    def advance(self, step_s: float) -> None:
        """Play every living tape on by `step_s` at the job's speed; absent jobs wait in wall time."""
        if not self.started:
            return
        self.t_s += step_s
        self._played_s += np.where(self._living, step_s * np.where(self._present, self._speed, 1.0), 0.0)

    def kill(self, nodes: frozenset[str]) -> None:
        """Every job with a board on one of these nodes ends for good."""
        for number, job in enumerate(self.running):
            if job.killed_at_s is None and job.nodes & nodes:
                job.killed_at_s = self.t_s
                self._living[number] = False
                if job.present:
                    self._turn(number, False)

    def outcomes(self) -> tuple[JobOutcome, ...]:
        """Work done so far and what an uncapped, unharmed run had done by now."""
        return tuple(
            JobOutcome(
                id=job.spec.id,
                type_key=job.spec.type_key,
                gpus=len(job.boards),
                source=job.tape.source,
                work_s=job.tape.work_s(job.played_s),
                uncapped_work_s=job.tape.work_s(self.t_s),
                killed_at_s=job.killed_at_s,
            )
            for job in self.running
        )

    def _turn(self, number: int, present: bool) -> None:
        job = self.running[number]
        job.present = self._present[number] = present
        self.changed |= job.nodes
        job.runs += present
        self.occupied[job.boards] = present
        if not present:
            self.natural_w[job.boards] = self._layout.idle_w[job.boards]
            self.busy_pct[job.boards] = 0


def _running(job: Job, layout: Layout, world: World, played_s: FloatArray, pace: FloatArray) -> Running:
    places = [layout.index(node, board) for node, boards in job.gpus.items() for board in boards]
    model = layout.models[places[0]]
    if isinstance(job.program, Recorded):
        tape = recordings.tape(job.program, len(places), model)
    else:
        tape = synthetic.tape(job.program, len(places), model, world.seed)
    return Running(job, np.array(places, dtype=np.intp), frozenset(job.gpus), tape, played_s, pace)
