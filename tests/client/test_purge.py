"""A purged session in the real client: it resumes, and the model sees references and the rest."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from .harness import read_rows
from .stub_api import bash, filled, measured, text, too_long, tool
from .test_mcp import Registered

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi

_NOT_IN_USE_S = 60
_MEASURED_TOKENS = 60_000


@pytest.fixture
def recorded(client: Client, stub: StubApi, installed: Installed) -> Path:
    """A session of two turns: large outputs, a file read twice, an edit, and a small last call."""
    # What is kept out from the beginning need not be purged.
    done = installed.command("config", "set", "offload.preset", "off")
    assert done.returncode == 0, done.stderr
    big = client.project / "big.py"
    big.write_text("".join(f"value_{n} = {n}\n" for n in range(1_500)), encoding="utf-8")
    small = client.project / "small.py"
    small.write_text("x = 1\n", encoding="utf-8")
    stub.script(
        bash("seq 1 3000"),
        tool("Read", {"file_path": str(big)}),
        tool("Read", {"file_path": str(small)}),
        tool("Edit", {"file_path": str(small), "old_string": "x = 1", "new_string": "x = 2"}),
        tool("Write", {"file_path": str(client.project / "new.py"), "content": "y = 1\n" * 400}),
        tool("Read", {"file_path": str(big)}),
        text("first done"),
    )
    first = client.run_print("go")
    assert first.transcript
    stub.script(bash("seq 5000 7000"), text("second done", filled(_MEASURED_TOKENS)))
    client.run_print("more", args=["--resume", first.transcript.stem])
    rest(first.transcript)
    return first.transcript


def rest(transcript: Path) -> None:
    """Make a session look as if nobody had written to it for a while."""
    moment = time.time() - _NOT_IN_USE_S
    os.utime(transcript, (moment, moment))


def resumed(client: Client, stub: StubApi, transcript: Path) -> Request:
    """What the client sends when the session goes on."""
    stub.script(text("gone on", filled(_MEASURED_TOKENS)))
    run = client.run_print("go on", args=["--resume", transcript.stem])
    assert run.rc == 0, run.stderr
    return run.main[-1]


def run_json(installed: Installed, *arguments: str) -> dict[str, Any]:
    """A command's JSON."""
    done = installed.command(*arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.row("S2-29", "S3-41", "S3-55")
def test_a_purged_session_resumes_with_references_and_a_restored_one_without(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """Old results are references, recent and small ones whole, pairs kept; then all as it was.

    The model that asks for the key in a reference gets what the purge took out.
    """
    before = resumed(client, stub, recorded).results()
    rest(recorded)
    original = recorded.read_bytes()

    told = run_json(installed, "session", "purge", str(recorded), "--keep-recent", "3", "--yes")
    purged = recorded.read_bytes()
    key = re.findall(r"recall (sha256:[0-9a-f]{12})", purged.decode())[0]
    recall = tool("mcp__brimline__recall", {"key": key, "lines": "1:40"})
    stub.script(*[replace(turn, usage={}) for turn in (recall, text("gone on"))])
    args = ["--resume", recorded.stem, "--mcp-config", str(Registered(client).config)]
    request, with_answer = client.run_print("go on", args=args).main

    after = request.results()
    assert told["applied"] is True
    assert len(after) == len(before) == 7
    assert after[0].startswith(f"[brimline: Bash seq 1 3000: 13,892 bytes, recall {key}]")
    assert after[-1] == before[-1]
    assert after[-1].startswith("5000\n5001")
    calls = [block["id"] for block in request.blocks("tool_use")]
    assert calls == [block["tool_use_id"] for block in request.blocks("tool_result")]
    said = sum(len(text) for text in before) - sum(len(text) for text in after)
    # Estimated, and on the scale of what the client measured.
    assert said / 2.85 / 2 < told["context_tokens_saved_estimated"] < _MEASURED_TOKENS
    # The key in the line leads to what the tool had printed, byte for byte.
    got = installed.command("store", "get", key)
    assert got.stdout == "\n".join(str(n) for n in range(1, 3001)).encode()
    assert "\n39\n40" in with_answer.results()[-1]

    appended = recorded.read_bytes().removeprefix(purged)
    rest(recorded)
    run_json(installed, "session", "restore", str(recorded), "--yes")
    assert recorded.read_bytes() == original + appended
    told = run_json(installed, "session", "inspect", str(recorded))
    whole = resumed(client, stub, recorded)
    assert whole.results()[: len(before)] == before
    # The last request had measured the purged session; lines of numbers are estimated too low.
    came_back = measured(whole.body) - measured(with_answer.body)
    assert told["resume_tokens_estimated"] == pytest.approx(
        measured(whole.body), abs=came_back * 0.4
    )


@pytest.mark.row("S2-18")
def test_purged_whole_it_goes_on_in_the_terminal_and_a_compaction_is_left_alone(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """Without the client's own copies there is less to see, but nothing breaks.

    What stands before a boundary stays, and what it preserved stays in the request.
    """
    purge = ["session", "purge", str(recorded), "--keep-recent", "0", "--yes"]
    run_json(installed, *purge)
    copies = [row["toolUseResult"] for row in read_rows(recorded) if "toolUseResult" in row]
    assert all(len(json.dumps(copy)) < 300 for copy in copies)
    stub.script(bash("seq 1 2400"), text("third done"))
    stub.script(bash("seq 1 2500"), too_long(210_000, 200_000), text("all compacted"))
    with client.interactive(args=["--resume", recorded.stem]) as session:
        session.ready()
        assert "Update(small.py)" in session.wait_for("second done")
        session.say("once more", "third done")
        session.say("fill it", "all compacted")
    rest(recorded)
    before = resumed(client, stub, recorded)
    rest(recorded)

    told = run_json(installed, *purge)
    after = resumed(client, stub, recorded)

    assert told["context_tokens_saved_estimated"] == 0
    assert told["strategies"]["old"]["items"] == 0
    assert after.results() == before.results()
    assert "STUB-SUMMARY" in after.seen_text()
