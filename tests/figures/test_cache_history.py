"""`history --cache`: what sessions read and wrote, and what broke their prefix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import SessionError
from brimline.figures import cache_history
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from pathlib import Path


def reply(session: SessionBuilder, read: int, written: int) -> None:
    """A reply with a usage of its own."""
    usage = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    message = {"id": f"m{session.now}", "model": "m", "usage": usage, "content": []}
    session.row("assistant", message=message)


def test_each_session_has_its_figures_and_those_of_the_gateway(
    session: SessionBuilder, home_dir: str, tmp_path: Path
) -> None:
    """One without requests, and one that is gone, is left out."""
    reply(session, 0, 50_000)
    reply(session, 0, 51_000)
    state = SessionState(home_dir, os.path.basename(session.path).removesuffix(".jsonl"))
    state.spool_event("Gateway", {"saved": 700, "rewritten": 30})
    state.spool_event("Gateway", {"saved": 900, "rewritten": 12})
    empty = SessionBuilder(str(tmp_path / "empty.jsonl"))
    empty.prompt()
    sizes: list[int] = []

    paths = [session.path, empty.path, str(tmp_path / "gone.jsonl")]
    document = cache_history.document(home_dir, paths, sizes.append)

    (found,) = document["sessions"]
    (broken,) = found.pop("breaks")
    assert found == {
        "session_id": state.session_id,
        "requests": 2,
        "read_tokens": 0,
        "written_tokens": 101_000,
        "causes": {"unknown": 1},
        "gateway_saved_tokens": 900,
        "gateway_rewritten_tokens": 42,
    }
    assert (broken["tokens"], broken["cause"]) == (50_000, "unknown")
    assert broken["at"].endswith("Z")
    assert sum(sizes) == os.path.getsize(session.path) + os.path.getsize(empty.path)


def one(**changes: Any) -> dict[str, Any]:
    """A session of the document."""
    breaks = [
        {"at": "2026-01-08T15:49:03.000Z", "tokens": 50_000 + n, "cause": f"c{n}"}
        for n in range(31)
    ]
    return {
        "session_id": "0123456789",
        "requests": 7,
        "read_tokens": 1_000,
        "written_tokens": 2_000,
        "causes": {"expired": 2, "unknown": 1},
        "breaks": breaks,
        "gateway_saved_tokens": None,
        "gateway_rewritten_tokens": 0,
    } | changes


def test_the_text_has_a_row_for_each_session_and_the_last_breaks_of_one() -> None:
    """Thirty of them, in full only; what a gateway did is told where there was one."""
    short = cache_history.text({"sessions": [one()]}, in_full=False).split("\n")
    assert short[1:] == [
        "session   requests   read  written  breaks  by",
        "01234567         7  1,000    2,000      31  2 expired, 1 unknown",
    ]
    full = cache_history.text({"sessions": [one()]}, in_full=True).split("\n")
    assert full[: len(short)] == short
    assert len(full) - len(short) == 30
    assert full[-1] == "  2026-01-08 15:49Z     50,030 written again: c30"
    saved = one(gateway_saved_tokens=900, gateway_rewritten_tokens=42)
    told = cache_history.text({"sessions": [saved]}, in_full=True).split("\n")[-1]
    assert told == ("The gateway kept up to 900 tokens out of a request, and had 42 written again.")
    assert cache_history.text({"sessions": []}, in_full=True) == "No session with usage is known."


def test_the_newest_twenty_sessions_are_shown_or_the_one_that_is_named(
    world: Path, tmp_path: Path
) -> None:
    """What is not a session is refused."""
    folder = world / "home" / ".claude" / "projects" / "p"
    for number in range(22):
        built = SessionBuilder(str(folder / f"{number:02}.jsonl"))
        built.prompt()
        os.utime(built.path, (number, number))

    names = [os.path.basename(path) for path in cache_history.transcripts_to_read(None)]
    assert names == [f"{number:02}.jsonl" for number in range(21, 1, -1)]
    assert cache_history.transcripts_to_read("05") == [str(folder / "05.jsonl")]
    (tmp_path / "x.jsonl").write_text("no row\n", encoding="utf-8")
    with pytest.raises(SessionError, match="is not a session"):
        cache_history.transcripts_to_read(str(tmp_path / "x.jsonl"))


def test_figures_stand_to_the_right() -> None:
    """And the session and the reasons to the left."""
    few = one(session_id="b", requests=12, read_tokens=20, written_tokens=3, breaks=[], causes={})

    text = cache_history.text({"sessions": [one(), few]}, in_full=False).split("\n")

    assert text[1:] == [
        "session   requests   read  written  breaks  by",
        "01234567         7  1,000    2,000      31  2 expired, 1 unknown",
        "b               12     20        3       0",
    ]
