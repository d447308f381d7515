"""The house plan, kept by machine: who imports whom, how files are named and how long they are."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from easyrider.messages import ALL

ROOT = Path(__file__).parents[1]
ROOMS = ("shared", "services", "cli", "twin", "bench", "tests", "integrations")
CODE = (".py", ".c", ".h", ".sh")
LINES = 300
SHAPELESS = {"utils", "util", "helpers", "helper", "common", "misc"}
MILLIWATT_EDGE = (
    "shared/easyrider/devices/",  # NVML speaks milliwatts
    "shared/easyrider/columns.py",
    "shared/easyrider/frame_view.py",
    "shared/easyrider/frame_batch.py",
    "shared/easyrider/frame_mould.py",
    "shared/easyrider/messages/frames.py",  # packed wire columns
    "services/telemetry/easyrider_telemetry/core/",  # packs them
    "services/telemetry/easyrider_telemetry/adapters/",
    "services/forecaster/easyrider_forecaster/core/intake.py",
    "twin/",
    "bench/",
    "tests/",
)
UNITS = (
    "_w", "_s", "_ns", "_us", "_ms", "_mj", "_mw", "_j", "_hz", "_a", "_v", "_c", "_mhz", "_mb", "_pct",
    "_bytes_per_s", "_value",
)  # fmt: skip
PURE_NUMBERS = {  # counts, marks and shares: what they count is their name
    "v", "epoch", "seq", "nonce", "highest_epoch", "highest_seq", "stage", "samples", "gpu_count", "rejected",
    "tree_version", "modules_total", "modules_ok", "uncontrolled_gpus", "idle_gpus", "lowers", "raises",
    "raises_waiting", "slowdown", "confidence", "censored", "gap", "price", "version", "kept_ratio",
    "heat",
}  # fmt: skip


def sources(*suffixes: str) -> Iterator[Path]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            if file.suffix in suffixes and "__pycache__" not in file.parts and "out" not in file.parts:
                yield file


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_every_import_contract_holds() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "package",
    ["telemetry", "forecaster", "estimator", "policy", "policy_api", "actuator", "guardian", "infra_bridge"],
)
def test_every_core_is_under_contract(package: str) -> None:
    assert f'"easyrider_{package}.core"' in (ROOT / "pyproject.toml").read_text()


def test_every_module_imports_with_the_network_closed() -> None:
    script = """
import importlib, pkgutil, socket, sys

def closed(*_args, **_kwargs):
    raise OSError("a module reached for the network while it was imported")

for verb in ("connect", "connect_ex", "bind", "sendto"):
    setattr(socket.socket, verb, closed)
socket.getaddrinfo = closed
failed = []
for root in sys.argv[1:]:
    package = importlib.import_module(root)
    for module in pkgutil.walk_packages(package.__path__, root + ".", onerror=failed.append):
        try:
            importlib.import_module(module.name)
        except BaseException as fault:
            failed.append(f"{module.name}: {fault!r}")
sys.exit("\\n".join(failed) or 0)
"""
    packages = re.findall(r'"[\w/-]+/(easyrider\w*)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert len(packages) >= 9

    done = subprocess.run(
        [sys.executable, "-c", script, *packages], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-4000:]


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [relative(file) for file in sources(*CODE) if file.stem in SHAPELESS] == []


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {relative(file): len(file.read_text().splitlines()) for file in sources(*CODE)}

    assert {name: count for name, count in lengths.items() if count > LINES} == {}


def test_milliwatts_stay_at_the_edge() -> None:
    found = [
        f"{relative(file)}:{number}"
        for file in sources(".py")
        if not relative(file).startswith(MILLIWATT_EDGE)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"\b\w+_mw\b", line)
    ]

    assert found == []


def test_subjects_are_made_by_functions_alone() -> None:
    found = [
        relative(file)
        for file in sources(".py")
        if file.name != "subjects.py"
        and "easyrider.v1" in file.read_text()
        and not {"tests", "integrations"} & set(file.parts)  # integrations have nothing of ours installed
    ]

    assert found == []


def records(kind: type[msgspec.Struct], seen: dict[str, type[msgspec.Struct]]) -> None:
    if kind.__name__ in seen:
        return
    seen[kind.__name__] = kind
    for field in msgspec.structs.fields(kind):
        for part in _parts(msgspec.inspect.type_info(field.type)):
            if isinstance(part, msgspec.inspect.StructType):
                records(part.cls, seen)


def _parts(kind: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    yield kind
    if isinstance(kind, msgspec.inspect.UnionType):
        for part in kind.types:
            yield from _parts(part)
    elif isinstance(kind, msgspec.inspect.VarTupleType):
        yield from _parts(kind.item_type)


def is_number(kind: msgspec.inspect.Type) -> bool:
    numbers = (msgspec.inspect.FloatType, msgspec.inspect.IntType)
    return any(
        isinstance(part, numbers)
        or (isinstance(part, msgspec.inspect.LiteralType) and type(part.values[0]) is int)
        for part in _parts(kind)
    )


def test_every_number_in_a_message_names_its_unit() -> None:
    seen: dict[str, type[msgspec.Struct]] = {}
    for message in ALL:
        records(message, seen)

    nameless = [
        f"{name}.{field.name}"
        for name, kind in seen.items()
        for field in msgspec.structs.fields(kind)
        if is_number(msgspec.inspect.type_info(field.type))
        and not field.name.endswith(UNITS)
        and not re.search(r"_w$|_q\d\d_w$", field.name)
        and field.name not in PURE_NUMBERS
    ]

    assert len(seen) > len(ALL)
    assert nameless == []


def test_the_project_speaks_of_itself_alone() -> None:
    foreign = re.compile(r"/work/|/root/|\bbriefing\b|shared/brief|issue #?\d+\b", re.IGNORECASE)
    mine = Path(__file__)
    found = [
        f"{relative(file)}:{number}"
        for file in sources(*CODE, ".md", ".yaml", ".toml")
        if file != mine
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if foreign.search(line)
    ]

    assert found == []
