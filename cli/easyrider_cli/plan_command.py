"""`easyrider plan`: what the coordinator decides, as it says so, with the reason of every limit."""

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from easyrider import log, subjects
from easyrider.bus import Bus, BusDown, BusRefused, BusShut
from easyrider.errors import EasyRiderError
from easyrider.messages import Leaving, NodeState, Plan
from easyrider.messages.plans import DemandPlan
from easyrider.tls import TlsFiles
from easyrider_cli import address, listening
from easyrider_cli.rundir import RunFolder
from easyrider_cli.user_folder import bus_user

_CONNECT_S, _FIRST_S, _REDRAW_S = 5.0, 15.0, 1.0
_OTHERS_S = 2.5
"""For plans of other regions to be heard: two of their periods, and more."""


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
    user: Path | None = None,
) -> None:
    """Show plans until Ctrl-C or `count` of them. Raises `NoStack`, `BusRefused`, and the errors of `listening`."""
    log.configure("easyrider", level="error", form="console")
    region = None if region is None else listening.checked_region(region)
    health: Path | None = None
    shown = None if user is None else bus_user(user)
    seed_file = seed_file or (None if shown is None else shown.seed_file)
    if nats_url is not None:
        listening.checked_bus(nats_url)
    else:
        known = address.read(run)
        nats_url = known.nats_url
        if seed_file is None and known.watcher_seed is not None:
            seed_file = Path(known.watcher_seed)
        region = region or known.region
        if region not in (known.region, *known.regions):
            raise listening.NoRegion(region, (known.region, *known.regions))
        health = RunFolder(run).health("policy" if region == known.region else f"policy-{region}")
    where = Where(
        nats_url,
        None if seed_file is None else listening.checked_seed(seed_file),
        region or "local",
        health,
        None if shown is None else shown.tls,
    )
    with Show(Console(), as_json) as show:
        try:
            asyncio.run(_listen(where, show, count))
        except BusShut as fault:
            raise listening.NotLetIn(nats_url, seed_file) from fault
        except BusDown as fault:
            raise listening.NoBus(nats_url, _CONNECT_S) from fault


@dataclass(frozen=True, slots=True)
class Where:
    """Which bus, whose key, which region; and where a coordinator of this machine says whether it leads."""

    url: str
    seed_file: Path | None
    region: str
    health: Path | None
    tls: TlsFiles | None = None

    def why_no_plan(self, nodes: set[str] | None) -> EasyRiderError:
        """What is wrong where these nodes spoke and no plan was said; None: we may not hear them."""
        if nodes is None:
            return listening.NoPlan(self.region, self.url, _FIRST_S)
        if nodes:
            return listening.NobodyLeads(self.region, nodes, _FIRST_S)
        leads = self.health is not None and listening.leads(self.health)
        return listening.NoNodeHeard(self.region, self.url, _FIRST_S, leads)


async def _listen(where: Where, show: Show, count: int | None) -> None:
    nodes: set[str] = set()
    hears_nodes = True
    done = asyncio.Event()
    gone: list[BrokenPipeError | SystemExit] = []

    def on_plan(plan: Plan, _arrival: object) -> None:
        if gone:
            return
        if count is None or show.plans < count:
            try:
                show.take(plan)
            except (BrokenPipeError, SystemExit) as end:  # the bus would log it and go on, or break off
                gone.append(end)
                done.set()
        if count is not None and show.plans >= count:
            done.set()

    def on_state(state: NodeState | Leaving, _arrival: object) -> None:
        nodes.add(state.node)

    async with Bus.connect(
        where.url, name=address.WATCHER, seed_file=where.seed_file, tls=where.tls, wait_s=_CONNECT_S
    ) as bus:
        await bus.subscribe(subjects.plan(where.region), (Plan,), on_plan)
        try:
            await bus.subscribe(subjects.states_in(where.region), (NodeState, Leaving), on_state)
        except BusRefused:
            hears_nodes = False  # not every user who may hear plans may hear nodes
        began_s = time.monotonic()
        while not done.is_set():
            try:
                await asyncio.wait_for(done.wait(), _REDRAW_S)
            except TimeoutError:
                show.age()
            if show.plans == 0 and time.monotonic() - began_s > _FIRST_S:
                others = await _planned(bus)
                if others and not nodes:
                    raise listening.NoRegion(where.region, others)
                raise where.why_no_plan(nodes if hears_nodes else None)
    if gone:
        raise gone[0]


async def _planned(bus: Bus) -> list[str]:
    """Regions whose plans are said, within two periods; none where this user may not hear them."""
    heard: set[str] = set()
    try:
        await bus.subscribe(subjects.every("plan"), (Plan,), lambda plan, _arrival: heard.add(plan.region))
    except BusRefused:
        return []
    await asyncio.sleep(_OTHERS_S)
    return sorted(heard)


def picture(plan: Plan, age_s: float) -> Group:
    """One plan as two tables: domains in wall kW, jobs in W a GPU with what binds them."""
    stale = f", said {age_s:.0f} s ago" if age_s >= 2 else ""
    document = f" ({plan.rules_sha256[:12]})" if plan.rules_sha256 else ""
    lead = "leads" if plan.leading else "does not lead"
    head = Text(
        f"{plan.region}: plan {plan.seq} of epoch {plan.epoch} ({plan.cause}), {lead}; rules {plan.tree} "
        f"version {plan.tree_version}{document}{stale}",
        style="bold",
    )
    counts = Text(
        f"lowers {plan.lowers}, raises {plan.raises}, raises waiting {plan.raises_waiting}, idle GPUs "
        f"{plan.idle_gpus}, silent nodes: {', '.join(plan.silent_nodes) or 'none'}"
        + ("; reactive: forecasts are not trusted now" if plan.reactive else "")
        + (f" ({plan.reactive_why})" if plan.reactive and plan.reactive_why else "")
    )
    return Group(head, _domains(plan), _jobs(plan), *map(Text, map(billed, plan.demands)), counts)


def _domains(plan: Plan) -> Table:
    table = _table("domain", "draws (kW)", "target", "counted", "hard limit", "GPU budget", "")
    for domain in plan.domains:
        remarks = [
            f"INFEASIBLE by {domain.missing_w / 1e3:.2f} kW" if domain.missing_w > 0 else "",
            "" if domain.closed else f"open: {domain.uncontrolled_gpus} GPUs uncontrolled",
            f"opens in {domain.time_to_trip_s:.0f} s" if domain.time_to_trip_s is not None else "",
            f"in force: {', '.join(domain.losses)}" if domain.losses else "",
        ]
        watts = (domain.observed_w, domain.target_w, domain.counted_w, domain.hard_limit_w, domain.budget_w)
        shown = ("unknown" if w is None else f"{w / 1e3:.2f}" for w in watts)
        table.add_row(domain.domain, *shown, "\n".join(filter(None, remarks)))
    return table


def billed(window: DemandPlan) -> str:
    """One running interval in a line: how it would close, and what holding it is to save and cost."""
    known = "not known" if window.billed_w is None else f"{window.billed_w / 1e3:.2f} kW"
    close = "unknown" if window.mean_w is None else f"{window.mean_w / 1e3:.2f} kW"
    line = f"bill {window.id}: {window.left_s:.0f} s left, would close at {close}, billed anyhow {known}; "
    if window.aim_w is None or window.ceiling_w is None:
        return line + f"nothing held back: {window.why}"
    return line + (
        f"cap {window.ceiling_w / 1e3:.2f} kW for {window.aim_w / 1e3:.2f} kW saves {window.saved_value:.2f}, "
        f"costs {window.cost_value:.2f} {window.currency}, {window.lost_value:.2f} in this interval so far"
    )


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
