"""Where each board of a world stands in the arrays: node by node, in index order."""

import uuid
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from easyrider_twin.outcome import FloatArray
from easyrider_twin.world import GpuModel, World

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Places and fixed properties of all boards, each array of shape (n_gpus,)."""

    slices: dict[str, slice]  # node id -> its boards
    node_of: IntArray
    models: tuple[GpuModel, ...]
    uuids: tuple[str, ...]
    idle_w: FloatArray
    wait_w: FloatArray
    min_limit_w: FloatArray
    max_limit_w: FloatArray
    default_limit_w: FloatArray

    @property
    def gpus(self) -> int:
        """How many boards there are."""
        return len(self.uuids)

    def index(self, node: str, board: int) -> int:
        """Array index of one board."""
        return int(self.slices[node].start) + board


def layout(world: World) -> Layout:
    """The places of a world; UUIDs follow from its name, seed and place, so they are the same each run."""
    slices: dict[str, slice] = {}
    node_of: list[int] = []
    models: list[GpuModel] = []
    uuids: list[str] = []
    for number, node in enumerate(world.nodes):
        slices[node.id] = slice(len(uuids), len(uuids) + node.gpus)
        node_of += [number] * node.gpus
        models += [world.models[node.model]] * node.gpus
        names = (f"{world.name}/{world.seed}/{node.id}/{board}" for board in range(node.gpus))
        uuids += [f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, name)}" for name in names]
    return Layout(
        slices=slices,
        node_of=np.array(node_of, dtype=np.intp),
        models=tuple(models),
        uuids=tuple(uuids),
        idle_w=np.array([m.idle_w for m in models]),
        wait_w=np.array([m.wait_w for m in models]),
        min_limit_w=np.array([m.min_limit_w for m in models]),
        max_limit_w=np.array([m.max_limit_w for m in models]),
        default_limit_w=np.array([m.default_limit_w for m in models]),
    )
