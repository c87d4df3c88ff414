"""What people add to a record by command: notes, and what they say of them later."""

from __future__ import annotations

from brimline.carry import ledger, notes
from brimline.fast import json, paths

SESSION = "11111111-aaaa"


def merged(home_dir: str, *own: tuple[str, str | None]) -> list[tuple[str, bool, str]]:
    """Text, whether it is done, and source of each note; the session's own were marked in it."""
    record = ledger.Ledger(SESSION)
    for text, at in own:
        ledger.add_or_renew_note(record, ledger.KEEP, text, at)
    held = notes.merge_notes_into_ledger(home_dir, record).notes.values()
    return [(note["text"], bool(note.get("done")), note["source"]) for note in held]


def write(home_dir: str, at: object, **fields: object) -> None:
    """A line as a command leaves it."""
    path = f"{paths.carry_session_dir(home_dir, SESSION)}/{notes.FILE_NAME}"
    json.append_line(path, {"at": at} | fields)


def test_a_note_is_done_opened_again_or_forgotten_by_its_id(home_dir: str) -> None:
    """What was said of it last holds."""
    first = notes.append_note(home_dir, SESSION, ledger.KEEP, " Port 5433 ")
    second = notes.append_note(home_dir, SESSION, ledger.DECIDE, "Signed cookies")
    notes.append_done_reopen_or_forget(home_dir, SESSION, first, "done")
    done = merged(home_dir)
    notes.append_done_reopen_or_forget(home_dir, SESSION, first, "reopen")
    notes.append_done_reopen_or_forget(home_dir, SESSION, second, "forget")

    assert done == [("Port 5433", True, "person"), ("Signed cookies", False, "person")]
    assert merged(home_dir) == [("Port 5433", False, "person")]


def test_a_note_that_is_written_again_after_it_was_marked_is_news(home_dir: str) -> None:
    """Up to the moment of the mark, that included, it is the one that was meant."""
    item = ledger.id_of_note_or_message(ledger.KEEP, "Port 5433")
    write(home_dir, 1_767_225_600, done=item)  # the beginning of 2026

    states = [
        merged(home_dir, ("Port 5433", at))[0][1]
        for at in ("2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", None)
    ]

    assert states == [True, True, False, True]


def test_lines_that_are_not_ours_add_nothing(home_dir: str) -> None:
    """One without a sound moment counts without it."""
    write(home_dir, 1.0, add="text")
    write(home_dir, 1.0, add={"kind": "command", "text": "a"})
    write(home_dir, 1.0, add={"kind": "keep", "text": 3})
    write(home_dir, 1.0, done=["x"], forget={"x": 1})
    for at in (0, 1e11, "soon", 0.5, 1e11 - 1):
        write(home_dir, at, add={"kind": "keep", "text": f"at {at}"})
    record = notes.merge_notes_into_ledger(home_dir, ledger.Ledger(SESSION))

    told = [note["at"] for note in record.notes.values()]
    assert [bool(at) for at in told] == [False, False, False, True, True]


def test_a_message_can_be_forgotten_too(home_dir: str) -> None:
    """By its id, whenever it was said."""
    record = ledger.Ledger(SESSION)
    for text in ("a secret", "a wish"):
        ledger.add_message(record, text, "2026-01-01T00:00:00Z", "prompt")
    notes.append_done_reopen_or_forget(home_dir, SESSION, record.messages[0]["id"], "forget")

    assert [
        message["text"] for message in notes.merge_notes_into_ledger(home_dir, record).messages
    ] == ["a wish"]
