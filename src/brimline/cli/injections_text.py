"""`brimline history --injections`: what is put into windows beside the conversation."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from brimline import output
from brimline.errors import SessionError
from brimline.gauge.composition import Injection
from brimline.session import inspect
from brimline.transcript import find

_RECENT_SESSIONS = 20


def show(session_id: str | None, *, as_json: bool) -> None:
    """Print the injections of one session, or of the latest ones."""
    files = [find.by_id(session_id)] if session_id is not None else None
    output.answer(read(files), _render, as_json=as_json)


def read(files: list[str] | None = None) -> dict[str, Any]:
    """What each source took, the largest first; the figures add up to the whole.

    Args:
        files: of sessions; else those of the latest, without such as cannot be read.

    Raises:
        SessionError: a file that is asked for cannot be read.
    """
    asked = find.everywhere()[:_RECENT_SESSIONS] if files is None else files
    tokens, times = Counter[Injection](), Counter[Injection]()
    sessions = 0
    with output.Progress("Reading", sum(map(os.path.getsize, asked))) as bar:
        for path in asked:
            try:
                found = inspect.injections(path, bar.update)
            except OSError as error:
                if files is None:
                    continue
                raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
            sessions += 1
            tokens.update(found.tokens)
            times.update(found.times)
    return {
        "sessions": sessions,
        "injected_tokens": tokens.total(),
        "injections": [
            {**output.fields(one, "by name ours"), "times": times[one], "tokens": count}
            for one, count in tokens.most_common()
        ],
    }


def _render(document: dict[str, Any]) -> str:
    sessions = output.count(document["sessions"], "session")
    if not document["injections"]:
        return f"Neither hooks nor the client injected anything in {sessions}."
    rows = [
        [
            f"{one['tokens']:,}",
            f"{one['times']:,}",
            f"{one['tokens'] // one['times']:,}",
            "brimline" if one["ours"] else one["by"],
            output.line(one["name"]),
        ]
        for one in document["injections"]
    ]
    told = f"Injected in {sessions}: {document['injected_tokens']:,} tokens, each text counted once"
    head = ["tokens", "times", "each", "by", "what"]
    return f"{told}.\n" + output.table(head, rows, right={0, 1, 2})
