"""Proves the harness itself: the script reaches the real client, its doings reach the test."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from .conftest import require
from .fetch import Fetched, fetch
from .harness import API_KEY, Client
from .stub_api import (
    COMPACTION_PROMPT,
    Kind,
    StubApi,
    bash,
    classify,
    held,
    text,
)

if TYPE_CHECKING:
    from pathlib import Path


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
