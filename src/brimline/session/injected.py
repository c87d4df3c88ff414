"""The document behind `history --injections`, and its text: what came beside the conversation."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.errors import SessionError
from brimline.gauge.composition import Injection
from brimline.session import inspect
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from brimline.gauge.composition import Injections

    Progress = Callable[[int], None] | None


def document(session_id: str | None, recent: Iterable[str], progress: Progress) -> dict[str, Any]:
    """What each source took, the largest first; the figures add up to the whole.

    Args:
        session_id: one session; else the recent ones, without such as cannot be read.
        recent: their files.
        progress: called with the number of bytes that were read.

    Raises:
        SessionError: a session that is named cannot be read.
    """
    found: list[Injections] = []
    if session_id is not None:
        path = find.named(session_id)
        try:
            found.append(inspect.injections(path, progress))
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    for path in [] if session_id is not None else recent:
        with contextlib.suppress(OSError):
            found.append(inspect.injections(path, progress))
    tokens, times = Counter[Injection](), Counter[Injection]()
    for injections in found:
        tokens.update(injections.tokens)
        times.update(injections.times)
    return {
        "sessions": len(found),
        "injected_tokens": tokens.total(),
        "injections": [
            {**output.fields(source, "by name ours"), "times": times[source], "tokens": count}
            for source, count in tokens.most_common()
        ],
    }


def text(document: dict[str, Any]) -> str:
    """The sources for a person."""
    sessions = output.count(document["sessions"], "session")
    if not document["injections"]:
        return f"Neither hooks nor the client injected anything in {sessions}."
    rows = [
        [
            f"{each['tokens']:,}",
            f"{each['times']:,}",
            f"{each['tokens'] // each['times']:,}",
            "brimline" if each["ours"] else each["by"],
            output.line(each["name"]),
        ]
        for each in document["injections"]
    ]
    title = (
        f"Injected in {sessions}: {document['injected_tokens']:,} tokens, each text counted once"
    )
    head = ["tokens", "times", "each", "by", "what"]
    return f"{title}.\n" + output.table(head, rows, right={0, 1, 2})
