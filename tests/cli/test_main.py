"""The command itself: help, version, unknown words, one sentence for every problem."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from brimline import __version__
from brimline.cli.surface import program
from brimline.cli.surface import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Outcome


def test_the_help_lists_every_command_with_its_purpose(brimline: Callable[..., Outcome]) -> None:
    """Nothing is hidden."""
    done = brimline("--help")

    assert done.code == 0
    for name, entry in COMMANDS.items():
        assert f"  {name} " in done.out
        assert entry.help.split(".")[0] in " ".join(done.out.split())


def test_the_version_is_the_packages(brimline: Callable[..., Outcome]) -> None:
    """One number everywhere."""
    assert brimline("--version").out == f"brimline, version {__version__}\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("demo", "doctor")])
def test_every_command_has_help_with_an_example(
    name: str, brimline: Callable[..., Outcome]
) -> None:
    """Each says what it does and shows how."""
    for flag in ("--help", "-h"):
        done = brimline(name, flag)
        assert done.code == 0
        assert "Example:" in done.out
        assert f"brimline {name}" in done.out


def test_an_unknown_command_is_refused(brimline: Callable[..., Outcome]) -> None:
    """The exit code is that of a usage error and stdout stays empty."""
    done = brimline("frobnicate")

    assert done.code == 2
    assert done.out == ""
    assert "No such command 'frobnicate'" in done.err


def test_a_problem_is_one_sentence_and_exit_code_one(brimline: Callable[..., Outcome]) -> None:
    """No traceback reaches the user."""
    done = brimline("status", "--transcript", "/no/such/file")

    assert done.code == 1
    assert done.out == ""
    assert done.err == "brimline: cannot read /no/such/file: No such file or directory\n"


def test_commands_are_loaded_when_they_run(world: Path) -> None:
    """The help of the program loads none of them."""
    code = (
        "import sys; from brimline.cli.main import main\n"
        "try: main()\n"
        "finally: print([n for n in sys.modules if n.startswith('brimline.install')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        env={"HOME": str(world / "home"), "BRIMLINE_HOME": str(world / "b")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_has_seen_enough_is_no_error(world: Path) -> None:
    """`brimline … | head` ends without a complaint."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", "from brimline.cli.main import main; main()", "config", "explain"],
        env={"HOME": str(world / "home"), "BRIMLINE_HOME": str(world / "b")},
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write)

    assert done.stderr == b""
    assert done.returncode != 0


def test_the_program_can_be_embedded() -> None:
    """The click group is public for documentation tools."""
    assert program.name == "program"
