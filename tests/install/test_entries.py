"""Entries that brimline writes: how they are made, and how they are known again."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from brimline.install import entries
from brimline.launch import bootstrap_code

if TYPE_CHECKING:
    from pathlib import Path

# What is written where no launcher can be.
CODE = ["-I", "-S", "-c", bootstrap_code("/old/root", "/d")]
# Of a disk from which nothing can be started.
NO_START = getattr(os, "ST_NOEXEC", 0)
RULES = ("Bash(brimline store get:*)", "mcp__brimline__recall")


@pytest.mark.parametrize(
    ("program", "arguments", "found"),
    [
        ("/p", [*CODE, "Stop"], ("Stop", None, "/p", "/old/root", "/d", None)),
        ("/p", [*CODE, "statusline", "x"], ("statusline", None, "/p", "/old/root", "/d", "x")),
        ("/p", [*CODE, "statusline", ""], ("statusline", None, "/p", "/old/root", "/d", "")),
        ("/p", CODE, None),
        (
            "/p",
            [*CODE[:3], "from brimline.x import main", "Stop"],
            ("Stop", None, "/p", *[None] * 3),
        ),
        ("/p", [*CODE[:3], CODE[3].replace("'/d'", "d"), "X"], ("X", None, "/p", *[None] * 3)),
        (
            "/p",
            ["-I", "-S", "-c", bootstrap_code("/it's é", "/d)\n"), "statusline", "x"],
            ("statusline", None, "/p", "/it's é", "/d)\n", "x"),
        ),
        (
            "/gone/brimline/bin/hook",
            ["Stop"],
            ("Stop", "/gone/brimline/bin/hook", None, None, "/gone/brimline", None),
        ),
        ("/gone/brimline/bin/hook", ["Other"], None),
        ("/gone/others/bin/hook", ["Stop"], None),
        ("/bin/sh", ["-c", "hook Stop"], None),
    ],
)
def test_every_form_is_known_again(
    program: str, arguments: list[str], found: tuple[str | None, ...] | None
) -> None:
    """With the launcher there or gone, or with code; what is not ours is not."""
    assert entries.parse_our_command(program, arguments) == found


def test_a_pipe_in_the_place_of_a_launcher_does_not_make_us_wait(tmp_path: Path) -> None:
    """A stranger's project may bring one, and settings that name it."""
    pipe = tmp_path / "brimline" / "bin" / "hook"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)

    assert entries.parse_our_command(str(pipe), ["Stop"]) is None
    holder = os.open(pipe, os.O_RDWR)
    assert entries.parse_our_command(str(pipe), ["Stop"]) is None
    os.close(holder)


def test_rules_of_earlier_versions_are_known_again() -> None:
    """By the name of the command, and by how it was started; no other rule is ours."""
    assert all(map(entries.is_our_rule, (*RULES, "Bash(/v/python -m brimline store get:*)")))
    others = ["Bash(ls)", "Read(brimline store get:*)", "Bash(brimline store:*)", 1, None]
    assert not any(map(entries.is_our_rule, others))


@pytest.mark.parametrize(
    ("interpreter", "has_launcher"),
    [
        ("/usr/bin/python3", True),
        ("/my programs/python3", False),
        ("/" + "p" * (127 - 7), True),
        ("/" + "p" * (127 - 6), False),
    ],
)
def test_a_launcher_is_used_where_its_first_line_can_be(
    interpreter: str, has_launcher: bool, tmp_path: Path
) -> None:
    """One path without blanks, and no longer than every system takes."""
    home = str(tmp_path / "not yet")
    path = f"{home}/bin/hook"

    assert entries.launcher_path_if_usable(interpreter, home) == (path if has_launcher else None)
    (tmp_path / "not yet" / "bin").mkdir(parents=True)
    (tmp_path / "not yet" / "bin" / "hook").write_text("somebody else's")
    assert entries.launcher_path_if_usable(interpreter, home) is None


@pytest.mark.skipif(not NO_START, reason="the system does not tell")
@pytest.mark.parametrize(("flag", "is_used"), [(0, True), (NO_START, False), (~NO_START, True)])
def test_a_launcher_is_not_put_where_nothing_can_be_started(
    flag: int, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the disk that its folder will be on, which is asked above it while it is not there."""
    asked: list[str] = []

    def statvfs(folder: str) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(f_flag=flag)

    monkeypatch.setattr(os, "statvfs", statvfs)
    home = str(tmp_path / "not there" / "brimline")

    path = entries.launcher_path_if_usable("/usr/bin/python3", home)

    assert path == (f"{home}/bin/hook" if is_used else None)
    assert asked == [str(tmp_path)]
