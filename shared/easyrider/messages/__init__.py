"""Every message on the bus: frozen records that state their units.

A number's unit is the end of its name. Unix time (`t_ns`) is for people and joins; no decision reads it.
"""

from easyrider.messages.asks import Answer, Ask
from easyrider.messages.base import Message, Record
from easyrider.messages.commands import ExitGrant, GpuAck, GpuLimit, Hold, LimitAck, SetLimits
from easyrider.messages.forecasts import HorizonForecast, PowerForecast, SeriesForecast
from easyrider.messages.frames import NodeFrame
from easyrider.messages.jobs import JobEvent, PhaseMark
from easyrider.messages.meters import MeterReading
from easyrider.messages.nodes import GpuState, Leaving, LeavingGpu, NodeState
from easyrider.messages.plans import DomainPlan, JobPlan, Mode, Plan, RegionPlan
from easyrider.messages.regions import Budget, Demand

ALL: tuple[type[Message], ...] = (
    NodeFrame,
    NodeState,
    MeterReading,
    PhaseMark,
    JobEvent,
    PowerForecast,
    Plan,
    SetLimits,
    Hold,
    ExitGrant,
    LimitAck,
    Leaving,
    Demand,
    Budget,
    Ask,
    Answer,
)

__all__ = [
    "ALL",
    "Answer",
    "Ask",
    "Budget",
    "Demand",
    "DomainPlan",
    "ExitGrant",
    "GpuAck",
    "GpuLimit",
    "GpuState",
    "Hold",
    "HorizonForecast",
    "JobEvent",
    "JobPlan",
    "Leaving",
    "LeavingGpu",
    "LimitAck",
    "Message",
    "MeterReading",
    "Mode",
    "NodeFrame",
    "NodeState",
    "PhaseMark",
    "Plan",
    "PowerForecast",
    "Record",
    "RegionPlan",
    "SeriesForecast",
    "SetLimits",
]
