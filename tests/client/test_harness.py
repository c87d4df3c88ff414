"""Proves the harness itself: the script reaches the real client, its doings reach the test."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from .conftest import require
from .fetch import Fetched, cache_dir, fetch
from .harness import API_KEY, Client
from .stub_api import (
    COMPACTION_PROMPT,
    Kind,
    StubApi,
    bash,
    classify,
    filled,
    held,
    text,
    too_long,
    tool,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_printed_run_executes_the_scripted_tool_call(client: Client, stub: StubApi) -> None:
    """A scripted Bash call runs for real and its output comes back as a tool_result."""
    stub.script(bash("echo forty-$((40 + 2))"), text("ALL-DONE"))

    run = client.run_print("go")

    assert run.rc == 0
    assert run.result is not None
    assert run.result["result"] == "ALL-DONE"
    (result,) = run.requests[-1].blocks("tool_result")
    assert "forty-42" in result["content"]
    assert [r.kind for r in run.requests] == ["main", "main"]


def test_scripted_usage_is_what_the_transcript_records(client: Client, stub: StubApi) -> None:
    """Occupancy is driven by the stub: each assistant row carries the usage of its turn."""
    wanted = [filled(50_000), filled(120_000)]
    stub.script(bash("true", wanted[0]), text("end", wanted[1]))

    rows = client.run_print("go").rows

    recorded = [row["message"]["usage"] for row in rows if row["type"] == "assistant"]
    assert [usage["cache_read_input_tokens"] for usage in recorded] == [
        usage.cache_read_input_tokens for usage in wanted
    ]
    assert [usage.occupancy_tokens for usage in wanted] == [50_000, 120_000]


def test_a_prompt_too_long_is_compacted_and_retried(client: Client, stub: StubApi) -> None:
    """After the API's 400 the client asks for a summary, then repeats the request with it."""
    stub.script(bash("echo one"), bash("echo two"), too_long(210_000, 200_000), text("AFTER"))

    run = client.run_print("go")

    assert [r.kind for r in run.requests] == ["main", "main", "main", "compaction", "main"]
    assert "STUB-SUMMARY" in run.requests[-1].seen_text()
    assert "compact_boundary" in [row.get("subtype") for row in run.rows]
    assert run.result is not None
    assert run.result["result"] == "AFTER"


def test_a_subagent_follows_its_own_script(client: Client, stub: StubApi) -> None:
    """Subagent requests are told apart by their header and leave the main script alone."""
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(tool("Agent", {**task, "run_in_background": False}), text("MAIN-END"))
    stub.script_subagents(text("FROM-THE-AGENT"))

    run = client.run_print("go")

    assert [r.kind for r in run.requests] == ["main", "subagent", "main"]
    assert [r.agent_id is not None for r in run.requests] == [False, True, False]
    assert "FROM-THE-AGENT" in run.requests[-1].seen_text()


def test_settings_of_a_run_reach_the_client(client: Client, stub: StubApi) -> None:
    """A hook configured through `settings` fires and its words reach the model."""
    hook = {"type": "command", "command": "echo WORDS-OF-A-HOOK"}
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}

    run = client.run_print("go", settings=settings)

    assert "WORDS-OF-A-HOOK" in run.requests[0].seen_text()


def test_a_live_session_starts_at_its_input_box_and_replies(client: Client, stub: StubApi) -> None:
    """No dialog stands between the start and the prompt, and a typed line gets its answer."""
    stub.script(text("HELLO-FROM-THE-STUB"))

    with client.interactive() as session:
        session.ready()
        session.send_line("hello there")
        screen = session.wait_for("HELLO-FROM-THE-STUB")

    assert "hello there" in screen


def test_a_live_session_compacts_on_command(client: Client, stub: StubApi) -> None:
    """`/compact` makes the compaction request, whose summary stays out of the scripted turns."""
    stub.script(bash("echo one"), text("FIRST-REPLY"), text("SECOND-REPLY"))

    with client.interactive() as session:
        session.ready()
        session.send_line("begin")
        session.wait_for("FIRST-REPLY")
        session.send_line("/compact")
        session.wait_until(lambda: len(stub.requests("compaction")) == 1)
        session.wait_for("Compacted")

    assert stub.pending == 1


def test_a_tool_runs_before_its_reply_is_recorded(client: Client, stub: StubApi) -> None:
    """While a reply still streams, its tool call runs and the transcript lacks its row."""
    done, gate = client.project / "done", threading.Event()
    stub.script(held(bash(f"touch {done}"), gate), text("STREAM-ENDED"))

    with client.interactive() as session:
        session.ready()
        session.send_line("begin")
        session.wait_until(done.exists)
        (transcript,) = client.transcripts()
        while_streaming = transcript.read_text(encoding="utf-8")
        gate.set()
        session.wait_for("STREAM-ENDED")

    assert '"type":"assistant"' not in while_streaming
    assert '"type":"assistant"' in transcript.read_text(encoding="utf-8")


def test_nothing_of_our_environment_reaches_the_client(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's environment is built from nothing: no home, no key, no switch of ours."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "never")
    monkeypatch.setenv("CLAUDE_CODE_ANYTHING", "never")

    env = client.env({"EXTRA": "1"})

    assert "never" not in env.values()
    assert env["ANTHROPIC_API_KEY"] == API_KEY
    assert env["EXTRA"] == "1"
    assert env["HOME"] == str(client.home)


_COMPACTING = [
    {"role": "user", "content": [{"type": "text", "text": f"{COMPACTION_PROMPT}."}]},
    {"role": "system", "content": "tokens left"},
]
_COMPACTED = [*_COMPACTING, {"role": "assistant", "content": "summary"}]


@pytest.mark.parametrize(
    ("path", "headers", "body", "kind"),
    [
        ("/v1/messages?beta=true", {}, {"tools": [{}], "messages": [{"content": "x"}]}, "main"),
        ("/v1/messages", {}, {"tools": [], "messages": [{"content": "title"}]}, "helper"),
        ("/v1/messages", {"x-claude-code-agent-id": "a"}, {"tools": [{}]}, "subagent"),
        ("/v1/messages/count_tokens?beta=true", {}, {"tools": [{}]}, "count_tokens"),
        ("/v1/messages", {}, {"tools": [{}], "messages": _COMPACTING}, "compaction"),
        ("/v1/messages", {}, {"tools": [{}], "messages": _COMPACTED}, "main"),
    ],
)
def test_requests_are_told_apart(
    path: str, headers: dict[str, str], body: dict[str, object], kind: Kind
) -> None:
    """Each kind of request is recognised by the marks the client leaves."""
    assert classify(path, headers, body) == kind


def test_without_npm_and_cache_there_is_a_reason_instead_of_a_binary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that cannot fetch the client is told so in one sentence."""
    monkeypatch.setenv("PATH", str(tmp_path))

    fetched = fetch(tmp_path / "cache")

    assert fetched.binary is None
    assert "npm is not on PATH" in fetched.reason


def test_a_missing_client_skips_but_fails_on_ci() -> None:
    """Only CI insists on the client."""
    missing = Fetched(None, "no npm")

    with pytest.raises(pytest.skip.Exception, match="no npm"):
        require(missing, {})
    with pytest.raises(pytest.fail.Exception, match="no npm"):
        require(missing, {"CI": "true"})


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"BRIMLINE_CLIENT_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/brimline-client"),
        ({"HOME": "/h"}, "/h/.cache/brimline-client"),
    ],
)
def test_the_cache_folder_follows_the_environment(environ: dict[str, str], expected: str) -> None:
    """Our own variable wins over the user's cache folder."""
    assert str(cache_dir(environ)) == expected
