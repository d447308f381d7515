"""What came of a run in virtual time, for a person's eyes."""

from easyrider_twin.outcome import Outcome


def table(outcome: Outcome, cap_w: float | None) -> str:
    """Lines of text: limits in force, trips, a row a domain, a row a job, and what to know of the load."""
    limits = "default limits" if cap_w is None else f"every GPU capped at {cap_w:.0f} W"
    told = [f"{outcome.seconds:.0f} s of virtual time, {limits}"]
    told += [
        f"  {t.domain} opened at {t.t_s:.1f} s, {t.multiple:.2f} times its capacity" for t in outcome.trips
    ]
    told += [] if outcome.trips else ["  nothing opened"]
    told += ["", f"  {'domain':<16}{'peak kW':>10}{'over target kJ':>16}{'over hard kJ':>14}"]
    for domain, wall_w in outcome.wall_w.items():
        over_kj = (outcome.over_target_j(domain) / 1e3, outcome.over_hard_j(domain) / 1e3)
        told.append(
            f"  {domain:<16}{wall_w.max(initial=0.0) / 1e3:>10.2f}{over_kj[0]:>16.1f}{over_kj[1]:>14.1f}"
        )
    told += ["", f"  {'job':<16}{'GPUs':>6}{'work lost %':>13}  load"]
    for job in outcome.jobs:
        end = "" if job.killed_at_s is None else f", killed at {job.killed_at_s:.1f} s"
        told.append(f"  {job.id:<16}{job.gpus:>6}{job.lost_pct:>13.2f}  {job.source}{end}")
    told.append(f"  {'all':<16}{sum(job.gpus for job in outcome.jobs):>6}{outcome.work_lost_pct:>13.2f}")
    told += ["", *(f"  {note}" for note in outcome.notes)] if outcome.notes else []
    return "\n".join(told) + "\n"
