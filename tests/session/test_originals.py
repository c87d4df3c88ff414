"""What a line stands for is found in the session's own file, where the store has lost it."""

from __future__ import annotations

from pathlib import Path

import pytest

from brimline.bulk import cold, contents, layout, put, removal, stub
from brimline.fast import paths
from brimline.session import originals
from brimline.testing import SessionBuilder

BULK = "a line of output, naïvely\n" * 100


@pytest.fixture
def recorded(session: SessionBuilder) -> SessionBuilder:
    """A session of the client's whose result and input were moved out, here to no store."""
    session.path = f"{paths.project_transcripts_dir(session.cwd)}/{session.session_id}.jsonl"
    session.prompt("Build it.")
    session.tool_result(session.tool_call(50_000, command="make", description=BULK), BULK)
    for text in (BULK, cold.readable_input_text({"command": "make", "description": BULK})):
        session.prompt(stub.build_line("Bash", "make", 9, key_of(text)))
    return session


def key_of(text: str) -> str:
    """The key of a text."""
    return layout.PREFIX + put.sha256(text.encode())


def test_a_result_and_an_input_come_back_from_the_file(
    recorded: SessionBuilder, home_dir: str
) -> None:
    """By the key as a line names it, to the byte, with what is known of the call."""
    for text in (BULK, cold.readable_input_text({"command": "make", "description": BULK})):
        assert originals.put_back_into_store(home_dir, layout.shorten_key(key_of(text)))
        assert contents.read_content(home_dir, key_of(text)) == text.encode()
    known = contents.read_sidecar(home_dir, key_of(BULK))
    assert (known["tool"], known["source"]) == ("Bash", "make")
    assert (known["session"], known["cwd"]) == (recorded.session_id, recorded.cwd)


def test_what_the_user_had_forgotten_stays_so(recorded: SessionBuilder, home_dir: str) -> None:
    """Its text is still in the session's file, which is the client's."""
    put.put(home_dir, BULK.encode(), {"session": recorded.session_id})
    removal.forget_key(home_dir, key_of(BULK))
    assert not originals.put_back_into_store(home_dir, key_of(BULK))


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("key", ["sha256:0123456789ab", "no key", "sha256:12", ""])
def test_what_no_session_holds_is_not_found(home_dir: str, key: str) -> None:
    """Nor is what is not a key; nothing is stored."""
    assert not originals.put_back_into_store(home_dir, key)
    assert contents.list_blobs(home_dir) == []


def test_a_session_that_is_gone_or_empty_is_no_obstacle(
    recorded: SessionBuilder, home_dir: str
) -> None:
    """The next one may have it."""
    Path(recorded.path).with_name("empty.jsonl").touch()
    Path(recorded.path).with_name("link.jsonl").symlink_to("/nowhere")
    assert originals.put_back_into_store(home_dir, key_of(BULK))


@pytest.mark.parametrize(("digits", "is_found"), [(64, True), (8, True), (7, False)])
def test_a_key_is_known_by_eight_digits(
    recorded: SessionBuilder, home_dir: str, digits: int, is_found: bool
) -> None:
    """Whatever their case, and with blanks around them; the last key stays the last."""
    put.put(home_dir, b"before", {})
    written = f" {key_of(BULK)[: 7 + digits].upper().replace('SHA', 'sha')} "
    if digits == 8:
        # Sessions mention twelve; they are found by as much as is asked for.
        recorded.prompt(key_of(BULK)[:15])

    assert originals.put_back_into_store(home_dir, written) is is_found
    assert contents.last_key(home_dir) == layout.PREFIX + put.sha256(b"before")


@pytest.mark.parametrize(("event", "is_found"), [("prune", True), ("gc", True), ("forget", False)])
def test_what_happened_to_a_key_last_decides(
    recorded: SessionBuilder, home_dir: str, event: str, is_found: bool
) -> None:
    """What was forgotten once, then stored and pruned again, comes back."""
    assert Path(recorded.path).exists()
    for each in ("forget", "put", event):
        layout.note_store_event(home_dir, each, key_of(BULK))
    layout.note_store_event(home_dir, "forget", "sha256:" + "0" * 64)

    assert originals.put_back_into_store(home_dir, key_of(BULK)) is is_found


MOST = originals._MOST_ORIGINS


@pytest.mark.parametrize(("origins", "is_found"), [(MOST - 1, True), (MOST, False)])
def test_a_session_that_went_on_from_others_is_followed_through_a_few_files(
    session: SessionBuilder, home_dir: str, origins: int, is_found: bool
) -> None:
    """Its own, and others behind it."""
    folder, opening = paths.project_transcripts_dir(session.cwd), b""
    for number in range(origins + 1):
        path = f"{folder}/s{number}.jsonl"
        built = SessionBuilder(path, f"s{number}", session.cwd, now=1e9 + 1_000 * number)
        built.compact(50_000, summary=f"What was before {number}.")
        first = Path(path).read_bytes().splitlines(keepends=True)[-1]
        built.raw(opening)
        opening = first
        if number == 0:
            built.prompt(stub.build_line("Bash", "make", 9, key_of(BULK)))
    built.tool_result(built.tool_call(50_000, command="make"), BULK)

    assert originals.put_back_into_store(home_dir, key_of(BULK)) is is_found
