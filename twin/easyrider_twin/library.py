"""The simulated `libnvidia-ml.so.1`, compiled at its first use.

The result lies in the cache folder, never beside the code, in a folder named after everything it was made
from: sources, compiler and options. It is built elsewhere and put in place by one rename, so any number of
processes may come first at the same time.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from easyrider.errors import EasyRiderError

SONAME = "libnvidia-ml.so.1"
OPTIONS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread")
_NATIVE = Path(__file__).parent / "native"


class LibraryNotBuilt(EasyRiderError):
    """The simulated NVML library could not be compiled; nothing was put in the cache."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the simulated NVML library was not built: {why}")


def folder(*, strict: bool = False, cache: Path | None = None) -> Path:
    """The folder for LD_LIBRARY_PATH; its `bin` holds the stand-in for nvidia-smi.

    Compiles if need be, which takes about a second. `strict` turns warnings into errors.
    Raises `LibraryNotBuilt`.
    """
    compiler = find_compiler()
    options = (*OPTIONS, "-Wall", "-Wextra", "-Werror") if strict else OPTIONS
    place = (cache or cache_folder()) / f"nvml-{_fingerprint(compiler, options)}"
    if not (place / SONAME).is_file():
        _build(place, compiler, options)
    return place


def cache_folder() -> Path:
    """Where compiled things are kept: `$XDG_CACHE_HOME/easyrider`, by default under ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "easyrider"


def find_compiler() -> list[str]:
    """The command of a C compiler: `cc` if there is one, else that of the ziglang wheel."""
    if found := shutil.which("cc"):
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise LibraryNotBuilt("there is no C compiler; install one (gcc or clang), or `pip install ziglang`")


def _fingerprint(compiler: list[str], options: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((compiler, options)).encode())
    binary = Path(compiler[0]).resolve().stat()
    digest.update(f"{binary.st_size} {binary.st_mtime_ns}".encode())
    for source in sorted(_NATIVE.rglob("*.[ch]")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _build(place: Path, compiler: list[str], options: tuple[str, ...]) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    except OSError as error:
        raise LibraryNotBuilt(f"{place.parent} cannot be written ({error}); set XDG_CACHE_HOME") from error
    try:
        half.chmod(0o755)
        (half / "bin").mkdir()
        library = half / SONAME
        sources = [str(source) for source in sorted(_NATIVE.glob("*.c"))]
        _compile([*compiler, *options, "-shared", f"-Wl,-soname,{SONAME}", "-o", str(library), *sources])
        tool = [str(source) for source in sorted((_NATIVE / "smi").glob("*.c"))]
        beside = "-Wl,-rpath,$ORIGIN/.."
        _compile([*compiler, *options, "-o", str(half / "bin" / "nvidia-smi"), *tool, str(library), beside])
        _put_in_place(half, place)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LibraryNotBuilt(f"`{command[0]}` ended with {done.returncode}:\n{done.stderr.strip()}")


def _put_in_place(half: Path, place: Path) -> None:
    try:
        half.rename(place)
    except OSError:
        # another process was first: its folder was made from the same sources, so it serves as well
        if not (place / SONAME).is_file():
            raise
