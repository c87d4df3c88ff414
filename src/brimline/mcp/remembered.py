"""Memory for the model: what was said that fits a query, one entry by its key, a topic to keep.

What is new is taken in beside the answer: a query waits for that a moment, and the rest goes on
while the server runs.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from brimline.errors import BrimlineError, StoreError
from brimline.fast import clock, policy
from brimline.foreign import flatten, quote
from brimline.output import one_line
from brimline.recall import deep, hot, stored, together, turns
from brimline.recall.hits import open_or_make_memory, progress_text, reading_progress_if_unfinished
from brimline.settings import clientsettings

if TYPE_CHECKING:
    from brimline.recall.record import Hit
    from brimline.transcript.project import Project

KEY = re.compile(r"m(\d{1,12})")
WAIT_S = 1.0
_MOST_HITS = 8
_HIT_CHARACTERS = 320
# Of one entry and its neighbours: with its first line an answer stays within 2,000 tokens.
_ENTRY_CHARACTERS = 1_300
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))
_intake = threading.Lock()
# What was found on the team's server, by the number it was given and where it was looked for, and
# when. Its author may forget it, so that it is not kept for long.
_elsewhere: dict[tuple[int, bool], tuple[Hit, float]] = {}
_KEPT_S = 120.0


def search_as_text(
    home_dir: str, project_dir: str, query: str, room: int, within: Project | None
) -> str:
    """Find what was said in a project, or in all, within some characters; empty without a hit.

    Raises:
        StoreError: the search cannot be used.
    """
    index_new_sources(home_dir, project_dir)
    if not os.path.isdir(stored.search_folder(home_dir)) and not together.is_server_named(home_dir):
        return ""  # nothing was ever taken in
    memory = _open_memory(home_dir)
    hits, problem = together.search_both(home_dir, project_dir, memory, query, _MOST_HITS, within)
    _keep_team_hits_briefly_in_process(hits, everywhere=within is None)
    rows = []
    for hit in hits:
        row = found_entry_line(hit)
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    head = '[brimline recall: said before, best first; key="m…" shows one with its context]'
    notes = [f"[from this machine alone: {one_line(problem, _HIT_CHARACTERS)}]"] if problem else []
    state = reading_progress_if_unfinished(home_dir)
    notes += [f"[{progress_text(state)}]"] if state else []
    return "\n".join([*([head] if rows else []), *rows, *notes])


def _keep_team_hits_briefly_in_process(hits: list[Hit], *, everywhere: bool) -> None:
    """Keep what the team's server gave for a while, and let go of what is older."""
    now = time.monotonic()
    for old in [one for one, (_, at) in _elsewhere.items() if now > at + _KEPT_S]:
        del _elsewhere[old]
    _elsewhere.update({(hit.number, everywhere): (hit, now) for hit in hits if hit.author})


def entry_text(home_dir: str, number: int, within: Project | None) -> str:
    """One entry of a project, or of any, with what stands before and after it.

    Raises:
        StoreError: there is none, or it is another project's.
    """
    found = _open_memory(home_dir).run_on_database(
        lambda base: turns.entry_and_neighbours(base, number)
    )
    other, at = _elsewhere.get((number, within is None), (None, 0.0))
    is_shared = other is not None and time.monotonic() < at + _KEPT_S
    found = [other] if other and is_shared else found
    own = next((hit for hit in found if hit.number == number), None)
    if own is None:
        raise StoreError(f"there is no entry m{number}: search for it again")
    if within and not is_shared and not within.holds(own.record.project):
        raise StoreError(f"m{number} was not said in this project: `recall_elsewhere` asks for it")
    head = f"[brimline recall m{number} of session {flatten(own.record.session, 80)}]"
    return "\n".join([head, *[quoted_entry_text(hit) for hit in found]])


def found_entry_line(hit: Hit) -> str:
    """An entry that was found, on one line."""
    return f"m{hit.number} {_origin_text(hit)}: {one_line(hit.record.text, _HIT_CHARACTERS)}"


def quoted_entry_text(hit: Hit) -> str:
    """An entry as a quotation."""
    return f"m{hit.number} {_origin_text(hit)}:\n{quote(hit.record.text, _ENTRY_CHARACTERS)}"


def save_topic(project_dir: str, arguments: dict[str, Any]) -> str:
    """Keep a topic, marked as the model's own.

    Raises:
        StateError: a part is missing or unknown, or it is there already.
    """
    names = ("name", "type", "description", "text")
    parts = [arguments.get(name) for name in names]
    if not all(isinstance(part, str) for part in parts):
        raise BrimlineError("`remember` needs name, type, description and text (strings)")
    topic = hot.add_topic(
        clientsettings.memory_folder(project_dir), *map(str, parts), source="model"
    )
    return f"Kept in {topic.path}. Its line in the index is before you in every session."


@functools.cache
def _open_memory(home_dir: str) -> turns.Memory:
    return open_or_make_memory(home_dir)


def index_new_sources(home_dir: str, project_dir: str, wait_s: float | None = WAIT_S) -> None:
    """Take in what is new, for a moment or to the end; longer work goes on behind the answer."""

    def index_quietly() -> None:
        with _intake, contextlib.suppress(StoreError, OSError):
            exclude = policy.load(home_dir, project_dir).values["memory.exclude"]
            deep.index_sources(home_dir, project_dir, exclude)

    if wait_s is None or not _intake.locked():
        thread = threading.Thread(target=index_quietly, daemon=True)
        thread.start()
        thread.join(wait_s)


def _origin_text(hit: Hit) -> str:
    """Return where an entry comes from and how old it is."""
    one = hit.record
    where = "" if one.session.startswith("/") else f", session {flatten(one.session[:8])}"
    author = f"by {flatten(hit.author)}, " if hit.author else ""
    return f"({author}{flatten(one.source)}, {_age_text(one.at)}{where})"


def _age_text(at: float) -> str:
    seconds = clock.now_s() - at
    for size, unit in _AGES:
        if at and seconds >= size:
            return f"{int(seconds // size):,} {unit} ago"
    return "just now" if at else "unknown age"
