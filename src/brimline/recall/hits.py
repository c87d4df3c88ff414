"""What a search of memory found, for those who show it; and one entry whole, by its key.

Until every session is read, each answer says how many are.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.errors import StoreError
from brimline.fast import clock
from brimline.foreign import flatten, quote
from brimline.recall import question, stored, turns
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from brimline.recall.record import Hit

NOTHING = "No matches."
_SHOWN_LINES = 3
_LINE_CHARACTERS = 110
_KEY = re.compile(r"m(\d{1,15})")
# What is read in a second, about.
_BYTES_PER_S = 8_000_000
_FILES = "SELECT name, value FROM facts WHERE name GLOB 'file:*'"


def open_or_make_memory(home_dir: str) -> turns.Memory:
    """The search over all that sessions said, and over what was kept of them."""
    return turns.Memory(stored.search_folder(home_dir))


def run_if_memory(home_dir: str, task: Callable[[sqlite3.Connection], Any], nothing: Any) -> Any:
    """Return what a task finds in the memory; where there is none yet, none is made."""
    is_there = os.path.isdir(stored.search_folder(home_dir))
    return open_or_make_memory(home_dir).run_on_database(task) if is_there else nothing


def document(hits: Sequence[Hit], query: str, home_dir: str) -> dict[str, Any]:
    """The hits with their keys and the lines that fit, and how much of the past was read."""
    rows = [
        _hit_fields(hit) | {"lines": _lines_with_most_words(hit.record.text, query)} for hit in hits
    ]
    return {"query": query, "hits": rows, "reading": reading_progress_if_unfinished(home_dir)}


def _hit_fields(hit: Hit) -> dict[str, Any]:
    one = hit.record
    return {
        "id": one.ref,
        "text": one.text,
        "group": one.session,
        "at": one.at,
        "source": one.source,
        "project": one.project,
        "number": hit.number,
        "score": hit.score,
        "author": hit.author,
        "rows": one.rows.split(),
        "key": f"m{hit.number}",
    }


def text(found: dict[str, Any]) -> str:
    """The same for a person."""
    shown = [_hit_text(hit, found["query"]) for hit in found["hits"]]
    return "\n\n".join(shown) or NOTHING


def _hit_text(hit: dict[str, Any], query: str) -> str:
    lines = [output.one_line(line, _LINE_CHARACTERS) for line in hit["lines"]]
    head = "  ".join([hit["key"], *_who_when_where_texts(hit)])
    return "\n".join([head, *[f"  {_line_with_words_marked(line, query)}" for line in lines]])


def _who_when_where_texts(hit: dict[str, Any]) -> list[str]:
    """Return who said it where and when; what a teammate shared says so first."""
    author = [f"by {flatten(hit['author'])}"] if hit["author"] else []
    when = output.utc_minute_text(clock.format_utc(hit["at"])) if hit["at"] else "unknown time"
    group = hit["group"]
    place = hit["id"] if group.startswith("/") else group.partition("/")[0][:8]
    project = os.path.basename(hit["project"]) or "no project"
    return [*author, when, hit["source"] or "entry", flatten(project), flatten(place)]


def _lines_with_most_words(whole: str, query: str) -> list[str]:
    """The lines that hold most of the query's words, in their order; the first where none does."""
    lines = [line.strip() for line in whole.splitlines() if line.strip()]
    stems = _stems_of_query_words(query)
    counts = [sum(stem in stored.folded_text(line) for stem in stems) for line in lines]
    best = sorted(range(len(lines)), key=lambda at: (-counts[at], at))[:_SHOWN_LINES]
    fitting = [at for at in sorted(best) if counts[at]]
    shown = [lines[at] for at in fitting or range(len(lines))[:1]]
    return [stored.clip_line_around_term(line, stems or [""], _LINE_CHARACTERS) for line in shown]


def _stems_of_query_words(query: str) -> list[str]:
    """The beginnings of the query's words: `errors` is found by `error`, and marked by `erro`."""
    return [stored.stem(stored.folded_text(word)) for word in question.words_but_stop_words(query)]


def _line_with_words_marked(line: str, query: str) -> str:
    """A line with the query's words marked, for a terminal."""
    stems = "|".join(map(re.escape, _stems_of_query_words(query)))
    words = re.compile(rf"\b(?:{stems})\w*", re.IGNORECASE) if stems else None
    return words.sub(lambda word: output.mark_strong(word[0]), line) if words else line


def is_entry_key(text: str) -> bool:
    """Tell whether a text is the key of an entry."""
    return _KEY.fullmatch(text) is not None


def entry_with_neighbours(home_dir: str, key: str) -> dict[str, Any]:
    """One entry by its key, with what came before and after it in its session.

    Raises:
        StoreError: it is not a key, or there is no such entry any more.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise StoreError(
            f"{key[:40]!r} is not a key of memory: `brimline memory search` shows them"
        )
    number = int(match[1])
    near = run_if_memory(home_dir, lambda base: turns.entry_and_neighbours(base, number), [])
    if number not in [hit.number for hit in near]:
        raise StoreError(f"there is no entry {key} any more: search for it again")
    return {"key": key, "entries": [_hit_fields(hit) for hit in near]}


def neighbourhood_text(found: dict[str, Any]) -> str:
    """The same for a person; the entry that was asked for has an arrow."""
    parts = []
    for hit in found["entries"]:
        arrow = "→ " if hit["key"] == found["key"] else "  "
        head = "  ".join([arrow + hit["key"], *_who_when_where_texts(hit)])
        parts.append(f"{head}\n{quote(hit['text'], len(hit['text']))}")
    return "\n\n".join(parts)


def reading_progress_if_unfinished(home_dir: str) -> dict[str, int] | None:
    """Return how many of the sessions there are were read, and about how long the rest takes.

    None where all were.
    """
    facts = run_if_memory(home_dir, lambda base: dict(base.execute(_FILES).fetchall()), {})
    own = list(unforgotten_session_files(home_dir))
    unread = [path for path in own if facts.get(f"file:{path}", "cut").startswith("cut")]
    if not unread:
        return None
    seconds = -(-output.total_file_bytes(unread) // _BYTES_PER_S)
    return {"read": len(own) - len(unread), "sessions": len(own), "seconds": seconds}


def unforgotten_session_files(home_dir: str) -> Iterator[str]:
    """The files of sessions that memory reads: not those of subagents, nor forgotten ones."""
    gone = forgotten.forgotten_line_by_session(home_dir)
    for path in find.files_beginning_with():
        is_agent = os.path.basename(path).startswith("agent-")
        if not is_agent and not forgotten.is_forgotten_file(gone, path):
            yield path


def progress_text(state: dict[str, int]) -> str:
    """The same in a sentence."""
    return (
        f"{state['read']:,} of {state['sessions']:,} sessions read; `brimline memory index` reads "
        f"the rest (about {state['seconds']:,} s)"
    )
