"""The check of the data folder's files: whether each is whole, as far as a file tells by itself.

Nobody has to have noticed: every file is looked at. One that only its room can judge, and that is
made anew without a word, is judged by its kind alone: a file, not a link, a pipe or a folder.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import sqlite3
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.bulk import contents, layout, marks
from brimline.errors import StoreError, reason
from brimline.fast import io, json, paths
from brimline.install import datafolder, entries
from brimline.recall import database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.install.doctor import Said

# So long outputs of the store are unpacked; each time others of them come first.
_BLOBS_S = 2.0
MOST_NAMED = 20
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFDIR: "a folder"}
# What is empty where nothing is kept of anybody.
_MAY_BE_EMPTY = r"history\.jsonl|store/last_key|.*\.sqlite3"


def check_files(home_dir: str, _project_dir: str) -> Iterator[Said]:
    """Name the files that are damaged."""
    until = time.monotonic() + _BLOBS_S
    found = [*datafolder.our_files(home_dir, of_any_kind=True), home_dir + paths.LAUNCHER]
    problems = [
        (path, problem)
        for path in random.sample(found, len(found))
        if (problem := _why_damaged(home_dir, path, until))
    ]
    for path, problem in sorted(problems)[:MOST_NAMED]:
        name = "damaged-lines" if problem.endswith(_LINES) else "damaged"
        yield name, {"path": path, "quoted": shlex.quote(path), "problem": problem}
    if len(problems) > MOST_NAMED:
        yield "damaged-more", {"count": len(problems) - MOST_NAMED}


def _why_damaged(home_dir: str, path: str, until: float) -> str:
    """Return what is wrong with a file, as the end of a sentence; empty where nothing is."""
    name = os.path.relpath(path, home_dir)
    try:
        mode = os.lstat(path).st_mode
        if path == paths.user_config(home_dir) and stat.S_ISLNK(mode):
            mode = os.stat(path).st_mode  # whoever keeps their settings elsewhere means it
        if not stat.S_ISREG(mode):
            return f"is {_KINDS.get(stat.S_IFMT(mode), 'no file')}, not a file"
        for pattern, judge in _JUDGES.items():
            if re.fullmatch(pattern, name):
                is_empty = os.path.getsize(path) == 0
                if is_empty:
                    return "" if re.fullmatch(_MAY_BE_EMPTY, name) else "is empty"
                return "" if judge is _judge_blob and time.monotonic() > until else judge(path)
    except FileNotFoundError:
        return ""  # it was passing
    except OSError as error:
        return f"cannot be read: {reason(error)}"
    return ""


_LINES = "that cannot be read"


def _judge_lines(path: str) -> str:
    damaged = json.parse_and_count_damaged(io.read_file(path))[1]
    return f"has {damaged:,} {'line' if damaged == 1 else 'lines'} {_LINES}" if damaged else ""


def _judge_document(path: str) -> str:
    try:
        json.loads(io.read_file(path).decode())
    except ValueError as error:
        return f"is damaged: {error}"
    return ""


def _judge_blob(path: str) -> str:
    home, digest = path.split("/store/blobs/")
    try:
        contents.read_content(home, layout.PREFIX + digest.replace("/", ""), touch=False)
    except StoreError as error:
        return f"is damaged: {error}"
    return ""


def _judge_database(path: str) -> str:
    # Where nobody writes, nothing is made beside it.
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).as_uri()}?{how}", uri=True)) as base:
            told = base.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        told = str(error) if database.is_damage_error(error) else "ok"
    return "" if told == "ok" else f"is damaged: {told}"


def _judge_launcher(path: str) -> str:
    found = entries.parse_our_command(path, ["Stop"])
    wired = found and entries.Wiring(found.interpreter or "", found.root or "", found.home or "")
    is_whole = wired and wired.launcher_bytes() == io.read_file(path)
    return "" if is_whole else "is damaged: `brimline install` writes it anew"


def _judge_text(pattern: str) -> Callable[[str], str]:
    def judge(path: str) -> str:
        text = io.read_file(path).decode("utf-8", "surrogateescape")
        return "" if re.fullmatch(pattern, text) else "is damaged"

    return judge


# By the file's place in the data folder. The installer's own files are compared with what it would
# write now, and the settings are read, by checks of their own.
_JUDGES: dict[str, Callable[[str], str]] = {
    # A path in each line, where others have an object.
    f"sessions/[^/]+/{marks.EDITED}": _judge_text(r'("[ -~]*"\n)*'),
    r".*\.jsonl(\.old)?": _judge_lines,
    r"store/blobs/.*": _judge_blob,
    r".*(\.json|\.pin)|backups/settings.*": _judge_document,
    "bin/hook": _judge_launcher,
    r".*\.sqlite3": _judge_database,
    "store/format": _judge_text(r"\d+\n?"),
    "store/last_key": _judge_text(rf"{layout.PREFIX}[0-9a-f]{{64}}\n?"),
    "store/clients": _judge_text(r"(/[^\0]*\n)+"),
    "memory/home": _judge_text(r"[0-9a-f-]{32,36}\n?"),
}
