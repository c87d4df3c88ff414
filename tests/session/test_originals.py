"""What a line stands for is found in the session's own file, where the store has lost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.compaction import cold
from brimline.fast import paths
from brimline.session import originals
from brimline.store import contents, layout, put, removal, stub

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

BULK = "a line of output, naïvely\n" * 100


@pytest.fixture
def recorded(session: SessionBuilder) -> SessionBuilder:
    """A session of the client's whose result and input were moved out, here to no store."""
    session.path = f"{paths.project_transcripts_dir(session.cwd)}/{session.session_id}.jsonl"
    session.prompt("Build it.")
    session.tool_result(session.tool_call(50_000, command="make", description=BULK), BULK)
    for text in (BULK, cold.stored_input_text({"command": "make", "description": BULK})):
        session.prompt(stub.build_line("Bash", "make", 9, key_of(text)))
    return session


def key_of(text: str) -> str:
    """The key of a text."""
    return layout.PREFIX + put.sha256(text.encode())


def test_a_result_and_an_input_come_back_from_the_file(
    recorded: SessionBuilder, home_dir: str
) -> None:
    """By the key as a line names it, to the byte, with what is known of the call."""
    for text in (BULK, cold.stored_input_text({"command": "make", "description": BULK})):
        assert originals.put_back_into_store(home_dir, layout.short_key(key_of(text)))
        assert contents.get(home_dir, key_of(text)) == text.encode()
    known = contents.meta(home_dir, key_of(BULK))
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
    """Nor is what is no key; nothing is stored."""
    assert not originals.put_back_into_store(home_dir, key)
    assert contents.blobs(home_dir) == []


def test_a_session_that_is_gone_or_empty_is_no_obstacle(
    recorded: SessionBuilder, home_dir: str
) -> None:
    """The next one may have it."""
    Path(recorded.path).with_name("empty.jsonl").touch()
    Path(recorded.path).with_name("link.jsonl").symlink_to("/nowhere")
    assert originals.put_back_into_store(home_dir, key_of(BULK))
