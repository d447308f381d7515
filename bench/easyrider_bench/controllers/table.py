"""Every controller of the bench, in the order in which the table shows them."""

from easyrider_bench.controllers.contract import Entry

ENTRIES: tuple[Entry, ...] = (Entry(name="none", make=None),)
