"""What the documentation shows is what happens: every `console` block is run and compared.

A page is one shell in a copy of one world. Lines that begin with `$ ` are run in order; what comes
back must be what the page says. `…` stands for anything within a line, alone on a line for any
number of them; runs of blanks and line breaks are alike. A comment `<!-- run … -->` is run as well,
and what it prints is not looked at.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from . import console_world

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```console\n(.*?)^```|^<!-- run\n(.*?)^-->", re.DOTALL | re.MULTILINE)
_HERE_DOCUMENT = re.compile(r"<< '?(\w+)'?$")
_CLONE = "/home/dev/brimline"
_END = "\x1e"


class Step(NamedTuple):
    """A command and what the page says of it; None where it is not compared."""

    command: str
    expected: str | None


def steps_of(text: str) -> list[Step]:
    """What a page has to be run, in order."""
    found: list[Step] = []
    for shown, hidden in _BLOCK.findall(text):
        found += [Step(hidden, None)] if hidden else _shown_steps(shown.splitlines())
    return found


def _shown_steps(lines: list[str]) -> Iterator[Step]:
    """The commands of a block; a here document and a line that goes on belong to theirs."""
    rest = list(lines)
    assert not rest or rest[0].startswith("$ "), f"begins with no command: {rest[0]!r}"
    while rest:
        command = rest.pop(0).removeprefix("$ ")
        while command.endswith("\\"):
            command += f"\n{rest.pop(0)}"
        if opened := _HERE_DOCUMENT.search(command):
            end = rest.index(opened[1]) + 1
            command, rest = "\n".join([command, *rest[:end]]), rest[end:]
        output: list[str] = []
        while rest and not rest[0].startswith("$ "):
            output.append(rest.pop(0))
        yield Step(command, "\n".join(output))


def matches(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page says."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
            continue
        parts = [r"\s++".join(map(re.escape, part.split())) for part in line.split("…")]
        pattern += r"\s*+" + r"[^\n]*?\s*+".join(parts) + r"\s*+"
    return re.fullmatch(pattern + r"\s*+", printed + "\n") is not None


class World:
    """One world, made once; each page gets it as it was, at the same place."""

    def __init__(self, folder: Path) -> None:
        """Make it in a folder with a short path."""
        self.place, self.pristine = folder / "w", folder / "pristine"
        self.place.mkdir()
        self.site = console_world.link_package_beside(self.place)
        program = [sys.executable, console_world.__file__, str(self.place)]
        subprocess.run(program, env=console_world.environment(self.place), check=True, timeout=300)
        self.place.rename(self.pristine)

    def run(self, steps: list[Step]) -> list[str]:
        """What each step printed, with the world's paths as the pages show them."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.pristine, self.place, symlinks=True)
        script = "".join(f"{{\n{s.command}\n}} < /dev/null; printf '{_END}'\n" for s in steps)
        done = subprocess.run(
            ["/bin/bash", "--norc", "-c", script],
            cwd=self.place / console_world.PROJECT,
            env=console_world.environment(self.place),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=300,
        )
        return self._shown(done.stdout.decode()).split(_END)[:-1]

    def _shown(self, text: str) -> str:
        folder = re.sub(r"[^0-9A-Za-z]", "-", str(self.place))
        shown_as = {self.place: "", folder: "", self.site: f"{_CLONE}/src", ROOT: _CLONE}
        for hidden, shown in shown_as.items():
            text = text.replace(str(hidden), shown)
        return text


PAGES = {
    str(page.relative_to(ROOT)): steps
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if (steps := steps_of(page.read_text(encoding="utf-8")))
}


@pytest.fixture(scope="module")
def console() -> Iterator[World]:
    """The world of the pages."""
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        yield World(Path(folder).resolve())


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_happens(console: World, page: str) -> None:
    """Every command of the page can be run, and prints what stands there."""
    steps = PAGES[page]

    printed = console.run(steps)

    assert len(printed) == len(steps), printed[-1:]
    for step, text in zip(steps, printed, strict=True):
        told = step.expected
        assert told != "…", f"the page says nothing about {step.command}"
        if told is not None and not matches(told, text):
            pytest.fail(f"$ {step.command}\n{text}\nThe page says:\n{told}", pytrace=False)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("", "", True),
        ("", "something\n", False),
        ("two words", "two   words\n", True),
        ("at … o'clock", "at 10 o'clock\n", True),
        ("at … o'clock", "at 10\nno o'clock\n", False),
        ("first\n…\nlast", "first\nany\nlast\n", True),
        ("first\n…\nlast", "first\nlast\n", True),
        ("first\n…", "second\nfirst\n", False),
        ("one", "one\ntwo\n", False),
    ],
)
def test_a_difference_is_noticed(expected: str, printed: str, *, same: bool) -> None:
    """Dots stand for what was cut, blanks do not matter, and all else does."""
    assert matches(expected, printed) is same
