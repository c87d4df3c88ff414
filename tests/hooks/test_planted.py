"""A project that sets variables has nothing of its own started by what the client starts."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from brimline.hooks import table
from brimline.testing import SessionBuilder, bash_event, event, statusline_event, text_block

from .processes import errors, run_hook

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("git", "git-rev-parse", "ps", "sh", "bash", "env", "python3", "claude", "uv", "pager")
_CONFIG = """[core]
 fsmonitor = {0}/git
 hooksPath = {0}
 pager = {0}/pager
 sshCommand = {0}/git
[filter "x"]
 clean = {0}/git
 process = {0}/git
[diff]
 external = {0}/git
[trace2]
 normalTarget = {1}/traced
 eventTarget = {1}/traced
 perfTarget = {1}/traced
"""


@pytest.fixture
def planted(world: Path) -> Path:
    """Programs that leave a trace, and settings of git that name them, in a repository."""
    project, folder = world / "project", world / "project" / "bin"
    for words in (("init", "-q", "-b", "main"), ("add", "kept"), ("commit", "-qm", "one")):
        (project / "kept").write_text("1")
        own = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *own, *words], cwd=project, check=True, capture_output=True)
    (project / ".gitattributes").write_text("* filter=x diff=x\n")
    (project / "kept").write_text("2")
    folder.mkdir()
    for name in _NAMES:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> '{world}/ran'\n")
        (folder / name).chmod(0o755)
    for path in (folder / ".gitconfig", folder / "git.d" / "git" / "config"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_CONFIG.format(folder, world))
    return folder


@pytest.mark.parametrize(
    "variables",
    [
        {"PATH": "{bin}"},
        {"PATH": "{bin}:/usr/bin:/bin", "GIT_EXEC_PATH": "{bin}", "PAGER": "{bin}/pager"},
        {"HOME": "{bin}"},
        {
            "XDG_CONFIG_HOME": "{bin}/git.d",
            "GIT_PAGER": "{bin}/pager",
            "GIT_EXTERNAL_DIFF": "{bin}/git",
        },
        {
            "GIT_CONFIG_GLOBAL": "{bin}/.gitconfig",
            "GIT_TRACE2": "{bin}/traced",
            "SHELL": "{bin}/sh",
        },
    ],
)
def test_no_hook_starts_a_program_that_a_projects_variables_name(
    planted: Path, world: Path, session: SessionBuilder, variables: dict[str, str]
) -> None:
    """Neither by PATH nor by what git reads; git itself is asked all the same."""
    session.prompt("Go on.")
    session.reply(5_000, text_block("Done."))
    extra = {name: value.format(bin=planted) for name, value in variables.items()}
    for name in table.EVENTS:
        payload = bash_event(session) if "ToolUse" in name else event(name, session)
        assert run_hook(world, name, payload, extra=extra).returncode == 0
    line = statusline_event(session, 200_000, 5_000)
    wrapped = (str(world / "brimline"), "echo own")
    assert b"own" in run_hook(world, "statusline", line, *wrapped, extra=extra).stdout
    asked = {"session": session.session_id, "cwd": session.cwd, "trigger": "auto", "messages": []}
    assert run_hook(world, "mod", asked, "compact", extra=extra).returncode == 0

    assert not [name for name in ("ran", "traced") if (world / name).exists()]
    kept = [path.read_text() for path in (world / "brimline" / "carry").rglob("*.md")]
    assert any("main" in text for text in kept)
    assert errors(world) == []
