"""What a session behind a gateway leaves: a line in its spool, and a figure in the status line."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.compaction.talks import flat
from tests.compaction.test_compactor import SUMMARY
from tests.gateway.test_proxy import LOG, SESSION, bulky, raw_of
from tests.gateway.upstream import ANSWER, USAGE, Answer, Gateway, Upstream

from brimline.bulk import contents, put, stub
from brimline.cli.surface import program
from brimline.compaction.stand_ins import StandIn
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.gateway import traces
from brimline.gateway.stickiness import Sent, Stickiness
from brimline.hooks import statusline
from brimline.state.forgotten import Asked
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
        [stub.first_reference_in(block.get("content", "")) for _, block in flat(arrived.body)]
        for arrived in upstream.arrived
    ]
    shared = told[0][2]
    assert shared is not None
    assert [one[2] for one in told] == [shared] * 5
    assert contents.read_content(home_dir, shared.key) == LOG.encode()
    assert told[1][4] is not None
    assert told[3][4] is None


def test_a_session_is_forgotten_though_the_file_of_stand_ins_is_damaged(home_dir: str) -> None:
    """Nobody can tell what that still holds, so it goes as a whole."""
    put.put(home_dir, LOG.encode(), {"session": "s1"})
    path = Path(paths.stand_ins_database(home_dir))
    path.parent.mkdir()
    path.write_bytes(b"no database" * 99)

    done = CliRunner().invoke(program, ["forget", "--session", "s1", "--yes"])

    assert done.exit_code == 0, done.output
    assert contents.list_blobs(home_dir) == []
    assert not path.exists()


def test_keys_that_are_still_sent_are_promised_to_all_sessions_but_one(
    home_dir: str,
) -> None:
    """Names that begin alike are others; while a gateway runs and when none does."""
    now = time.time()
    most_s = traces.SENT_FOR_S
    ages_s = {"s1/": 60, "s10/": 60, "s2/a": most_s - 60, "s3/": most_s + 60}
    assert traces.promised_keys(home_dir, "") == set()
    with contextlib.closing(Stickiness(home_dir, 0.0)) as sticky:
        for name, age_s in ages_s.items():
            sent = Sent("h", 1, "p", None, now - age_s)
            fresh = {"a": StandIn(2, {}, f"of {name}", 1.0), "b": StandIn(2, {}, "", 1.0)}
            sticky.record_request(name, sent, fresh)
        running = traces.promised_keys(home_dir, "s1")
    folder = Path(paths.stand_ins_database(home_dir)).parent

    assert running == traces.promised_keys(home_dir, "s1") == {"of s10/", "of s2/a"}
    assert traces.promised_keys(home_dir, "") == {"of s1/", "of s10/", "of s2/a"}
    assert len(list(folder.iterdir())) == 1


def test_a_damaged_file_stands_in_the_way_of_housekeeping_only(home_dir: str) -> None:
    """Which says what to do; one that is merely of another kind is not said to be damaged."""
    path = Path(paths.stand_ins_database(home_dir))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 99)

    assert traces.promised_keys(home_dir, "s1") == set()
    with pytest.raises(StoreError, match=r"nothing was removed: .*; delete it, and the next"):
        traces.promised_keys(home_dir, "")
    path.write_bytes(b"")
    for but in ("", "s1"):
        with pytest.raises(StoreError, match=r"cannot be read: no such table: stand_ins$"):
            traces.promised_keys(home_dir, but)


def test_a_forgotten_session_leaves_no_stand_in_and_no_word_of_it(home_dir: str) -> None:
    """Others keep theirs; a rehearsal leaves all."""
    assert traces.forget(home_dir, Asked(("s1",)), dry_run=False) == {}
    with contextlib.closing(Stickiness(home_dir, 0.0)) as sticky:
        for name in ("s1/", "s1/agent", "s10/"):
            fresh = {"a": StandIn(2, {"text": f"zanzibar {name}"}, "key", 1.0)}
            sticky.record_request(name, Sent("h", 1, "p", None, time.time()), fresh)
        assert traces.forget(home_dir, Asked(("s1",)), dry_run=True) == {}
        assert len(sticky.last_requests("s1/")) == 1
        assert traces.forget(home_dir, Asked(("s1", "s2")), dry_run=False) == {}
        left = [len(sticky.last_requests(name)) for name in ("s1/", "s1/agent", "s10/")]
        standing = [sticky.sent_stand_ins(["a"], name) for name in ("s1/", "s1/agent", "s10/")]

    held = Path(paths.stand_ins_database(home_dir)).read_bytes()
    assert left == [0, 0, 1]
    assert [len(each) for each in standing] == [0, 0, 1]
    assert held.count(b"zanzibar") == 1
