"""Fakes that pass the same exam as the real bus and store, and real servers for tests. Not for services."""

from easyrider.testing.fake_admin_store import FakeAdminStore
from easyrider.testing.fake_bus import Exchange, FakeBus
from easyrider.testing.fake_store import FakeStore

__all__ = ["Exchange", "FakeAdminStore", "FakeBus", "FakeStore"]
