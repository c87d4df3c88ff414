"""What a record keeps of a long session: so much of each kind, and the oldest goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.carry.rows import queued, ran, recorded, said

from brimline.carry import commands, ledger
from brimline.fast import io, json, paths

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def numbers(texts: Any) -> list[int]:
    """The numbers at the end of texts."""
    return [int(text.rpartition(" ")[2]) for text in texts]


def after(command: str, count: int, output: str = "", *, failed: bool = False) -> ledger.Ledger:
    """A record of so many commands, each with its number."""
    record = ledger.Ledger("s")
    for number in range(count):
        text = output.replace("#", f"{number:07d}")
        commands.note_run(
            record, command.replace("#", str(number)), text, str(number), failed=failed
        )
    return record


def test_of_many_checks_the_last_twelve_results_are_known() -> None:
    """The one that ran last stands last."""
    record = after("pytest test_#.py", 13)

    lines = [check["command"] for check in record.checks.values()]
    assert lines == [f"pytest test_{number}.py" for number in range(1, 13)]


def test_of_many_commands_the_last_forty_shapes_are_known() -> None:
    """Numbers and texts make no other shape."""
    record = ledger.Ledger("s")
    for number in range(41):
        name = chr(ord("a") + number // 20) + chr(ord("a") + number % 20)
        for run in ("1", "22"):
            commands.note_run(record, f"deploy {name} --step {run}", "", run, failed=False)

    kept = list(record.commands.values())
    assert len(kept) == 40
    assert kept[0]["line"] == "deploy ab --step 22"
    assert (kept[0]["first"], kept[0]["last"]) == ("1", "22")


def test_of_many_commits_the_last_thirty_and_of_pull_requests_the_last_ten_are_known() -> None:
    """In their order."""
    commits = after("git commit -m x", 31, "[main #] subject of #").commits
    pulls = after("gh pr create", 11, "https://example.com/a/b/pull/#").pulls

    assert [commit for commit, _ in commits] == [f"{number:07d}" for number in range(1, 31)]
    assert [int(pull.rpartition("/")[2]) for pull in pulls] == list(range(1, 11))


def test_the_last_five_commands_that_failed_wait_for_one_that_works() -> None:
    """And the last eight that did so are known, each with the one that had failed."""
    failed = after("deploy part #", 6, failed=True)
    worked = ledger.Ledger("s")
    for number in range(9):
        for flag, is_failed in (("--wrong", True), ("--right", False)):
            line = f"deploy the whole part {number} now {flag}"
            commands.note_run(worked, line, "", None, failed=is_failed)

    assert numbers(failed.failed) == [1, 2, 3, 4, 5]
    assert [int(line.split()[4]) for line, _ in worked.worked] == list(range(1, 9))
    assert worked.failed == []


@pytest.mark.parametrize(
    ("tried", "is_similar"),
    [
        ("deploy --to stage a b", True),  # three of five words
        ("deploy --to stage a b c", False),
        ("push --to stage", False),
        ("deploy --to stage", False),
    ],
)
def test_a_command_that_works_belongs_to_a_similar_one_that_failed(
    tried: str, is_similar: bool
) -> None:
    """The same program with most of its words; the same line again has merely worked this time."""
    record = ledger.Ledger("s")
    commands.note_run(record, tried, "", None, failed=True)
    commands.note_run(record, "deploy --to stage", "", None, failed=False)

    assert bool(record.worked) is is_similar


def test_a_very_long_command_is_kept_by_its_first_four_hundred_characters() -> None:
    """Its shape and its check too."""
    record = after("deploy " + "x" * 500, 1)
    check = after("pytest " + "x" * 500, 1)

    assert [len(one["line"]) for one in record.commands.values()] == [400]
    assert [len(one["command"]) for one in check.checks.values()] == [400]


def test_of_many_messages_the_last_four_hundred_are_kept_and_the_rest_counted(
    session: SessionBuilder,
) -> None:
    """Each once."""
    for number in range(402):
        session.prompt(f"message {number}")
    record = recorded(session)

    assert numbers(said(session)) == list(range(2, 402))
    assert record.dropped_messages == 2


def test_of_many_notes_the_last_two_hundred_are_kept() -> None:
    """One that is written again is news; an empty one is none."""
    record = ledger.Ledger("s")
    for number in [*range(201), 1]:
        ledger.add_note(record, ledger.KEEP, f"note {number}", None)
    ledger.add_note(record, ledger.KEEP, "  ", None)

    kept = numbers(note["text"] for note in record.notes.values())
    assert kept == [*range(2, 201), 1]


def test_of_many_files_the_last_hundred_and_twenty_are_known(session: SessionBuilder) -> None:
    """One that is touched again is the latest."""
    for number in [*range(121), 5]:
        call = session.tool_call(20_000, "Edit", file_path=f"/src/file {number}")
        session.tool_result(call, "ok")

    record = recorded(session)
    changed = numbers(record.changed)
    assert len(changed) == 120
    assert (changed[0], changed[-1]) == (1, 5)
    assert (record.changed["/src/file 4"], record.changed["/src/file 5"]) == (1, 2)


def test_a_file_that_is_read_after_it_was_changed_is_one_that_was_changed(
    session: SessionBuilder,
) -> None:
    """And one that is changed after it was read is no longer one that was read."""
    for tool, path in (
        ("Read", "/a"),
        ("Edit", "/b"),
        ("Read", "/b"),
        ("Read", "/c"),
        ("Read", "/a"),
    ):
        session.tool_result(session.tool_call(20_000, tool, file_path=path), "ok")
    session.tool_result(session.tool_call(20_000, "Write", file_path="/c"), "ok")
    record = recorded(session)

    assert (record.read, list(record.changed)) == ({"/a": 2}, ["/b", "/c"])


@pytest.mark.parametrize(
    ("text", "is_paste"),
    [
        ("x" * 1_200, False),
        ("x" * 1_201, True),
        ("a\n" * 15 + "b", False),
        ("a\n" * 16 + "b", True),
    ],
    ids=["long", "too long", "fifteen breaks", "sixteen"],
)
def test_a_text_is_a_paste_by_its_length_or_its_lines(text: str, is_paste: bool) -> None:
    """Of which the first line that says something is kept."""
    record = ledger.Ledger("s")
    ledger.add_message(record, f"\n{text}" if is_paste else text, None, "prompt")

    (message,) = record.messages
    assert ("size" in message) is is_paste
    assert message["text"] == (text.split("\n", maxsplit=1)[0] if is_paste else text)


def test_of_what_is_typed_while_the_assistant_works_the_last_sixty_wait(
    session: SessionBuilder,
) -> None:
    """So that the client's own repetition of them is not a second message."""
    for number in range(61):
        queued(session, f"typed {number}")
    record = recorded(session)

    assert numbers(record.queued) == list(range(1, 61))
    assert numbers(message["text"] for message in record.messages) == list(range(61))


def test_a_result_of_which_only_the_end_is_kept_still_tells_of_failures(
    session: SessionBuilder,
) -> None:
    """A check that counts them at the end of a long output did not pass."""
    ran(session, "pytest -q", "x" * 9_000 + "\n3 failed")
    ran(session, "mypy src", "3 errors\n" + "x" * 9_000)

    results = [check["result"] for check in recorded(session).checks.values()]
    assert results == [commands.DOUBTFUL, commands.PASSED]


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
def test_a_record_that_is_damaged_anywhere_begins_anew(
    field: str, sound: Any, damaged: list[Any]
) -> None:
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


def test_a_commit_is_known_from_the_last_four_thousand_characters(session: SessionBuilder) -> None:
    """Of what the command printed."""
    line = "[main 1234567] Subject\n"
    known = []
    for size in (4_000, 4_001):
        ran(session, "git commit -m x", line.replace("123", str(size)[-3:]).ljust(size, "x"))
        known.append(recorded(session).commits)

    assert known == [[["0004567", "Subject"]]] * 2


def test_of_a_note_of_the_model_two_thousand_characters_are_kept(session: SessionBuilder) -> None:
    """With the reason it gives."""
    for size, reason in ((2_000, ""), (2_001, "it is long")):
        call = session.tool_call(20_000, "mcp__brimline__note", text="x" * size, reason=reason)
        session.tool_result(call, "ok")

    texts = [note["text"] for note in recorded(session).notes.values()]
    assert texts == ["x" * 2_000, "x" * 2_000 + " (because it is long)"]
