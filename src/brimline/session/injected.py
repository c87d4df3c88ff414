"""The document behind `history --injections`, and its text: what came beside the conversation."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.gauge.composition import Injection
from brimline.session import inspect

if TYPE_CHECKING:
    from brimline.gauge.composition import Injections
    from brimline.transcript.read import Progress


def document(transcripts: list[str], progress: Progress) -> dict[str, Any]:
    """Return what each source took, the largest first; the figures add up to the whole.

    Args:
        transcripts: those of the sessions; such as cannot be read are left out.
        progress: called with the number of bytes that were read.
    """
    found: list[Injections] = []
    for path in transcripts:
        with contextlib.suppress(OSError):
            found.append(inspect.tally_injections(path, progress))
    tokens, times = Counter[Injection](), Counter[Injection]()
    for injections in found:
        tokens.update(injections.tokens)
        times.update(injections.times)
    return {
        "sessions": len(found),
        "injected_tokens": tokens.total(),
        "injections": [
            {**output.pick_attrs(source, "by name ours"), "times": times[source], "tokens": count}
            for source, count in tokens.most_common()
        ],
    }


def text(document: dict[str, Any]) -> str:
    """The sources for a person."""
    sessions = output.count_text(document["sessions"], "session")
    if not document["injections"]:
        return f"Neither hooks nor the client injected anything in {sessions}."
    rows = [
        [
            f"{each['tokens']:,}",
            f"{each['times']:,}",
            f"{each['tokens'] // each['times']:,}",
            "brimline" if each["ours"] else each["by"],
            output.one_line(each["name"]),
        ]
        for each in document["injections"]
    ]
    tokens = f"{document['injected_tokens']:,} tokens"
    title = f"Injected in {sessions}: {tokens}, each text counted once"
    head = ["tokens", "times", "each", "by", "what"]
    return f"{title}.\n" + output.table_text(head, rows, right={0, 1, 2})
