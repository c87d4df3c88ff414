"""What was learned of calls, for people: which, since when, and how to take it back.

The lines are those that `intercept` appends; it goes by the hashes in them, this by the words.
"""

from __future__ import annotations

import time
from typing import Any

from brimline import output
from brimline.bulk import intercept
from brimline.bulk.marks import LEARNED
from brimline.errors import StoreError
from brimline.fast import clock, io, json

_STAYS = "stays whole: its previews kept being fetched back"
_REPLACED = "comes as a preview"


def document(home_dir: str) -> dict[str, Any]:
    """Every call of which something was learned, the latest first."""
    calls: dict[tuple[str, str], dict[str, Any]] = {}
    for line in _lines(home_dir):
        call = (str(line.get("project")), str(line.get("call")))
        if line.get("kind") == intercept.UNDONE:
            calls.pop(call, None)
        elif line.get("words"):
            first = calls.get(call, {}).get("since", line["at"])
            place = {"words": line["words"], "folder": line.get("folder"), "since": first}
            calls[call] = place | {"last": line["at"]}
    found = []
    for call, told in sorted(calls.items(), key=lambda item: -item[1]["last"]):
        stays = intercept.is_always_recalled(
            home_dir, intercept.Call(project=call[0], call=call[1])
        )
        times = {name: clock.format_utc(told[name]) for name in ("since", "last")}
        found.append(told | times | {"stays": stays})
    return {"calls": found}


def text(document: dict[str, Any]) -> str:
    """The same for a person."""
    lines = []
    for call in document["calls"]:
        folder = output.one_line(str(call["folder"] or "").rpartition("/")[2], 20)
        way = _STAYS if call["stays"] else _REPLACED
        words = output.one_line(call["words"], 40)
        lines.append(output.wrapped_text(f"{words}  ({folder}, since {call['since'][:10]}): {way}"))
    return "\n".join(lines) or "Nothing was learned yet."


def take_back(home_dir: str, words: str) -> int:
    """Begin anew with the calls of some words; returns how many there were.

    Raises:
        StoreError: nothing was learned of any.
        OSError: it cannot be written.
    """
    lines = _lines(home_dir)
    calls = {(line["project"], line["call"]) for line in lines if line.get("words") == words}
    if not calls:
        raise StoreError(f"nothing was learned of {words!r}: `brimline store learned` lists calls")
    for project, call in calls:
        line = {"at": time.time(), "kind": intercept.UNDONE, "bytes": None}
        json.append_line(f"{home_dir}/{LEARNED}", line | {"project": project, "call": call})
    return len(calls)


def forget_project(home_dir: str, project: str, *, dry_run: bool) -> int:
    """Delete the lines of a project and below; returns how many.

    Raises:
        OSError: a file cannot be written.
    """
    gone, place = 0, project.rstrip("/")
    for path in _files(home_dir):
        lines = json.read_lines(path)
        kept = [line for line in lines if not f"{line.get('folder')}/".startswith(f"{place}/")]
        gone += len(lines) - len(kept)
        if len(kept) < len(lines) and not dry_run:
            io.replace_file(path, b"".join(json.dumps(line).encode() + b"\n" for line in kept))
    return gone


def _lines(home_dir: str) -> list[dict[str, Any]]:
    lines = [line for path in _files(home_dir) for line in json.read_lines(path)]
    return [line for line in lines if isinstance(line.get("at"), int | float)]


def _files(home_dir: str) -> tuple[str, str]:
    return f"{home_dir}/{LEARNED}.old", f"{home_dir}/{LEARNED}"
