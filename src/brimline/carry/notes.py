"""What is added to a ledger beside its transcript: by the person, and by agents that report.

One line each, only ever appended to: what to add, and which items are done or forgotten.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline import fastio, fastjson, paths
from brimline.carry import items
from brimline.store import put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Item, Ledger

FORMAT = 1
FILE_NAME = "notes.jsonl"
_LARGEST_BYTES = 4 << 20
# A longer report is kept in the store, and its beginning here.
_REPORT_CHARACTERS = 1_200
_STORED_FROM_CHARACTERS = 4_000


def add(home_dir: str, session_id: str, item: Item) -> None:
    """Add an item of the person's own.

    Raises:
        OSError: it cannot be written.
    """
    fields = {"kind": item.kind, "text": item.text, "source": item.source, "extra": item.extra}
    _append(home_dir, session_id, {"add": fields})


def close(home_dir: str, session_id: str, item_id: str, status: str) -> None:
    """Give an item another state.

    Raises:
        OSError: it cannot be written.
    """
    _append(home_dir, session_id, {"close": item_id, "status": status})


def forget(home_dir: str, session_id: str, item_id: str) -> None:
    """Take an item out, whatever the transcript says.

    Raises:
        OSError: it cannot be written.
    """
    _append(home_dir, session_id, {"forget": item_id})


def add_agent(
    home_dir: str, session_id: str, *, agent_type: str, report: str, transcript: str
) -> None:
    """Keep what a subagent reported last; all of a long report goes into the store.

    Raises:
        OSError: it cannot be written.
    """
    if not report.strip():
        return
    extra: dict[str, Any] = {"agent": agent_type, "transcript": transcript}
    if len(report) >= _STORED_FROM_CHARACTERS:
        data = report.encode("utf-8", "surrogatepass")
        meta = {"tool": "Agent", "source": agent_type, "session": session_id}
        extra["key"] = put.put(home_dir, data, meta)
    text = " ".join(report[:_REPORT_CHARACTERS].split())
    add(home_dir, session_id, items.Item(items.AGENT, text, items.SUBAGENT, extra=extra))


def merged(home_dir: str, ledger: Ledger) -> Ledger:
    """The ledger with what was added, closed and forgotten beside it."""
    for line in _lines(home_dir, ledger.session):
        added = line.get("add")
        if isinstance(added, dict):
            _take(ledger, added)
        elif line.get("forget") in ledger.items:
            del ledger.items[line["forget"]]
        elif line.get("close") in ledger.items and line.get("status") in items.STATES:
            ledger.items[line["close"]].status = line["status"]
    return ledger


def _take(ledger: Ledger, fields: dict[str, Any]) -> None:
    try:
        item = items.Item(**fields)
    except TypeError:
        return  # written by another version
    if item.kind == items.AGENT and _is_known(ledger, item):
        return
    if item.kind in items.KINDS and isinstance(item.text, str):
        ledger.add(item)


def _is_known(ledger: Ledger, item: Item) -> bool:
    """Whether the transcript has told of an agent's report already."""
    start = item.text[:80]
    return any(start in " ".join(known.text.split()) for known in ledger.of(items.AGENT))


def _lines(home_dir: str, session_id: str) -> Iterator[dict[str, Any]]:
    path = f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
    try:
        raw = fastio.read_file(path, _LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    for text in raw.split("\n"):
        for found in fastjson.loads_all(text):
            if isinstance(found, dict) and found.get("v") == FORMAT:
                yield found


def _append(home_dir: str, session_id: str, fields: dict[str, Any]) -> None:
    path = f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
    line = {"v": FORMAT, "at": round(time.time(), 3)} | fields
    fastio.append_line(path, fastjson.dumps(line))
