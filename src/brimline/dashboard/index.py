"""The list of all sessions, a row of each among the figures: no transcript is read again for it.

A row is made anew when the transcript or the spool of its session has changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import output
from brimline.dashboard import story
from brimline.errors import BrimlineError
from brimline.fast import io, paths
from brimline.figures import history, reader, savings, spending, spool, store, subagents
from brimline.gauge import reading
from brimline.session import in_use
from brimline.settings import config
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping

    from brimline.fast.policy import Policy
    from brimline.figures.store import Store

_TITLE_CHARACTERS = 80
_MOST_WORDS = 8
_SEARCHED = ("title", "id", "project", "model")
# What is kept of each compaction.
_COMPACTION = "uuid at pre_tokens post_tokens rewritten_tokens summary_characters"
SORTS = {"newest": "", "fullest": "peak", "compacted": "compactions"}
SORTS |= {"tokens": "used(id, 'tokens', tokens)", "cost": "used(id, 'dollars', NULL)"}


class Filter(NamedTuple):
    """Which sessions are asked for."""

    project: str = ""
    model: str = ""
    sort: str = "newest"
    day: str = ""
    page: int = 1
    words: str = ""
    """Each of them occurs in the title, the id, the project or the model."""


class Index:
    """The file, and how far it is up to date."""

    def __init__(self, home_dir: str) -> None:
        self.home_dir = home_dir
        self.total, self.is_current = 0, False
        self.busy: tuple[int, int] | None = None
        """How many bytes of how many were read; None where nobody has to wait."""

    def refresh(self) -> None:
        """Read what is new in all transcripts, and make the rows of those sessions again."""
        policy_of = cache(
            lambda project: config.build_live_policy(self.home_dir, project or os.getcwd())
        )
        with store.opened(self.home_dir, in_memory=False) as figures:
            stale = self._drop_gone_and_return_stale(figures.base)
            self.total = sum(map(_transcript_bytes_in_stamp, stale.values()))
            self.busy = None if self.is_current else (0, self.total)
            with output.Progress("Reading sessions", self.total) as bar:

                def advance(size: int) -> None:
                    bar.advance(size)
                    if self.busy:
                        self.busy = min(self.busy[0] + size, self.total), self.total

                figures.refresh(reader.all_transcripts(), progress=advance, in_shares=True)
            for path, now in stale.items():
                with contextlib.suppress(BrimlineError, OSError):
                    row = _row_of_session(figures, path, policy_of)
                    # The name of a file need not be text.
                    told = _with_surrogates_replaced(json.dumps(row, ensure_ascii=False))
                    values = (os.fsencode(path), now, told)
                    figures.base.execute("REPLACE INTO page VALUES (?, ?, ?)", values)
        self.is_current, self.busy = True, None

    def _drop_gone_and_return_stale(self, base: sqlite3.Connection) -> dict[str, str]:
        """Drop the sessions that are gone; those to read with their stamps, the newest first."""
        forgot = forgotten.forgotten_line_by_session(self.home_dir)
        files = [
            path for path in find.all_transcripts() if not forgotten.is_forgotten_file(forgot, path)
        ]
        stamps = {path: change_stamp_of_session(self.home_dir, path) for path in files}
        rows = base.execute("SELECT path, stamp FROM page").fetchall()
        indexed = {os.fsdecode(path): then for path, then in rows}
        gone = [(os.fsencode(path),) for path in indexed.keys() - stamps.keys()]
        base.executemany("DELETE FROM page WHERE path = ?", gone)
        return {path: now for path, now in stamps.items() if indexed.get(path) != now}

    def page_of_sessions(
        self,
        wanted: Filter,
        size: int,
        bills: Mapping[str, Mapping[str, Any]],
        active: Collection[str] | None = None,
    ) -> tuple[list[dict[str, Any]], int]:
        """A page of the sessions that were asked for, and how many there are in all.

        Args:
            wanted: which ones, in which order.
            size: of a page.
            bills: by session what it used, subagents included: `tokens` and `dollars`.
            active: the only sessions that are wanted; None for all.
        """
        running = in_use.open_sessions(paths.client_config_dir())
        lately = time.time() - story.PAUSE_S

        def used(name: str, what: str, own: float | None) -> Any:
            return bills.get(name, {}).get(what, own)

        def is_running(name: str, last_at: float) -> bool:
            return name in running or last_at > lately

        values = wanted._asdict() | {"size": size, "start": size * (wanted.page - 1)}
        chosen = "FROM page WHERE :project IN ('', project) AND :model IN ('', model)"
        chosen += " AND tokens > 0"
        text = " || ' ' || ".join(f"json_extract(document, '$.{name}')" for name in _SEARCHED)
        for at, word in enumerate(wanted.words.split()[:_MOST_WORDS]):
            chosen += f" AND instr(lower({text}), :word{at})"
            values[f"word{at}"] = word.lower()
        if active is not None:
            chosen += " AND is_active(id)"
        # Only a name of ours is put into this; what was typed comes as a value.
        first = SORTS.get(wanted.sort) or "is_running(id, last_at) DESC, last_at"
        order = f"ORDER BY {first} DESC LIMIT :size OFFSET :start"
        with store.opened(self.home_dir, in_memory=False) as figures:
            base = figures.base
            base.create_function("used", 3, used)
            base.create_function("is_active", 1, (active or ()).__contains__)
            base.create_function("is_running", 2, is_running)
            (count,) = base.execute(f"SELECT count(*) {chosen}", values).fetchone()
            rows = base.execute(f"SELECT document {chosen} {order}", values).fetchall()
        shown = [json.loads(document) for (document,) in rows]
        for row in shown:
            row["is_running"] = is_running(row["id"], row["last_at"])
        return shown, count

    def values_of_column(self, column: str) -> list[str]:
        """Return what can be filtered by: every `project` or `model` that occurs."""
        asked = f"SELECT DISTINCT {column} FROM page WHERE {column} != '' ORDER BY 1"  # noqa: S608
        with store.opened(self.home_dir, in_memory=False) as figures:
            return [value for (value,) in figures.base.execute(asked)]

    def transcript_path_of_session(self, session_id: str) -> str:
        """The file of a session, the newest of several.

        Raises:
            SessionError: there is none.
        """
        query = "SELECT path FROM page WHERE id = ? ORDER BY last_at DESC"
        with store.opened(self.home_dir, in_memory=False) as figures:
            paths = [os.fsdecode(path) for (path,) in figures.base.execute(query, (session_id,))]
        if paths and os.path.isfile(paths[0]):
            return paths[0]
        return find.transcript_by_id_start(session_id)

    def rows_of_all_sessions(self) -> list[dict[str, Any]]:
        """Return what is known of every session."""
        with store.opened(self.home_dir, in_memory=False) as figures:
            return [json.loads(one) for (one,) in figures.base.execute("SELECT document FROM page")]


def _with_surrogates_replaced(name: str) -> str:
    """A name with a mark in the place of what is not a text."""
    return name.encode("utf-8", "replace").decode()


def _row_of_session(
    figures: Store, path: str, policy_of: Callable[[str], Policy]
) -> dict[str, Any]:
    """Return what a list shows of a session, and what it adds to the whole.

    Raises:
        OSError: its file cannot be read.
    """
    told = figures.read(path)
    requests = told.measured.requests
    policy = policy_of(told.project)
    now, state = reading.reading_and_state(path, told.measured, figures.home_dir, policy)
    kept = history.read_session(figures, state.session_id, [path]).figures
    models = Counter(request.model or "unknown" for request in requests)
    return {
        "id": find.session_id_of(path),
        "title": output.one_line(told.name, _TITLE_CHARACTERS),
        "project": told.project,
        "model": next((name for name, _ in models.most_common(1)), ""),
        "last_at": requests[-1].at if requests else find.modified_at(path),
        "requests": len(requests),
        "peak": told.measured.largest_occupancy_tokens,
        "window": now.window.tokens,
        "compactions": len(told.measured.compactions),
        "compacted": [output.pick_attrs(past, _COMPACTION) for past in kept.compactions],
        "tokens": sum(one.tokens + one.spent.output_tokens for one in requests),
        "saved": list(savings.saved_in_one_session(figures.home_dir, state.session_id)),
    }


def change_stamp_of_session(home_dir: str, path: str) -> str:
    """Return what tells whether a session has changed."""
    own = paths.session_dir(home_dir, find.session_id_of(path))
    files = (path, f"{own}/statusline.json")
    parts = [f"{io.file_size(file)}:{io.file_time(file)}" for file in files]
    inner = spending.files_of_session(path)[1:]
    running = [io.file_size(file) for file in inner if subagents.is_written_now(file)]
    return " ".join([*parts, *map(str, [*spool.stamp_of_folder(own), *running])])


def _transcript_bytes_in_stamp(stamp: str) -> int:
    return int(stamp.partition(":")[0])
