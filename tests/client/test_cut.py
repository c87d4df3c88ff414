"""Results that the client has left out of its requests by itself, and a compaction of ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.testing import STAND_IN

from .modded import FULL, calls_of, read_all, recalled, write_files
from .stub_api import filled, text
from .test_mod_compaction import PROMPT

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi


def cut(transcript: Path | None, calls: list[str]) -> None:
    """Write the row by which the client leaves results out, as it does after a pause."""
    assert transcript
    rows = [json.loads(line) for line in transcript.read_text().splitlines()]
    last = [row for row in rows if row.get("uuid") and row["type"] in ("user", "assistant")][-1]
    named = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "entrypoint")
    told = {"type": "tool_results_cut", "callIds": calls, "standIn": STAND_IN, "roughTokens": 9_000}
    made = {name: last[name] for name in named if name in last}
    made |= {"parentUuid": last["uuid"], "uuid": "aaaaaaaa-0000-4000-8000-000000000001"}
    made |= {"type": "attachment", "timestamp": last["timestamp"], "attachment": told}
    with transcript.open("a") as file:
        file.write(json.dumps(made) + "\n")


def results(request: Request) -> dict[str, str]:
    """The texts of results by call."""
    return {
        block["tool_use_id"]: json.dumps(block["content"])
        for block in request.blocks("tool_result")
    }


@pytest.mark.parametrize("way", ["at the brim", "asked for"])
def test_a_compaction_never_makes_what_the_client_has_cut_large_again(
    way: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """A rebuilt row is sent whole, whatever the client cut before: so each gets a line with a key.

    Here the newest results were cut, which our own rule would keep.
    """
    turn = read_all(write_files(client, 60))
    stub.script(turn, text("END", filled(60_000)))
    run = client.run_print(PROMPT)
    calls = calls_of(turn)
    cut(run.transcript, calls[-20:])
    resume = ["--resume", run.session_id]

    stub.script(text("one", filled(50_000)))
    before = client.run_print("one", args=resume).main[-1]
    assert sum(STAND_IN in result for result in results(before).values()) >= 19
    if way == "asked for":
        assert client.run_print("/compact", args=resume).kinds == []
        stub.script(text("two", filled(50_000)))
    else:
        client.write_settings({"autoCompactWindow": 100_000})
        stub.script(read_all(write_files(client, 1, first=70), FULL), text("two"))
    run = client.run_print("two", args=resume)

    assert set(run.kinds) == {"main"}
    after = run.main[-1]
    found = results(after)
    assert not any(STAND_IN in result for result in found.values())
    assert all("[brimline: Read " in found[call] for call in calls[-20:])
    assert recalled(installed, json.loads(found[calls[-1]])).count("value 59 of the table") > 100
    assert len(json.dumps(after.body["messages"])) < len(json.dumps(before.body["messages"]))
    assert installed.errors() == ""
