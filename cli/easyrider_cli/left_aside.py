"""Fingerprints that were read and left aside, or gave way to another: the first few are told, and how many."""

from rich.console import Console

from easyrider_estimator.adapters.fingerprint_files import Found

_SHOWN = 5


def tell_left_aside(found: Found, said: Console) -> None:
    """Nothing where all were taken."""
    for lines, before in ((found.unreadable, "left aside: "), (found.merged, "")):
        for line in lines[:_SHOWN]:
            said.print(f"{before}{line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
        if more := len(lines[_SHOWN:]):
            said.print(f"and {more} more", style="yellow", markup=False, highlight=False)
