"""A home in which brimline was used for everything: a data folder with every file that we keep.

The world of the documentation's pages, and on top of it what they do not need: a purge and a
restore, a session that was forgotten, the search's index, the dashboard's, what a gateway left.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from tests import console_world
from tests.install import test_delete_data

from brimline.bulk import put
from brimline.carry import links
from brimline.cli import surface
from brimline.compaction.stand_ins import StandIn
from brimline.dashboard.index import Index
from brimline.fast import paths
from brimline.figures import archive, history, store
from brimline.gateway.stickiness import Sent, Stickiness
from brimline.hooks import statusline
from brimline.hooks.entry import open_turn, respond, tidy
from brimline.hooks.turn import log_failure
from brimline.state import learned
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, event

SESSION = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
OLDER = "7c1e90aa-0b52-4c1d-9e35-d2a6c0f3b411"
_GONE = "2b7de611-31f0-4b0e-8f4e-0d2a5b7c9e10"
_ONE_AFTER_THE_OTHER = """
config set store.max_mb 400
config set reminder.file ~/importer/CLAUDE.md
carry add --session 1f0c2d3e --decision "Feeds stay in one process: staging has one core."
budget add --session 1f0c2d3e --in active_task --text "Find the rows that are dropped." --pinned
memory add pool --type project --description "Where connections come from" "From one pool."
store pin last --level hard --reason "the build"
session purge --session 7c1e90aa --threshold 700 --keep-recent 0 --yes
session restore --session 7c1e90aa --yes
history
cost
memory index
forget --session 2b7de611 --yes
store search compiling
"""


def main(folder: Path) -> None:
    """Make it below a folder, whose environment this process already has."""
    now = time.time
    console_world.main(folder)
    home = paths.data_dir()
    _climb(console_world.Play(_GONE, Path.cwd(), hours_ago=30))
    time.time = now
    session = SessionBuilder(
        f"{paths.project_transcripts_dir(os.getcwd())}/{SESSION}.jsonl", SESSION, os.getcwd()
    )
    for line in _ONE_AFTER_THE_OTHER.strip().splitlines():
        done = run(shlex.split(line))
        assert done[0] == 0, (line, done)
    _announce(home, session)
    _left_by_a_gateway(home)
    for number in range(4):
        sample = learned.Sample(now(), OLDER, 200_000, 200_000, 166_000 + number, "auto")
        learned.record_sample(home, sample)
    log_failure(home, "Stop", ValueError("an error of its own"))
    put.put(home, b"what an older session stored", {"session": OLDER, "tool": "Bash"})
    _complete_marks(home)
    Index(home).refresh()
    with store.opened(home) as figures:
        archive.write_session_lines(home, list(history.known_sessions(figures)))
    start = json.dumps(event("SessionStart", session, source="resume")).encode()
    turn = open_turn("SessionStart", start, home)
    assert turn is not None
    tidy(turn, seconds=20.0)


def run(words: list[str]) -> tuple[int, str, str]:
    """A command in this process: its code and what it printed."""
    sys.argv = ["brimline", *words]
    sys.stdin = io.StringIO()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = surface.run()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def _climb(play: console_world.Play) -> None:
    """A session that is told of every tier, and refused a skill at last."""
    play.say("Read everything.")
    for tokens in (120_000, 145_000, 155_000, 163_000):
        play.tokens = tokens
        play.run(f"cat {tokens}", "short")
    limits = {"five_hour": {"used_percentage": 96.0, "resets_at": play.session.now + 900}}
    payload = _status_payload(play.session, limits)
    statusline.respond(payload, paths.data_dir())
    play.say("go on")
    play.end()


def _status_payload(session: SessionBuilder, limits: dict[str, Any]) -> bytes:
    from brimline.testing import statusline_event

    return json.dumps(
        statusline_event(session, 200_000, 163_000) | {"rate_limits": limits}
    ).encode()


def _announce(home: str, session: SessionBuilder) -> None:
    """Hooks that leave marks: the newer session is full by now, and asks for a skill."""
    limits = {"five_hour": {"used_percentage": 96.0, "resets_at": time.time() + 900}}
    statusline.respond(_status_payload(session, limits), home)
    asked = {"tool_name": "Skill", "tool_input": {"skill": "docs"}, "tool_use_id": "toolu_1"}
    for name, fields in (
        ("UserPromptSubmit", {"prompt": "go on"}),
        ("PreToolUse", asked),
        ("Stop", {}),
    ):
        respond(name, json.dumps(event(name, session, **fields)).encode(), home)


def _left_by_a_gateway(home: str) -> None:
    now = time.time()
    sticky = Stickiness(home, now)
    stand_in = StandIn(1, {"text": "[gone]"}, "", 5.0)
    sent = Sent("h" * 64, 4, "p" * 64, None, now)
    sticky.record_request(f"{SESSION}/main", sent, {"block": stand_in})
    sticky.close()
    state = SessionState(home, SESSION)
    state.spool_event("Gateway", {"saved": 900, "rewritten": 10, "broke": "edit"})
    Path(state.folder, "gateway-saved").write_text("900 121000")


def _complete_marks(home: str) -> None:
    """The small files that the page on the data folder names, as far as nobody left one."""
    links.note_session_of_client(home, str(os.getpid()), SESSION)
    Path(home, "memory", "home").write_text("0" * 32)
    Path(home, "memory", "confirmed").write_text("qdrant+http://a@127.0.0.1/c")
    Path(home, "store", "references.json").write_text('{"v":1,"files":{}}')
    for name in test_delete_data.documented():
        folder, _, file = name.replace("/s1/", f"/{SESSION}/").rpartition("/")
        mark = Path(home, folder, file)
        is_small = folder in (f"sessions/{SESSION}", "gateway") and "sqlite" not in file
        if is_small and file != "off" and not mark.exists():
            is_list = file.endswith(".jsonl")
            mark.write_text('{"v":1,"file":"1111111111111111"}\n' if is_list else "1")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
