"""Settings: right all at once, or wrong all at once."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from easyrider.config import describe, from_env, setting
from easyrider.errors import BadConfig
from easyrider.prefixes import SERVICES

PREFIX = "EASYRIDER_TEST_"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Every type a setting may have."""

    node: str = setting(help="this machine")
    count: int = setting(4, help="how many", ge=1, le=8)
    period_s: float = setting(1.0, help="between plans", ge=1, le=5)
    keep: bool = setting(False, help="limits stay")
    folder: Path | None = setting(None, help="where")
    level: Literal["low", "high"] = setting("low", help="how much")
    regions: tuple[str, ...] = setting(("local",), help="which")
    ports: tuple[int, ...] = setting((), help="where else", ge=1)


def read(**values: str) -> Config:
    return from_env(Config, {PREFIX + name.upper(): value for name, value in values.items()}, PREFIX)


def faults_of(**values: str) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        read(**values)
    return caught.value.faults


def test_what_is_not_said_has_its_default() -> None:
    assert read(node="n1") == Config(node="n1")


def test_every_type_is_read() -> None:
    found = read(
        node="n1",
        count="8",
        period_s="2.5",
        keep="yes",
        folder="/tmp/x",
        level="high",
        regions="a, b,",
        ports="80,443",
    )

    assert found == Config(
        node="n1", count=8, period_s=2.5, keep=True, folder=Path("/tmp/x"), level="high", regions=("a", "b"),
        ports=(80, 443),
    )  # fmt: skip


def test_an_empty_optional_setting_is_none() -> None:
    assert read(node="n1", folder="").folder is None


def test_every_fault_is_in_one_message() -> None:
    faults = faults_of(count="nine", period_s="nan", keep="perhaps", level="middle", ports="0", perod_s="2")

    assert faults == [
        f"{PREFIX}PEROD_S is not a setting (did you mean {PREFIX}PERIOD_S?)",
        f"{PREFIX}NODE is missing (this machine)",
        f"{PREFIX}COUNT is 'nine', no whole number",
        f"{PREFIX}PERIOD_S is 'nan', not a finite number",
        f"{PREFIX}KEEP is 'perhaps', neither true nor false",
        f"{PREFIX}LEVEL is 'middle', not one of low, high",
        f"{PREFIX}PORTS is 0, outside 1..",
    ]


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "", "1,5", "0x10", "true"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    (fault,) = faults_of(node="n1", period_s=text)

    assert "PERIOD_S" in fault


@pytest.mark.parametrize("text", ["0.999", "5.001", "-1"])
def test_a_number_out_of_range_is_refused_with_the_range(text: str) -> None:
    (fault,) = faults_of(node="n1", period_s=text)

    assert "outside 1..5" in fault


def test_variables_under_another_prefix_do_not_matter() -> None:
    others = ("EASYRIDER_POLICY_COUNT", "EASYRIDER_INFRA_BRIDGE_X", "EASYRIDER_TWIN_STATE", "EASYRIDER_RUN")
    environ = {f"{PREFIX}NODE": "n1", "PATH": "/bin", **dict.fromkeys(others, "x")}

    assert from_env(Config, environ, PREFIX) == Config(node="n1")


def test_a_variable_of_ours_under_the_prefix_of_no_program_is_a_fault_that_names_the_right_one() -> None:
    environ = {f"{PREFIX}NODE": "n1", "EASYRIDER_TSET_COUNT": "4", "EASYRIDER_BRIGDE_COLOUR": "red"}

    with pytest.raises(BadConfig) as caught:
        from_env(Config, environ, PREFIX)

    assert caught.value.faults == [
        f"EASYRIDER_BRIGDE_COLOUR belongs to no service (settings of this one begin with {PREFIX})",
        f"EASYRIDER_TSET_COUNT belongs to no service (did you mean {PREFIX}COUNT? "
        f"settings of this one begin with {PREFIX})",
    ]


def test_every_service_of_the_house_has_its_prefix_known() -> None:
    packages = ("telemetry", "forecaster", "policy", "actuator", "infra_bridge", "recorder")
    modules = [importlib.import_module(f"easyrider_{package}.config") for package in packages]
    modules.append(importlib.import_module("easyrider_guardian.settings"))

    assert {module.PREFIX for module in modules} == set(SERVICES)


def test_the_table_lists_every_setting_with_type_default_range_and_meaning() -> None:
    table = describe(Config, PREFIX)

    for words in (
        f"{PREFIX}NODE text (required) - this machine",
        f"{PREFIX}COUNT int 4 1..8 how many",
        f"{PREFIX}FOLDER path or empty (empty) - where",
        f"{PREFIX}LEVEL low|high low - how much",
        f"{PREFIX}REGIONS text,... local - which",
        f"{PREFIX}KEEP bool false - limits stay",
    ):
        assert words in " ".join(table.split())


def test_what_a_record_checks_by_itself_is_a_fault_of_the_settings_too() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Pair:
        low: int = setting(1, help="")
        high: int = setting(2, help="")

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low is above high")

    with pytest.raises(BadConfig, match="low is above high"):
        from_env(Pair, {"X_LOW": "5"}, "X_")
