"""What people write down beside a transcript, and which notes are done or forgotten.

One line each, only ever appended to, so that several processes may write at once. Merging them over
a ledger twice changes nothing.
"""

from __future__ import annotations

from brimline import clock
from brimline.carry.ledger import DECIDE, KEEP, add_note, item_id
from brimline.fast import json, paths
from brimline.masking import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.ledger import Ledger

FILE_NAME = "notes.jsonl"
_LARGEST_BYTES = 4 << 20


def add(home_dir: str, session_id: str, kind: str, text: str) -> str:
    """Write a note down; returns its id.

    Raises:
        OSError: it cannot be written.
    """
    text = clean(text.strip())
    _append(home_dir, session_id, {"add": {"kind": kind, "text": text, "source": "person"}})
    return item_id(kind, text)


def mark(home_dir: str, session_id: str, item: str, what: str) -> None:
    """Say of a note that it is `done` or to `reopen`, of a note or message to `forget` it.

    Raises:
        OSError: it cannot be written.
    """
    _append(home_dir, session_id, {what: item})


def merge(home_dir: str, ledger: Ledger) -> Ledger:
    """The ledger with what was added to it; the same one, changed."""
    for line in _lines(home_dir, ledger.session):
        added = line.get("add")
        if isinstance(added, dict):
            _take(ledger, added, line.get("at"))
        # The version before this one wrote `close` for what is now `done`.
        done = line.get("done") or (line.get("close") if line.get("status") == "done" else None)
        for item, is_done in ((done, True), (line.get("reopen"), False)):
            if isinstance(item, str) and _is_older(ledger.notes.get(item), line.get("at")):
                ledger.notes[item]["done"] = is_done
        forgotten = line.get("forget")
        if isinstance(forgotten, str):
            ledger.messages = [one for one in ledger.messages if one["id"] != forgotten]
            if _is_older(ledger.notes.get(forgotten), line.get("at")):
                del ledger.notes[forgotten]
    return ledger


def _is_older(note: dict[str, Any] | None, marked_at: Any) -> bool:
    """Whether a note is from before it was marked; written again later it is news."""
    if note is None:
        return False
    at = clock.parse(note.get("at")) if isinstance(note.get("at"), str) else None
    return at is None or not isinstance(marked_at, int | float) or at <= marked_at


def _take(ledger: Ledger, added: dict[str, Any], at: Any) -> None:
    """Add a note; what agents had reported to the version before this one is none."""
    text, kind = added.get("text"), added.get("kind")
    if not isinstance(text, str) or not isinstance(kind, str) or added.get("source") != "person":
        return
    moment = clock.format_utc(at) if isinstance(at, int | float) and 0 < at < 1e11 else None  # noqa: PLR2004
    if kind in (KEEP, DECIDE):
        add_note(ledger, kind, text, moment, "person")
    else:
        # Kinds of the version before this one keep the id that was told for them.
        known = dict(ledger.notes)
        add_note(ledger, DECIDE if kind == "decision" else KEEP, text, moment, "person")
        for note_id in set(ledger.notes) - set(known):
            note = ledger.notes.pop(note_id)
            old_id = item_id(kind, text)
            ledger.notes[old_id] = note | {"id": old_id}


def _lines(home_dir: str, session_id: str) -> list[dict[str, Any]]:
    """Every sound line; a torn one costs itself only."""
    try:
        return json.read_lines(_path(home_dir, session_id), _LARGEST_BYTES)
    except OSError:
        return []


def _append(home_dir: str, session_id: str, fields: dict[str, Any]) -> None:
    json.append_line(_path(home_dir, session_id), {"at": round(clock.now(), 3)} | fields)


def _path(home_dir: str, session_id: str) -> str:
    return f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
