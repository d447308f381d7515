"""The list of meters from a YAML file."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from easyrider.errors import BadConfig
from easyrider.records import Faults, read_record
from easyrider_infra_bridge.core.meter_spec import MeterSpec, faults_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    meters: tuple[MeterSpec, ...]


def read_meters(path: Path) -> tuple[MeterSpec, ...]:
    """Every meter of the file. Raises one `BadConfig` that names every fault in it."""
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as fault:
        raise BadConfig(str(path), [f"cannot be read: {fault.strerror}"]) from fault
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        raise BadConfig(str(path), [f"is no YAML: {fault}"]) from fault
    faults = Faults()
    found = read_record(_Document, document, "", faults)
    if found is None or faults:
        raise BadConfig(str(path), list(faults))
    if wrong := faults_of(found.meters):
        raise BadConfig(str(path), wrong)
    return found.meters
