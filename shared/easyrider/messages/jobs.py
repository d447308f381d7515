"""Jobs and what they are doing."""

from typing import ClassVar, Literal

from easyrider.messages.base import Count, GivenName, Label, Message, Name


class JobEvent(Message, tag="job_event", frozen=True, forbid_unknown_fields=False):
    """A job as one node sees it: started, changed or ended there. The coordinator merges by job id.

    Level-triggered: telemetry says every running job again each 10 s, so a lost event heals. A field that a reader
    does not know is passed over (shared/decisions/0044): a node of a newer version costs nobody its jobs.
    """

    said_when_set: ClassVar[tuple[str, ...]] = ("image", "configuration", "gpu_model")

    region: Name
    node: Name
    boot_id: Name
    job: GivenName
    change: Literal["started", "changed", "running", "ended"]
    type_key: Label
    priority_class: Label
    tenant: Label
    queue: Label
    gpus: tuple[Name, ...]  # UUIDs of this node
    started_ns: int  # Unix
    t_ns: int
    mono_ns: Count
    image: Label = ""  # of its container
    configuration: Label = ""  # of its model: "batch=32,framework=torch,layers=80"
    gpu_model: Label = ""  # of its GPUs of this node, as the driver names it


class PhaseMark(Message, tag="phase_mark", frozen=True):
    """Training code announces what comes: a phase begins, for about so long."""

    region: Name
    node: Name
    boot_id: Name
    job: GivenName
    phase: Literal[
        "forward", "backward", "all_reduce", "optimizer", "data", "checkpoint", "evaluation", "idle"
    ]
    begins: bool
    expected_s: float | None
    t_ns: int
    mono_ns: Count
