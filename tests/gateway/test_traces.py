"""What a session behind a gateway leaves: a line in its spool, and a figure in the status line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tests.compaction.talks import flat
from tests.compaction.test_compactor import SUMMARY
from tests.gateway.test_proxy import LOG, SESSION, bulky, raw_of
from tests.gateway.upstream import ANSWER, USAGE, Answer, Gateway, Upstream

from brimline.cli.surface import program
from brimline.fast import paths
from brimline.hooks import statusline
from brimline.store import contents, put, stub
from brimline.testing import SessionBuilder, statusline_event

NAME = SESSION["X-Claude-Code-Session-Id"]


def test_status_line_status_and_history_say_what_was_kept_out(
    upstream: Upstream, world: Path, project_dir: str, home_dir: str
) -> None:
    """All three of the same request; after another one, history alone."""
    tokens = sum(USAGE.values())
    summed = bulky()
    summed.messages.append({"role": "user", "content": [{"type": "text", "text": SUMMARY}]})
    few = json.dumps(ANSWER | {"usage": {"input_tokens": 9}}).encode()
    upstream.answers = [Answer(), Answer(body=few)]
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION)
        gateway.ask(raw_of(summed), SESSION)
    folder = paths.project_transcripts_dir(project_dir)
    session = SessionBuilder(f"{folder}/{NAME}.jsonl", cwd=project_dir)
    session.prompt()
    session.reply(tokens)

    def told(*words: str) -> Any:
        return json.loads(CliRunner().invoke(program, [*words, "--json"]).stdout)

    def line(occupancy: int) -> bytes:
        event = statusline_event(session, window_tokens=200_000, occupancy_tokens=occupancy)
        return statusline.respond(json.dumps(event | {"session_id": NAME}).encode(), home_dir)

    saved = told("status", "--session", NAME)["gateway_saved_tokens"]
    assert saved > 3_000
    assert b"gateway \xe2\x88\x92" in line(tokens)
    assert told("history", "--cache")["sessions"][0]["gateway_saved_tokens"] == saved
    session.reply(20_000)  # without a gateway, or after a compaction
    assert b"gateway" not in line(20_000)
    assert told("status", "--session", NAME)["gateway_saved_tokens"] is None
    assert told("history")["kept_out"]["gateway_tokens"] == saved
    text = CliRunner().invoke(program, ["history"]).stdout
    assert f"by the gateway up to {saved:,} tokens of a request" in " ".join(text.split())


def test_a_forgotten_session_takes_nothing_from_others_and_sends_no_key_of_its_own(
    upstream: Upstream, home_dir: str
) -> None:
    """A gateway that runs notices; what a fork still needs stays in the store."""
    own = bulky()
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(own), {"X-Claude-Code-Session-Id": "s1"})
        own.step("Bash", {"command": "journalctl -u mail"}, f"{LOG}\nof its own")
        gateway.ask(raw_of(own), {"X-Claude-Code-Session-Id": "s1"})
        gateway.ask(raw_of(bulky(1)), {"X-Claude-Code-Session-Id": "s10"})
        CliRunner().invoke(program, ["forget", "--session", "s1", "--yes"])
        own.idle(1)
        gateway.ask(raw_of(own), {"X-Claude-Code-Session-Id": "s1"})
        gateway.ask(raw_of(bulky(2)), {"X-Claude-Code-Session-Id": "s10"})

    told = [
        [stub.parse_reference(block.get("content", "")) for _, block in flat(arrived.body)]
        for arrived in upstream.arrived
    ]
    shared = told[0][2]
    assert shared is not None
    assert [one[2] for one in told] == [shared] * 5
    assert contents.get(home_dir, shared.key) == LOG.encode()
    assert told[1][4] is not None
    assert told[3][4] is None


def test_a_session_is_forgotten_though_the_file_of_stand_ins_is_damaged(home_dir: str) -> None:
    """Nobody can tell what that still holds, so it goes as a whole."""
    put.put(home_dir, LOG.encode(), {"session": "s1"})
    path = Path(paths.gateway_file(home_dir))
    path.parent.mkdir()
    path.write_bytes(b"no database" * 99)

    done = CliRunner().invoke(program, ["forget", "--session", "s1", "--yes"])

    assert done.exit_code == 0, done.output
    assert contents.blobs(home_dir) == []
    assert not path.exists()
