"""The plugin's hooks as processes: they yield cheaply, and the others pay nothing for it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from brimline.launch import bootstrap
from brimline.testing import SessionBuilder, bash_event, event

from .processes import command, copy_package, environment, errors, run_hook, spool
from .test_imports import ALLOWED, FAST, NOT_WHEN_QUIET, SPY

if TYPE_CHECKING:
    from pathlib import Path


def _wire(world: Path) -> None:
    """Put our entry into the user's settings."""
    program, *arguments = command("SessionStart")
    entry = {"type": "command", "command": program, "args": arguments}
    path = world / "home" / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [entry]}]}}))


def test_both_hooks_of_an_event_leave_one_line(session: SessionBuilder, world: Path) -> None:
    """As the client starts them: the plugin's says nothing and leaves nothing but its mark."""
    _wire(world)
    session.tool_call(110_000)
    start = event("SessionStart", session, source="startup")

    plugin = run_hook(world, "SessionStart", start, "", "plugin")
    run_hook(world, "SessionStart", start)
    spoken = run_hook(world, "PostToolUse", bash_event(session))
    yielded = run_hook(world, "PostToolUse", bash_event(session), "", "plugin")

    assert (plugin.returncode, plugin.stdout, plugin.stderr) == (0, b"", b"")
    assert (yielded.returncode, yielded.stdout, yielded.stderr) == (0, b"", b"")
    assert b"Context tier L1" in spoken.stdout
    told = [line["event"] for line in spool(world)]
    assert told == ["SessionStart", "PostToolUse", "Announced"]
    assert errors(world) == []


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"session_id": 5}', b"\xff\xfe"])
@pytest.mark.parametrize("name", ["SessionStart", "PostToolUse"])
def test_whatever_comes_the_client_gets_nothing(name: str, raw: bytes, world: Path) -> None:
    """An empty answer and exit code 0."""
    done = run_hook(world, name, raw, "", "plugin")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("both", [True, False])
def test_a_plugins_quiet_hook_stays_on_the_fast_path(
    both: bool, session: SessionBuilder, world: Path
) -> None:
    """Yielding it does not even load what measures; else one small module comes on top."""
    root = copy_package(world / "copy")
    if both:
        _wire(world)
    session.tool_call(30_000)
    start = event("SessionStart", session, source="startup")
    run_hook(world, "SessionStart", start, "", "plugin", root=root)
    run_hook(world, "PostToolUse", bash_event(session), "", "plugin", root=root)

    loaded = _loaded(world, root, bash_event(session), "", "plugin")

    assert "brimline.yielding" not in _loaded(world, root, bash_event(session))
    assert "brimline.yielding" in loaded
    assert ("brimline.gauge.reading" in loaded) is not both
    assert loaded <= ALLOWED | FAST.keys()
    assert not loaded & NOT_WHEN_QUIET


def _loaded(world: Path, root: str, payload: dict[str, Any], *arguments: str) -> set[str]:
    """The modules that a hook has loaded when it leaves, beyond those of an empty interpreter."""
    hook = _modules(world, SPY + bootstrap(root), payload, "PostToolUse", *arguments)
    assert errors(world) == []
    return hook - _modules(world, SPY + "posix._exit(0)", payload)


def _modules(world: Path, code: str, payload: dict[str, Any], *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        input=json.dumps(payload).encode(),
        env=environment(world),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.decode().splitlines())
