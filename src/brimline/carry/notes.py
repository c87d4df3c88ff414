"""What people write down beside a transcript, and which notes are done or forgotten.

One line each, only ever appended to, so that several processes may write at once. Merging them over
a ledger twice changes nothing.
"""

from __future__ import annotations

from brimline.carry.ledger import DECIDE, KEEP, add_or_renew_note, id_of_note_or_message
from brimline.fast import clock, json, paths
from brimline.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.ledger import Ledger

FILE_NAME = "notes.jsonl"
_LARGEST_BYTES = 4 << 20


def append_note(home_dir: str, session_id: str, kind: str, text: str) -> str:
    """Write a note down; returns its id.

    Raises:
        OSError: it cannot be written.
    """
    text = mask(text.strip())
    _append_line(home_dir, session_id, {"add": {"kind": kind, "text": text}})
    return id_of_note_or_message(kind, text)


def append_done_reopen_or_forget(home_dir: str, session_id: str, item: str, what: str) -> None:
    """Say of a note that it is `done` or to `reopen`, of a note or message to `forget` it.

    Raises:
        OSError: it cannot be written.
    """
    _append_line(home_dir, session_id, {what: item})


def merge_notes_into_ledger(home_dir: str, ledger: Ledger) -> Ledger:
    """The ledger with what was added to it; the same one, changed."""
    try:
        lines = json.read_lines(_notes_file(home_dir, ledger.session), _LARGEST_BYTES)
    except OSError:
        return ledger
    for line in lines:
        at = line.get("at")
        _add_persons_note(ledger, line.get("add"), at)
        for what in ("done", "reopen"):
            for note in _note_if_older_than_mark(ledger, line.get(what), at):
                note["done"] = what == "done"
        forgotten = line.get("forget")
        ledger.messages = [message for message in ledger.messages if message["id"] != forgotten]
        for note in _note_if_older_than_mark(ledger, forgotten, at):
            del ledger.notes[note["id"]]
    return ledger


def _note_if_older_than_mark(ledger: Ledger, item: Any, marked_at: Any) -> list[dict[str, Any]]:
    """The note of an id, if it is from before it was marked; written again later it is news."""
    note = ledger.notes.get(str(item))
    if note is None:
        return []
    at = clock.parse_utc(str(note.get("at")))
    is_earlier = at is None or not isinstance(marked_at, int | float) or at <= marked_at
    return [note] if is_earlier else []


def _add_persons_note(ledger: Ledger, note: Any, at: Any) -> None:
    """Take in a note that a person wrote down."""
    if not isinstance(note, dict) or note.get("kind") not in (KEEP, DECIDE):
        return
    moment = clock.format_utc(at) if isinstance(at, int | float) and 0 < at < 1e11 else None  # noqa: PLR2004
    if isinstance(note.get("text"), str):
        add_or_renew_note(ledger, note["kind"], note["text"], moment, "person")


def _append_line(home_dir: str, session_id: str, fields: dict[str, Any]) -> None:
    json.append_line(_notes_file(home_dir, session_id), {"at": round(clock.now_s(), 3)} | fields)


def _notes_file(home_dir: str, session_id: str) -> str:
    return f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
