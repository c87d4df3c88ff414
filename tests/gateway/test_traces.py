"""What a session behind a gateway leaves: a line in its spool, and a figure in the status line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner
from tests.gateway.test_proxy import SESSION, bulky, raw_of
from tests.gateway.upstream import Gateway, Upstream

from brimline.cli.surface import program
from brimline.fast import paths
from brimline.hooks import statusline
from brimline.testing import SessionBuilder, statusline_event

if TYPE_CHECKING:
    from pathlib import Path

NAME = SESSION["X-Claude-Code-Session-Id"]


def test_status_line_status_and_history_say_what_was_kept_out(
    upstream: Upstream, world: Path, project_dir: str, home_dir: str
) -> None:
    """All three of the same request."""
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION)
    folder = paths.project_transcripts(project_dir)
    session = SessionBuilder(f"{folder}/{NAME}.jsonl", cwd=project_dir)
    session.prompt()
    session.reply(20_000)

    told = CliRunner().invoke(program, ["status", "--json", "--session", NAME]).stdout
    saved = json.loads(told)["gateway_saved_tokens"]
    event = statusline_event(session, window_tokens=200_000, occupancy_tokens=20_000) | {
        "session_id": NAME
    }
    line = statusline.respond(json.dumps(event).encode(), home_dir)
    cache = json.loads(CliRunner().invoke(program, ["history", "--cache", "--json"]).stdout)

    assert saved > 3_000
    assert b"gateway \xe2\x88\x92" in line
    assert cache["sessions"][0]["gateway_saved_tokens"] == saved
