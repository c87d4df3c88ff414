"""The plugin's hooks and the settings': together they have one effect."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from brimline import yielding
from brimline.fast import paths
from brimline.hooks import entry
from brimline.launch import bootstrap
from brimline.testing import SessionBuilder, bash_event, event

OURS = {"type": "command", "command": "/bin/sh", "args": ["-c", bootstrap("/x"), "SessionStart"]}
MARK = "yields-to-settings"


def settings(path: Path, entries: Any) -> None:
    """Write settings whose session start has these entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": entries}]}}))


@pytest.fixture
def user_file(world: Path) -> Path:
    """The user's settings."""
    return world / "home" / ".claude" / "settings.json"


def respond(payload: dict[str, Any], home_dir: str, *, plugin: bool = True) -> bytes:
    """The answer of one hook."""
    raw = json.dumps(payload, separators=(",", ":")).encode()
    return entry.respond(payload["hook_event_name"], raw, home_dir, "plugin" if plugin else "")


def spooled(home_dir: str, session: SessionBuilder) -> list[str]:
    """The events that were recorded."""
    path = Path(paths.session_dir(home_dir, session.session_id), "spool.jsonl")
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["event"] for line in lines]


def test_once_the_settings_are_free_of_us_the_plugin_works_again(
    session: SessionBuilder, home_dir: str, user_file: Path
) -> None:
    """From the next start on, which a compaction is too."""
    settings(user_file, [OURS])
    respond(event("SessionStart", session, source="startup"), home_dir)
    user_file.unlink()
    assert respond(bash_event(session), home_dir) == b""
    assert spooled(home_dir, session) == []

    respond(event("SessionStart", session, source="compact"), home_dir)
    respond(bash_event(session), home_dir)

    assert spooled(home_dir, session) == ["SessionStart", "PostToolUse"]
    assert MARK not in os.listdir(paths.session_dir(home_dir, session.session_id))


@pytest.mark.parametrize("scope", ["project", "local", "managed"])
def test_every_scope_of_the_client_counts(scope: str, world: Path, project_dir: str) -> None:
    """Wherever the client would take hooks from."""
    file = {
        "project": Path(project_dir, ".claude", "settings.json"),
        "local": Path(project_dir, ".claude", "settings.local.json"),
        "managed": world / "managed" / "managed-settings.json",
    }[scope]
    settings(file, [OURS])

    assert yielding.settings_start_us(project_dir)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        5,
        [7, None],
        [{"type": "command", "command": "echo from brimline. import main"}],
        [{**OURS, "command": "/gone/python3"}],
        [{**OURS, "command": None}],
        [{**OURS, "args": None}],
        [{**OURS, "args": [1, None]}],
        *(b"", b"{", b"[]", b'{"hooks": []}', b'{"hooks": {"SessionStart": 5}}', b"\xff"),
    ],
)
def test_what_does_not_start_us_is_not_yielded_to(
    entries: Any, user_file: Path, project_dir: str
) -> None:
    """Others' hooks, odd shapes, broken files, and entries whose interpreter is not here."""
    settings(user_file, [])
    if isinstance(entries, bytes):
        user_file.write_bytes(entries)
    else:
        settings(user_file, entries)

    assert not yielding.settings_start_us(project_dir)


def test_the_project_is_the_clients_not_the_current_folder(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session may have left it."""
    elsewhere = world / "elsewhere"
    settings(elsewhere / ".claude" / "settings.json", [OURS])
    raw = json.dumps(event("SessionStart", session, source="startup")).encode()
    assert entry.open_turn("SessionStart", raw, home_dir, "plugin") is not None
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(elsewhere))

    assert entry.open_turn("SessionStart", raw, home_dir, "plugin") is None
