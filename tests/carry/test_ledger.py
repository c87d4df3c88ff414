"""What a record keeps of a long session: so much of each kind, and the oldest goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.carry.rows import numbers, recorded, said

from brimline.carry import ledger
from brimline.carry.ledger import _MOST_MESSAGES, PASTE_CHARACTERS, PASTE_LINES
from brimline.fast import io, json, paths

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def test_of_many_messages_the_last_are_kept_and_the_rest_counted(
    session: SessionBuilder,
) -> None:
    """Each once."""
    for number in range(_MOST_MESSAGES + 2):
        session.prompt(f"message {number}")
    record = recorded(session)

    assert numbers(said(session)) == list(range(2, _MOST_MESSAGES + 2))
    assert record.dropped_messages == 2


@pytest.mark.parametrize(
    ("text", "is_paste"),
    [
        ("x" * PASTE_CHARACTERS, False),
        ("x" * (PASTE_CHARACTERS + 1), True),
        ("a\n" * PASTE_LINES + "b", False),
        ("a\n" * (PASTE_LINES + 1) + "b", True),
    ],
    ids=["long", "too long", "many breaks", "too many"],
)
def test_a_text_is_a_paste_by_its_length_or_its_lines(text: str, is_paste: bool) -> None:
    """Of which the first line that says something is kept."""
    record = ledger.Ledger("s")
    ledger.add_message(record, f"\n{text}" if is_paste else text, None, "prompt")

    (message,) = record.messages
    assert ("size" in message) is is_paste
    assert message["text"] == (text.split("\n", maxsplit=1)[0] if is_paste else text)


@pytest.mark.parametrize(
    ("field", "sound", "damaged"),
    [
        ("queued", ["a"], [[5], ["a", None]]),
        ("pulls", ["a"], [["a", None]]),
        ("tasks", {"1": ["pending", "a"]}, [{"1": ["pending"]}, {"1": "ab"}, {"1": ["a", 5]}]),
        ("commits", [["1", "a"]], [[["1", "a", "b"]], ["ab"], [{"1": 1, "2": 2}]]),
        ("messages", [{"text": "a", "id": "b"}], [[{"text": "a"}], [{"text": 5, "id": "b"}], [5]]),
        ("checks", {"a": {"result": "passed"}}, [{"a": {}}, {"a": "result"}]),
        ("commands", {"a": {"line": "b"}}, [{"a": {"line": None}}, {"a": 5}]),
        ("plan", "a", []),
    ],
)
def test_a_damaged_record_begins_anew(field: str, sound: Any, damaged: list[Any]) -> None:
    """A field of another kind is left out; one with something else in it spoils the whole."""
    document = {"v": ledger.FORMAT, "session": "other", "branch": "main"}

    taken = ledger.from_document(document | {field: sound}, "s")

    assert (taken.session, taken.branch, getattr(taken, field)) == ("s", "main", sound)
    for value in damaged:
        anew = ledger.from_document(document | {field: value}, "s")
        assert anew.__dict__ == ledger.Ledger("s").__dict__, value
    left_out = ledger.from_document(document | {field: 5}, "s")
    assert (left_out.branch, getattr(left_out, field)) == ("main", type(sound)())


@pytest.mark.parametrize(
    "document", [None, [], {}, {"v": -1, "branch": "main"}, {"branch": "main"}]
)
def test_what_is_no_record_of_this_format_says_nothing(home_dir: str, document: Any) -> None:
    """A later version may have written it."""
    path = f"{paths.carry_session_dir(home_dir, 's')}/{ledger.LEDGER_FILE}"
    io.replace_file(path, json.dumps(document).encode())

    assert ledger.load(home_dir, "s").__dict__ == ledger.Ledger("s").__dict__


def test_an_item_that_is_forgotten_is_not_read_again(home_dir: str) -> None:
    """A message or a note; the last of those are known."""
    record = ledger.Ledger("s")
    for text in ("first", "second"):
        ledger.add_message(record, text, None, "prompt")
        ledger.add_or_renew_note(record, ledger.KEEP, text, None)
    record.forgotten = [f"{number:08}" for number in range(_MOST_MESSAGES)]
    ledger.save(home_dir, record)
    message, note = record.messages[0]["id"], next(iter(record.notes))

    for item in (message, note):
        ledger.forget_note_or_message(home_dir, "s", item)

    left = ledger.load(home_dir, "s")
    assert [one["text"] for one in left.messages] == ["second"]
    assert [one["text"] for one in left.notes.values()] == ["second"]
    assert (len(left.forgotten), left.forgotten[-2:]) == (_MOST_MESSAGES, [message, note])
    ledger.add_message(left, "first", None, "prompt")
    assert [one["text"] for one in left.messages] == ["second"]
