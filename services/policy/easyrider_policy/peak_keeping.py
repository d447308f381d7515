"""Billed peaks from the last run into the accounts, and from the accounts to disk, beside the loop."""

import asyncio

import msgspec

from easyrider import log
from easyrider_policy.adapters.peaks_file import PeaksFile
from easyrider_policy.core.billing import Billing
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
LOOK_EVERY_S = 10.0


class PeakKeeper:
    """Has `peaks.json` follow the demand windows of one scope."""

    def __init__(self, picture: Picture, file: PeaksFile) -> None:
        self._picture, self._file = picture, file
        kept = file.read()
        rules = picture.rules
        picture.billing = Billing(picture.fleet, rules.tariffs, rules.demands, kept)
        self._written = msgspec.json.encode(picture.billing.months())

    async def run(self) -> None:
        """For ever; a disk that does not take them is asked again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.once()

    async def once(self) -> None:
        """Write what has changed since the last time."""
        peaks = msgspec.json.encode(self._picture.billing.months())
        if peaks == self._written:
            return
        try:
            await asyncio.to_thread(self._file.keep, peaks)
            self._written = peaks
        except OSError as fault:
            log.bounded(_LOG, "peaks", 60.0).error("billed peaks were not kept", fault=str(fault))
