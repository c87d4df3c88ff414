"""Whatever arrives, the client gets one JSON document or nothing, and only our folder changes."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.transcript.generated import json_values, mutated_transcripts, transcripts

from brimline.hooks import statusline, table
from brimline.hooks.entry import respond
from brimline.hooks.turn import log_failure
from brimline.state import logs
from brimline.testing import SessionBuilder, bash_event, statusline_event

from .processes import inventory

EVENTS = tuple(table.EVENTS)
names = st.sampled_from([*EVENTS, "statusline", "", "Nonsense"])
thorough = settings(
    max_examples=200,
    # Shrinking writes the same files over and over; the failing input itself says enough.
    phases=[Phase.explicit, Phase.generate],
)
foreign = st.one_of(
    json_values,
    st.sampled_from(["../../up", "/", "~", "a\0b", "\ud800", "x" * 5_000, "/dev/zero", ".", {}]),
)
FIELDS = (
    *("session_id", "transcript_path", "cwd", "prompt", "tool_name", "tool_input", "tool_response"),
    *("agent_id", "trigger", "source", "model", "workspace", "context_window", "rate_limits"),
    "compact_summary",
)
wrong_events = st.one_of(
    st.dictionaries(st.sampled_from(FIELDS), foreign),
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), foreign),
    json_values,
)


@given(name=names, document=wrong_events, changes=st.dictionaries(st.sampled_from(FIELDS), foreign))
@thorough
def test_events_of_the_wrong_shape_are_answered_in_shape(
    name: str, document: Any, changes: dict[str, Any], session: SessionBuilder, world: Path
) -> None:
    """Invented documents, ones that say nothing, and real ones with fields of any kind."""
    if not os.path.exists(session.path):
        session.reply(160_000)
    for payload in ({}, document, bash_event(session, **changes)):
        _check(name, _entry(name, json.dumps(payload).encode(), world))


@pytest.mark.row("S0-26")
@given(data=transcripts() | mutated_transcripts() | st.binary(max_size=100), name=names)
@thorough
def test_damaged_transcripts_are_answered_in_shape(
    data: bytes, name: str, session: SessionBuilder, world: Path
) -> None:
    """The file changes under the hooks of one session, call after call, and no hook even fails."""
    Path(session.path).write_bytes(data)
    payload = (
        statusline_event(session, 200_000, None) if name == "statusline" else bash_event(session)
    )

    _check(name, _entry(name, json.dumps(payload).encode(), world))

    assert logs.recent_failures(str(world / "brimline"), 0) == []


def _entry(name: str, raw: bytes, world: Path) -> bytes:
    """What `entry.main` does, short of ending the process; and nothing else may have changed."""
    home_dir = str(world / "brimline")
    before = _outside(world)
    try:
        is_line = name == "statusline"
        answer = (statusline.respond if is_line else partial(respond, name))(raw, home_dir)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        log_failure(home_dir, name, error)
        answer = b""
    assert _outside(world) == before
    return answer


def _check(name: str, answer: bytes) -> None:
    """One line for the screen, or one JSON document for the client, or nothing."""
    if name == "statusline":
        assert answer == b"" or (answer.decode().count("\n") == 1 and answer.endswith(b"\n"))
    elif name == "PreCompact":
        assert len(answer.decode()) <= 9_000  # plain text, for the summary
    elif answer:
        document = json.loads(answer)
        assert document["hookSpecificOutput"]["hookEventName"] == name
        assert len(document["hookSpecificOutput"]["additionalContext"]) < 9_000


def _outside(world: Path) -> dict[str, tuple[int, bytes | None]]:
    return inventory(world, without=world / "brimline")
