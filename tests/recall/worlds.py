"""Sessions where the client keeps them."""

from __future__ import annotations

from brimline.fast import paths
from brimline.testing import SessionBuilder, text_block

SESSION = "0a1b2c3d-0000-4000-8000-000000000001"
QUESTION = "Why did we drop the session store? Use signed cookies from now on."
ANSWER = "The store needed a server of its own; cookies need none."


def recorded(project_dir: str, session_id: str = SESSION, **settings: object) -> SessionBuilder:
    """A session in the client's folder of a project."""
    path = f"{paths.project_transcripts_dir(project_dir)}/{session_id}.jsonl"
    # Rows of different sessions have different names.
    counter = int(session_id[-4:], 16) * 1_000
    return SessionBuilder(path, session_id, project_dir, counter=counter, **settings)  # type: ignore[arg-type]


def talked(project_dir: str, session_id: str = SESSION, **settings: object) -> SessionBuilder:
    """One in which something was said: a question, a look at a file, an answer, a summary."""
    session = recorded(project_dir, session_id, **settings)
    session.prompt(QUESTION)
    session.reply(5_000, text_block("Let me look at the middleware first."))
    call = session.tool_call(5_000, command="cat middleware.py")
    session.tool_result(call, "quibbling output of a tool")
    session.reply(6_000, text_block(ANSWER))
    session.prompt("And the deadline? My token is ghp_abcdefghijklmnopqrst0123.")
    session.reply(7_000, text_block("Thursday, for the release candidate."))
    session.compact(150_000, summary="Summary: the cookies are signed with the rotating pepper.")
    return session
