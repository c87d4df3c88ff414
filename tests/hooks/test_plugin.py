"""The plugin's hooks as processes: they yield cheaply, and the others pay nothing for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.testing import SessionBuilder, bash_event, event

from .processes import command, copy_package, loaded_modules, run_hook, spool
from .test_imports import ALLOWED, FAST, NOT_WHEN_QUIET

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

    garbage = [run_hook(world, "PostToolUse", raw, "", "plugin") for raw in (b"", b"[]", b"\xff{")]

    for done in (plugin, yielded, *garbage):
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert b"Context tier L1" in spoken.stdout
    told = [line["event"] for line in spool(world)]
    assert told == ["SessionStart", "PostToolUse", "Announced"]


@pytest.mark.parametrize("both", [True, False])
def test_a_plugins_quiet_hook_stays_fast(both: bool, session: SessionBuilder, world: Path) -> None:
    """Yielding it does not even load what measures; else one small module comes on top."""
    root = copy_package(world / "copy")
    if both:
        _wire(world)
    session.tool_call(30_000)
    start = event("SessionStart", session, source="startup")
    run_hook(world, "SessionStart", start, "", "plugin", root=root)
    run_hook(world, "PostToolUse", bash_event(session), "", "plugin", root=root)

    call = ("PostToolUse", bash_event(session))
    loaded = loaded_modules(world, root, *call, "", "plugin")

    assert "brimline.yielding" not in loaded_modules(world, root, *call)
    assert "brimline.yielding" in loaded
    assert ("brimline.gauge.reading" in loaded) is not both
    assert loaded <= ALLOWED | FAST.keys()
    assert not loaded & NOT_WHEN_QUIET
