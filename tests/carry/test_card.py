"""The texts around a compaction: order, limits, nothing twice, nothing false."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import card, ledger
from brimline.carry.card import _CONTAINED_CHARACTERS, _MESSAGE_CHARACTERS
from brimline.hooks.entry import respond
from brimline.testing import SessionBuilder, event

if TYPE_CHECKING:
    from collections.abc import Callable


def record(**fields: object) -> ledger.Ledger:
    """A ledger that holds something."""
    made = ledger.Ledger("s")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def say(made: ledger.Ledger, *texts: str) -> None:
    """Messages of the user, the last one last."""
    for number, text in enumerate(texts, len(made.messages)):
        ledger.add_message(made, text, f"2026-01-01T00:00:{number % 60:02d}.{number}Z", "prompt")


@pytest.mark.parametrize(
    ("message", "summary", "is_held"),
    [
        ("ok", "a book, okay", False),
        ("ok", "a book: ok.", True),
        ("ok", "ok", True),
        ("ok", "ok_1 _ok", True),
        ("I, too", "AI, too", False),
        ("so do I", "so do It", False),
        ("(yes)", "no(yes)no", True),
        ("two\n  lines", "the two lines.", True),
        ("x" * (_MESSAGE_CHARACTERS + 1), "x" * _MESSAGE_CHARACTERS + " and so on", True),
        ("", "anything", True),
        ("snake", "snake_case", True),
        ("ab " * 200, "ab " * 100_000 + "ab", True),
        ("(ab" * 200, "(ab" * 100_000 + "c", True),
        ("(a" * (_MESSAGE_CHARACTERS // 2 - 1) + ")", "(a" * 150_000, False),
    ],
)
def test_a_summary_holds_a_message_only_as_words_of_their_own(
    message: str, summary: str, is_held: bool
) -> None:
    """`ok` is not in `book`; of a long message its beginning counts."""
    assert card.does_summary_hold({"text": message}, card.mark_words(summary)) is is_held


@pytest.mark.row("S3-83")
def test_instructions_are_short_and_hold_six_topics_and_marked_notes() -> None:
    """And they ask for rules and corrections word for word."""
    made = ledger.Ledger("s")
    ledger.add_or_renew_note(made, ledger.DECIDE, "signed cookies", None)
    say(made, "a message is not repeated here")

    text = card.summary_instructions(made)

    topics = ("task and its objectives", "decisions", "file paths", "still to be done", "errors")
    assert all(topic in text for topic in (*topics, "critical state"))
    assert "Quote word for word every message of the user that sets a rule" in text
    assert "- decided: signed cookies" in text
    assert "a message is not repeated" not in text
    assert len(text) <= card.INSTRUCTIONS_CHARACTERS


@pytest.mark.row("S3-83")
def test_before_it_the_summary_is_told_what_to_keep(session: SessionBuilder, home_dir: str) -> None:
    """By the hook itself, in these words."""
    session.reply(150_000)
    payload = event("PreCompact", session, trigger="auto", custom_instructions="")

    told = respond("PreCompact", json.dumps(payload).encode(), home_dir).decode()

    assert told.startswith(
        "In the summary keep: the task and its objectives in the user's own words; decisions, "
        "why, and options rejected; exact file paths; what is still to be done, in order; errors "
        "and whether they are resolved; critical state: names, numbers, commands. Quote word for "
        "word every message of the user that sets a rule or corrects you. Be brief on completed "
        "work."
    )


@given(st.lists(st.text(max_size=900), max_size=40), st.lists(st.text(max_size=300), max_size=12))
def test_no_line_comes_twice_and_the_limit_holds(messages: list[str], notes: list[str]) -> None:
    """Whatever was said."""
    made = ledger.Ledger("s")
    say(made, *[text for text in messages if text.strip()])
    for text in notes:
        ledger.add_or_renew_note(made, ledger.KEEP, text, None)

    text = card.card_text(made)

    lines = [line.strip() for line in text.split("\n") if len(line.strip()) >= 20]
    assert len(lines) == len(set(lines))
    assert len(text) <= card.BUDGET_CHARACTERS
    assert len(card.summary_instructions(made)) <= card.INSTRUCTIONS_CHARACTERS


def test_paths_of_windows_are_grouped_and_shortened_too() -> None:
    """By folder, from the project's; the latest first."""
    paths = ("C:\\p\\src\\a.py", "D:\\x\\b.txt", "C:\\p\\src\\c.py", "C:\\p\\d.md")
    text = card.card_text(record(folder="C:\\p", changed=dict.fromkeys(paths, 1)))

    assert text.partition("latest first:\n")[2].split("\n") == [
        "- d.md",
        "- src\\: c.py, a.py",
        "- D:\\x\\: b.txt",
    ]


def test_after_a_compaction_without_a_model_the_card_counts_what_was_moved_out() -> None:
    """And holds what a person pinned or noted, since nothing else was taken away."""
    made = ledger.Ledger("s")
    ledger.add_or_renew_note(made, ledger.KEEP, "of the user", None)
    ledger.add_or_renew_note(made, ledger.KEEP, "Port 5433", None, "person")

    alone = card.card_text_after_lossless_compaction(ledger.Ledger("s"), {"results": 1})
    both = card.card_text_after_lossless_compaction(
        made, {"results": 2, "inputs": 1}, pinned=[["a pin"]]
    )
    inputs = card.card_text_after_lossless_compaction(made, {"inputs": 2})

    assert "Moved out: 1 old result." in alone
    assert len(alone.split("\n")) == 2
    assert "Moved out: 2 old results, and the middle of 1 long input." in both
    assert both.split("\n")[2:] == ["Still in force:", "- a pin", "- keep: Port 5433"]
    assert "Moved out: 0 old results, and the middle of 2 long inputs." in inputs


def test_of_what_is_pinned_as_much_is_shown_as_there_is_room_for() -> None:
    """How much more there is, is said."""
    texts = [f"{number} " + "x" * (card._PINNED_CHARACTERS // 4 - 20) for number in range(6)]

    text = card.card_text(record(branch="b"), pinned=[texts, ["short"]])

    shown = text.partition("Pinned in the budget:\n")[2].partition("\n\n")[0].split("\n")
    assert [line[:3] for line in shown] == ["- 0", "- 1", "- 2", "- 3", "- [", "- s"]
    assert shown[4] == "- [2 more: `context_budget` lists them]"


def test_a_message_that_stands_in_a_later_one_is_not_shown_again() -> None:
    """If it is long enough not to do so by chance."""
    made = ledger.Ledger("s")
    short, long = "x" * (_CONTAINED_CHARACTERS - 1), "y" * _CONTAINED_CHARACTERS
    say(made, short, long, f"{short} and {long} again")

    text = card.card_text(made)

    assert text.count(long) == 1
    assert text.count(short) == 2


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("prompt", "- text"),
        ("answer", "- (answer) text"),
        ("refusing Bash", "- (refusing Bash) text"),
    ],
)
def test_an_answer_or_a_refusal_is_marked_as_one(kind: str, shown: str) -> None:
    """All else of the user's is a message."""
    made = ledger.Ledger("s")
    ledger.add_message(made, "text", None, kind)

    assert card.card_text(made).endswith(shown)


@pytest.mark.parametrize(
    "fields",
    [
        lambda text: {"tasks": {"1": [text, "a task"]}},
        lambda text: {"tasks": {"1": ["pending", text]}},
        lambda text: {"tasks": {"1": ["completed", text]}},
        lambda text: {"plan": text},
        lambda text: {"commits": [[text, "subject"]]},
        lambda text: {"commits": [["1234567", text]]},
        lambda text: {"checks": {"a": {"command": text, "result": "failed"}}},
        lambda text: {"checks": {"a": {"command": "make", "result": text}}},
        lambda text: {"checks": {"a": {"command": "x", "result": "failed", "end": text}}},
        lambda text: {"commands": {"a": {"line": text, "first": 1, "last": 2}}},
        lambda text: {"worked": [[text, "before"]]},
        lambda text: {"changed": {text: 1}},
        lambda text: {"notes": {"1": {"kind": "keep", "text": text}}},
    ],
)
def test_what_is_told_of_one_thing_is_cut_where_it_is_long(
    fields: Callable[[str], dict[str, object]],
) -> None:
    """And says so."""
    whole, longer = [card.card_text(record(**fields("x" * length))) for length in (12, 3_000)]

    assert "x" * 12 in whole
    assert "x" * 3_000 not in longer
    assert "x…" in longer


def test_the_latest_of_repeated_commands_and_of_those_that_worked_are_told() -> None:
    """Some of each."""
    commands = {str(n): {"line": f"run {n}.", "first": 1, "last": 2} for n in range(99)}
    text = card.card_text(record(commands=commands, worked=[[f"try {n}.", "x"] for n in range(99)]))

    for command in ("run", "try"):
        told = [n for n in range(99) if f"`{command} {n}.`" in text]
        assert told == list(range(99))[-len(told) :] != list(range(99))


def test_a_title_has_a_line_under_it_or_is_left_out() -> None:
    """Where there is room for the first of two lines, that is told."""
    plan = record(plan="p" * 150)
    tasks = record(tasks={"1": ["pending", "first"], "2": ["pending", "s" * 100]})
    budget = len(card.OPENING) + 40

    assert card.card_text(plan, budget=budget) == ""
    assert card.card_text(tasks, budget=budget) == f"{card.OPENING}\n\nTasks:\n- pending: first"


def test_the_users_own_instructions_have_what_the_client_lets_through() -> None:
    """What is longer is cut, and says so."""
    most = card._OWN_INSTRUCTIONS_CHARACTERS
    whole, cut = [card.summary_instructions(record(), "x" * size) for size in (most, most + 1)]

    assert whole == "x" * most
    assert cut == "x" * (most - 1) + "…"


def test_after_a_lossless_compaction_only_what_a_person_added_is_still_told() -> None:
    """With what is pinned; notes that were marked in the session are still in it."""
    made = record()
    ledger.add_or_renew_note(made, ledger.KEEP, "in the session", None)
    ledger.add_or_renew_note(made, ledger.DECIDE, "by a person", None, "person")
    ledger.add_or_renew_note(made, ledger.KEEP, "done since", None, "person")
    list(made.notes.values())[-1]["done"] = True

    lines = card.card_text_after_lossless_compaction(made, {}, pinned=[["pinned"]]).split("\n")

    assert lines[2:] == ["Still in force:", "- pinned", "- decided: by a person"]
