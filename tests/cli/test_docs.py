"""What README and CONTRIBUTING tell people to type exists, and what is cheap enough is run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = ("README.md", "CONTRIBUTING.md", "docs/install.md", "docs/red-button.md", "docs/security.md")


def commands() -> list[str]:
    """Lines of fenced shell blocks, and what stands in backticks and begins like a command of ours."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines = [line.partition(" #")[0].strip() for line in block.splitlines()]
            # all that stands there is run in tests/deploy; of what is not ours, nothing is to be looked up here
            found += [line for line in lines if page != "docs/install.md" or line.startswith("easyrider ")]
        found += re.findall(r"`(make [a-z]+|easyrider [a-z][^`]*)`", text)
    return sorted({command for command in found if command})


def words_of(command: str) -> list[str]:
    words = shlex.split(command)
    words[0] = words[0].removeprefix(".venv/bin/")
    return words


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    program = str(BIN / words[0]) if words[0].startswith("easyrider") else words[0]
    return subprocess.run([program, *words[1:]], cwd=ROOT, capture_output=True, text=True, timeout=90)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) >= 6


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_documents_exists_with_every_option_it_names(command: str) -> None:
    words = words_of(command)

    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text()
        for target in (word for word in words[1:] if "=" not in word):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make knows no {target}"
    elif words[0] == "git":
        assert words[1] == "clone"
    else:
        assert words[0].startswith("easyrider"), f"who knows {words[0]}?"
        ours = words[: words.index("--")] if "--" in words else words
        named = [word for word in ours[1:] if not word.startswith("-")]
        deeper = {"twin": 2}.get(named[0], 1) if named else 0
        shown = run(words[0], *named[:deeper], "--help")
        assert shown.returncode == 0, shown.stderr
        for option in (word for word in ours if word.startswith("--") and word != "--help"):
            assert option in shown.stdout, f"{command}: no option {option}"


@pytest.mark.parametrize("service", sorted(path.name for path in BIN.glob("easyrider-*")))
def test_every_service_explains_its_settings(service: str) -> None:
    shown = run(service, "--help")

    assert shown.returncode == 0
    assert "EASYRIDER_" in shown.stdout


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z]+)", " ".join(commands())))))
def test_a_target_of_make_can_be_read(target: str) -> None:
    assert run("make", "--dry-run", target).returncode == 0


def test_make_help_names_every_target_that_the_documents_name() -> None:
    shown = run("make", "help").stdout

    for target in set(re.findall(r"make ([a-z]+)", " ".join(commands()))):
        assert f"make {target}" in shown


def test_pictures_of_the_readme_are_there_and_light() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", (ROOT / "README.md").read_text())

    assert pictures
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 200_000


def test_places_that_the_documents_link_to_exist() -> None:
    for page in PAGES:
        for place in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text()):
            assert (ROOT / page).parent.joinpath(place).exists(), f"{page} links to {place}"


def test_the_readmes_program_runs_on_a_simulated_node() -> None:
    command = next(each for each in commands() if each.endswith("twin exec -- nvidia-smi"))

    shown = run(*words_of(command))

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("H100") == 8
