"""How long a connection may take to say what it wants, and how many one address may hold: uvicorn waits for ever."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from easyrider import metrics
from easyrider_policy_api.core.peers import Network, is_listed

_SHUT = metrics.counter("api_connections_shut_total", "connections that were ended from here", ["why"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """What connections are given; proxies hold as many as they like."""

    head_timeout_s: float
    peer_connections: int
    proxies: tuple[Network, ...] = ()

    def protocol(self) -> type[H11Protocol]:
        """A protocol of the web server with these limits."""
        return type("Impatient", (_Impatient,), {"patience": self, "open_by_peer": Counter()})


class _Impatient(H11Protocol):
    """Closes a connection whose request's head does not come, and those of a peer that holds too many."""

    patience: Patience
    open_by_peer: Counter[str]
    _peer = ""
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        name = transport.get_extra_info("peername")
        self._peer = str(name[0]) if name else "unknown"
        self.open_by_peer[self._peer] += 1
        self._head_timer = self.loop.call_later(self.patience.head_timeout_s, self._no_head)
        many = self.open_by_peer[self._peer] > self.patience.peer_connections
        if many and not is_listed(self._peer, self.patience.proxies):
            _SHUT.labels("too_many").inc()
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.cycle is not None and self._head_timer is not None:
            self._head_timer.cancel()  # from here on the body has a time of its own, and idling too
            self._head_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self.open_by_peer[self._peer] -= 1
        if not self.open_by_peer[self._peer]:
            del self.open_by_peer[self._peer]
        super().connection_lost(exc)

    def _no_head(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            _SHUT.labels("no_head").inc()
            self.transport.close()
