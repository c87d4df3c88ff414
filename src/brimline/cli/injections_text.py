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
    files = [find.by_id(session_id)] if session_id is not None else _latest()
    output.answer(read(files), _render, as_json=as_json)


def read(files: list[str]) -> dict[str, Any]:
    """What each source took, the largest first; the figures add up to the whole.

    Raises:
        SessionError: a file cannot be read.
    """
    tokens, times = Counter[Injection](), Counter[Injection]()
    with output.Progress("Reading", sum(map(os.path.getsize, files))) as bar:
        for path in files:
            try:
                found = inspect.injections(path, bar.update)
            except OSError as error:
                raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
            tokens.update(found.tokens)
            times.update(found.times)
    return {
        "sessions": len(files),
        "injected_tokens": tokens.total(),
        "injections": [
            {**output.fields(one, "by name ours"), "times": times[one], "tokens": count}
            for one, count in tokens.most_common()
        ],
    }


def _latest() -> list[str]:
    found = [path for path in find.beginning_with() if os.path.isfile(path)]
    found = [path for path in found if not os.path.basename(path).startswith("agent-")]
    return sorted(found, key=find.modified, reverse=True)[:_RECENT_SESSIONS]


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
