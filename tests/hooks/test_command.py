"""The commands that run the hook entry by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from brimline.testing import SessionBuilder, bash_event, statusline_event

from .processes import environment

if TYPE_CHECKING:
    from pathlib import Path


def test_the_hook_command_answers_like_the_installed_hook(
    session: SessionBuilder, world: Path
) -> None:
    """Same input, same document, exit code 0."""
    session.reply(160_000)

    done = _brimline(world, bash_event(session), "hook", "PostToolUse")

    assert done.returncode == 0
    assert "tier L3" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_the_statusline_command_prints_the_line_and_the_wrapped_one(
    session: SessionBuilder, world: Path
) -> None:
    """The wrapped command is the argument."""
    payload = statusline_event(session, 200_000, None)

    done = _brimline(world, payload, "statusline", "echo THEIRS")

    assert done.stdout.decode() == "ctx –% of 200k\nTHEIRS\n"


def test_a_garbled_event_is_silence_by_hand_too(world: Path) -> None:
    """The command is the same entry, with the same promises."""
    done = _brimline(world, [], "hook", "PostToolUse")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def _brimline(world: Path, payload: Any, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    code = "from brimline.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=json.dumps(payload).encode(),
        env=environment(world),
        cwd=world / "project",
        capture_output=True,
        check=False,
        timeout=120,
    )
