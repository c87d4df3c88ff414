"""The document behind `history --cache`, and its text: what was cached, and what broke that."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.fast import clock
from brimline.figures import totals
from brimline.figures.spool import read_spooled_events
from brimline.transcript import caching, find
from brimline.transcript.typed import measure

if TYPE_CHECKING:
    from collections.abc import Callable

_RECENT_SESSIONS = 20
_SHORT_ID = 8
_LAST_BREAKS = 30


def transcripts_to_read(session_id: str | None) -> list[str]:
    """The file of the session that is named, else those of the newest.

    Raises:
        SessionError: there is no such session, or it cannot be read.
    """
    if session_id is not None:
        return [find.checked_transcript(find.transcript_named(session_id))]
    return find.all_transcripts()[:_RECENT_SESSIONS]


def document(
    home_dir: str, transcripts: list[str], progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """The figures of some sessions, without such as cannot be read."""
    sessions = []
    for path in transcripts:
        with contextlib.suppress(OSError):  # the others are shown
            sessions.append(_cache_figures_of_session(home_dir, path, progress))
    return {"sessions": [session for session in sessions if session["requests"]]}


def _cache_figures_of_session(
    home_dir: str, path: str, progress: Callable[[int], None] | None
) -> dict[str, Any]:
    name = find.session_id_of(path)
    lines = read_spooled_events(home_dir, name)
    requests = measure(path, progress, attachments=True).requests
    cache = caching.caching_of(requests, totals.gateway_edit_reason_by_time(lines))
    saved, rewritten = totals.most_saved_and_all_rewritten(lines)
    return {
        "session_id": name,
        **output.pick_attrs(cache, "requests read_tokens written_tokens causes"),
        "breaks": [
            {"at": clock.format_utc(each.at), "tokens": each.tokens, "cause": each.cause}
            for each in cache.breaks
        ],
        "gateway_saved_tokens": saved,
        "gateway_rewritten_tokens": rewritten,
    }


def text(document: dict[str, Any], *, in_full: bool) -> str:
    """The figures for a person; of one session with each of its breaks."""
    sessions = document["sessions"]
    if not sessions:
        return "No session with usage is known."
    head = ["session", "requests", "read", "written", "breaks", "by"]
    rows = [
        [
            session["session_id"][:_SHORT_ID],
            str(session["requests"]),
            f"{session['read_tokens']:,}",
            f"{session['written_tokens']:,}",
            str(len(session["breaks"])),
            ", ".join(f"{count} {cause}" for cause, count in session["causes"].items()),
        ]
        for session in sessions
    ]
    parts = [
        "Tokens read from the prompt cache and written into it; breaks of its prefix",
        output.table_text(head, rows, right={1, 2, 3, 4}),
    ]
    for session in sessions if in_full else ():
        parts += _cache_break_lines(session)
    return "\n".join(parts)


def _cache_break_lines(session: dict[str, Any]) -> list[str]:
    lines = [
        f"  {output.utc_minute_text(one['at'])}  {one['tokens']:>9,} written again: {one['cause']}"
        for one in session["breaks"][-_LAST_BREAKS:]
    ]
    if session["gateway_saved_tokens"]:
        lines.append(
            f"The gateway kept up to {session['gateway_saved_tokens']:,} tokens out of a request, "
            f"and had {session['gateway_rewritten_tokens']:,} written again."
        )
    return lines
