"""Which boards this node has: a board once seen keeps its slot, absent or not."""

from dataclasses import dataclass, field

from easyrider_telemetry.core.board import BoardDesk


@dataclass
class Roster:
    """Boards by slot, in the order in which they were first seen. An absent board is silent, never gone."""

    look_s: float
    uuids: list[str] = field(default_factory=list)
    desks: list[BoardDesk] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    """UUID of a partition -> UUID of the board that it is a part of."""
    models: dict[str, str] = field(default_factory=dict)
    """UUID of a board -> what the driver calls its model."""

    def slot(self, uuid: str, max_w: float | None) -> int:
        """The slot of a board; a new one for a new board."""
        if uuid in self.uuids:
            return self.uuids.index(uuid)
        self.uuids.append(uuid)
        self.desks.append(BoardDesk(self.look_s, max_w))
        return len(self.uuids) - 1

    def physical(self, uuid: str) -> str:
        """The board behind a UUID: that of a partition is its parent's."""
        return self.parents.get(uuid, uuid)

    def model(self, uuid: str) -> str:
        """What the driver calls a board; empty where it was not found yet."""
        return self.models.get(uuid, "")

    @property
    def rejected(self) -> int:
        """Readings refused since start."""
        rejected = 0
        for desk in self.desks:
            rejected += desk.rejections
        return rejected

    @property
    def all_fail(self) -> bool:
        """No board answers: the fault is the driver's, not a board's."""
        return bool(self.desks) and all(desk.silent for desk in self.desks)
