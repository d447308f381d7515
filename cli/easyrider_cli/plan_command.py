"""`easyrider plan`: what the coordinator decides, as it says so, with the reason of every limit."""

import asyncio
import sys
import time
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from easyrider import log, subjects
from easyrider.bus import Bus
from easyrider.errors import EasyRiderError
from easyrider.messages import Plan
from easyrider_cli import address

_CONNECT_S, _FIRST_S, _REDRAW_S = 5.0, 15.0, 1.0


class NoPlan(EasyRiderError):
    """The bus answers, but no coordinator says a plan there."""

    def __init__(self, url: str, region: str, waited_s: float) -> None:
        self.url, self.region = url, region
        super().__init__(
            f"no plan for region {region} in {waited_s:.0f} s on {log.blot(url)}: is its coordinator up?"
        )


class Show:
    """Plans in place in a terminal, as blocks of text elsewhere, or one JSON line each."""

    def __init__(self, console: Console, as_json: bool) -> None:
        self._console, self._as_json = console, as_json
        self._live = (
            Live(console=console, auto_refresh=False) if console.is_terminal and not as_json else None
        )
        self.plans, self._newest, self._heard_s = 0, None, 0.0  # type: tuple[int, Plan | None, float]

    def __enter__(self) -> "Show":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def take(self, plan: Plan) -> None:
        """A plan was said."""
        self.plans, self._newest, self._heard_s = self.plans + 1, plan, time.monotonic()
        if self._as_json:
            sys.stdout.write(msgspec.json.encode(plan).decode() + "\n")
            sys.stdout.flush()
        elif self._live is None:
            self._console.print(picture(plan, 0.0))
        else:
            self.age()

    def age(self) -> None:
        """Time passes, also without a plan."""
        if self._live is not None and self._newest is not None:
            self._live.update(picture(self._newest, time.monotonic() - self._heard_s), refresh=True)


def follow(
    *,
    run: Path,
    nats_url: str | None,
    seed_file: Path | None,
    region: str | None,
    as_json: bool,
    count: int | None,
) -> None:
    """Show plans until Ctrl-C or `count` of them. Raises `NoStack`, `BusDown`, `BusRefused`, `NoPlan`."""
    log.configure("easyrider", level="error", form="console")
    if nats_url is None:
        known = address.read(run)
        nats_url, seed_file = known.nats_url, seed_file or Path(known.watcher_seed)
        region = region or known.region
    with Show(Console(), as_json) as show:
        asyncio.run(_listen(nats_url, seed_file, region or "local", show, count))


async def _listen(url: str, seed_file: Path | None, region: str, show: Show, count: int | None) -> None:
    done = asyncio.Event()

    def on_plan(plan: Plan, _arrival: object) -> None:
        if count is None or show.plans < count:
            show.take(plan)
        if count is not None and show.plans >= count:
            done.set()

    async with Bus.connect(url, name=address.WATCHER, seed_file=seed_file, wait_s=_CONNECT_S) as bus:
        await bus.subscribe(subjects.plan(region), (Plan,), on_plan)
        began_s = time.monotonic()
        while not done.is_set():
            try:
                await asyncio.wait_for(done.wait(), _REDRAW_S)
            except TimeoutError:
                show.age()
            if show.plans == 0 and time.monotonic() - began_s > _FIRST_S:
                raise NoPlan(url, region, _FIRST_S)


def picture(plan: Plan, age_s: float) -> Group:
    """One plan as two tables: domains in wall kW, jobs in W a GPU with what binds them."""
    stale = f", said {age_s:.0f} s ago" if age_s >= 2 else ""
    lead = "leads" if plan.leading else "does not lead"
    head = Text(
        f"{plan.region}: plan {plan.seq} of epoch {plan.epoch} ({plan.cause}), {lead}; rules {plan.tree} "
        f"version {plan.tree_version}{stale}",
        style="bold",
    )
    counts = Text(
        f"lowers {plan.lowers}, raises {plan.raises}, raises waiting {plan.raises_waiting}, idle GPUs "
        f"{plan.idle_gpus}, silent nodes: {', '.join(plan.silent_nodes) or 'none'}"
        + ("; reactive: forecasts are not trusted now" if plan.reactive else "")
    )
    return Group(head, _domains(plan), _jobs(plan), counts)


def _domains(plan: Plan) -> Table:
    table = _table("domain", "draws (kW)", "target", "counted", "hard limit", "GPU budget", "")
    for domain in plan.domains:
        remarks = [
            f"INFEASIBLE by {domain.missing_w / 1e3:.2f} kW" if domain.missing_w > 0 else "",
            "" if domain.closed else f"open: {domain.uncontrolled_gpus} GPUs uncontrolled",
        ]
        watts = (domain.observed_w, domain.target_w, domain.counted_w, domain.hard_limit_w, domain.budget_w)
        shown = ("unknown" if w is None else f"{w / 1e3:.2f}" for w in watts)
        table.add_row(domain.domain, *shown, "\n".join(filter(None, remarks)))
    return table


def _jobs(plan: Plan) -> Table:
    table = _table("job", "GPUs", "limit (W)", "wants (W)", "slower by", "mode", "because")
    for job in plan.jobs:
        because = job.reason + (f", {job.waiting_w:.0f} W wait" if job.waiting_w > 0 else "")
        table.add_row(
            job.job, str(job.gpu_count), f"{job.limit_w:.0f}", f"{job.demand_w:.0f}", f"{job.slowdown:.1%}",
            job.mode, because + (" (stalled)" if job.stalled else ""),
        )  # fmt: skip
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    last = len(headings) - 1
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place in (0, last) or heading == "mode" else "right")
    return table
