"""Whose settings a variable of the environment belongs to: a misspelt prefix is no silent default."""

from collections.abc import Iterable, Mapping

ROOT = "EASYRIDER_"
SERVICES = tuple(
    f"{ROOT}{service}_"
    for service in ("TELEMETRY", "FORECASTER", "POLICY", "ACTUATOR", "GUARDIAN", "INFRA_BRIDGE", "RECORDER")
)
"""What the settings of each service begin with."""
_OTHERS = (f"{ROOT}TWIN_", f"{ROOT}RUN")
"""What the twin and the front door read."""


def strays(environ: Mapping[str, str], prefix: str, known: Iterable[str]) -> list[str]:
    """A fault for each variable of ours that no program reads. `known`: the settings of this one."""
    if not prefix.startswith(ROOT):
        return []
    read = (prefix, *SERVICES, *_OTHERS)
    names = sorted(name for name in environ if name.startswith(ROOT) and not name.startswith(read))
    return [f"{name} belongs to no service ({_advice(name, prefix, tuple(known))})" for name in names]


def _advice(name: str, prefix: str, known: tuple[str, ...]) -> str:
    import difflib  # only where a fault is told

    ends = [each for each in known if name.endswith("_" + each.removeprefix(prefix))]
    near = sorted(ends, key=len, reverse=True) or difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    advice = f"settings of this one begin with {prefix}"
    return f"did you mean {near[0]}? {advice}" if near else advice
