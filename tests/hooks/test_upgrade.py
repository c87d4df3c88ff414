"""A home that the version before the table of rooms made: its hooks, settings and marks go on."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths, policy
from brimline.settings.values import default_values
from brimline.testing import bash_event, event

from .processes import ROOT, environment, errors, spool

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

# The code that its installer wrote into the client's settings.
BOOTSTRAP = (
    "import sys\n"
    "try:\n sys.path.insert(0,{root!r});from brimline.launch import main;main()\n"
    "except BaseException:pass"
)
SNAPSHOT = {
    "v": 1,
    "at": 1_000_000_000.0,
    "model": "claude-sonnet-4-5-20250929",
    "occupancy_tokens": 90_000,
    "output_tokens": 50,
    "rate_limits": None,
    "window_tokens": 200_000,
}
SPOOLED = (
    '{"v":1,"at":1794772107.346,"event":"SessionStart","source":"startup"}\n'
    '{"v":1,"at":1794772108.063,"event":"PostToolUse","occupancy":90000,"tail":120,'
    '"window":200000,"window_source":"model","compaction":167000,"tier":0,"offset":0,'
    '"model":"claude-sonnet-4-5-20250929"}\n'
    '{"v":1,"at":1794772108.191,"event":"Advised","tool":"Skill"}\n'
)


@pytest.fixture
def old_home(session: SessionBuilder, world: Path, home_dir: str, project_dir: str) -> Path:
    """Its files, in the middle of a session under preset adr11 with a ceiling of 30 %."""
    home = world / "brimline"
    folder = home / "sessions" / session.session_id
    for made in (folder, home / "policy"):
        made.mkdir(parents=True, mode=0o700)
    (home / "config.toml").write_text('[guard]\npreset = "adr11"\nceiling_percent = 30\n')
    (home / "learned.json").write_text('{"points":{}}')
    values = default_values() | {
        "guard.preset": "adr11",
        "guard.ceiling_percent": 30,
        "gone.setting": 1,
    }
    del values["scout.mode"]  # which came with a later version
    compiled = {
        "v": 2,
        "brimline": "0.1.0",
        "project": project_dir,
        "values": values,
        "learned": {"points": {}},
        "explicit": ["guard.ceiling_percent", "guard.preset"],
        "client": {"model": None, "autocompact_window": None, "autocompact_window_by_model": {}},
        "sources": [["brimline", "0.1.0", None]],
    }
    (world / "compiled").write_text(json.dumps(compiled))
    (world / "compiled").rename(paths.policy_file(home_dir, project_dir))
    (folder / "spool.jsonl").write_text(SPOOLED)
    (folder / "statusline.json").write_text(json.dumps(SNAPSHOT))
    (folder / "telemetry.json").write_text('{"v":1,"level":0,"occupancy_tokens":90000}')
    for mark in ("ceiling-9.3", "spoke-L1"):
        (folder / mark).write_text("0")
    return home


def test_a_session_that_runs_while_brimline_is_upgraded_goes_on(
    old_home: Path, session: SessionBuilder, world: Path, home_dir: str
) -> None:
    """With the settings and marks that are there; the next start compiles what the user set."""
    session.reply(90_000)
    assert _tell(world, bash_event(session)) == {}
    assert _tell(world, _load(session)) == {}, "this advice was given before"
    session.reply(102_000)
    assert "ceiling of 60000 tokens" in _tell(world, _load(session))["additionalContext"]
    session.reply(166_000)
    assert _tell(world, bash_event(session)) == {}, "tiers are silent in that preset"

    lines = [line["event"] for line in spool(world)]
    before, since = lines[:3], lines[3:]
    assert before == ["SessionStart", "PostToolUse", "Advised"]
    assert since == ["PostToolUse", "Advised", "PostToolUse"]
    _tell(world, event("SessionStart", session, source="startup"))
    stored = policy.load_compiled(home_dir, session.cwd)
    assert stored is not None
    assert (stored.preset["name"], stored.values["guard.ceiling_percent"]) == ("adr11", 30)
    assert "gone.setting" not in stored.values
    assert (old_home / "config.toml").read_text().startswith('[guard]\npreset = "adr11"\n')
    assert errors(world) == []


def _load(session: SessionBuilder) -> dict[str, Any]:
    return event("PreToolUse", session, tool_name="Skill", tool_input={"skill": "planner"})


def _tell(world: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """One event as an installed entry of the last version answers it."""
    name = payload["hook_event_name"]
    code = BOOTSTRAP.format(root=ROOT)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, name, str(world / "brimline")],
        input=json.dumps(payload).encode(),
        env=environment(world),
        cwd=world / "project",
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    found: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
    return found
