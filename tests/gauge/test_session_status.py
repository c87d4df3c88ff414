"""What `status` reads of a session, and how it puts it into words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import policy
from brimline.gauge import session_status
from brimline.state.session import SessionState
from brimline.transcript.typed import measure

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def status(session: SessionBuilder, home_dir: str, path: str | None = None) -> dict[str, Any]:
    """The document on a session."""
    settings = policy.load(home_dir, session.cwd)
    path = path or session.path
    return session_status.status_document(path, measure(path), home_dir, settings)


def rows(document: dict[str, Any], purged: int = 0) -> dict[str, str]:
    """The rows of its text, by their headings."""
    shown = session_status.text(document, purged)
    found = {}
    for line in shown.split("\n")[1:]:
        if line.startswith("  ") and line[2] != " ":
            heading, _, value = line.strip().partition("  ")
            found[heading] = value.strip()
    return found


def test_a_status_has_what_file_and_session_tell(session: SessionBuilder, home_dir: str) -> None:
    """Compactions are counted; who is switched off is told so."""
    session.reply(160_000)
    session.compact(160_000)
    session.reply(40_000)
    before = status(session, home_dir)
    SessionState(home_dir, "session").switch_off_or_on(off=True)
    after = status(session, home_dir)

    told = ("occupancy_tokens", "compactions", "off", "gateway_saved_tokens")
    assert [before[name] for name in told] == [40_000, 1, False, None]
    assert [after[name] for name in told] == [40_000, 1, True, None]
    assert before["transcript"] == session.path


@pytest.mark.parametrize(
    ("purged", "end"),
    [
        (0, ""),
        (1, "\nMeasured before a purge, which took out ~1 tokens."),
        (1_200, "\nMeasured before a purge, which took out ~1,200 tokens."),
    ],
)
def test_what_was_taken_out_since_is_told_last(
    session: SessionBuilder, home_dir: str, purged: int, end: str
) -> None:
    """Where it was anything."""
    session.reply(40_000)
    document = status(session, home_dir)

    assert session_status.text(document, purged) == session_status.text(document) + end
    assert session_status.text(document).startswith(f"Session {session.session_id}\n")


def test_what_else_is_known_of_a_session_has_a_row(session: SessionBuilder, home_dir: str) -> None:
    """The switch first; compactions only of a session that was measured."""
    session.reply(40_000)
    document = status(session, home_dir) | {"off": True, "gateway_saved_tokens": 7_000}

    shown = rows(document)

    assert next(iter(shown)) == "brimline"
    assert shown["brimline"] == "off in this session"
    assert shown["gateway"] == "7,000 tokens kept out of the last request"
    assert shown["compactions"] == "0 so far"
    assert shown["tune"].startswith("brimline config explain guard.tiers")
    plain = rows(document | {"off": False, "gateway_saved_tokens": 0})
    assert not {"brimline", "gateway"} & set(plain)
    unknown = rows(document | {"occupancy_tokens": None})
    assert not {"compactions", "tune"} & set(unknown)
