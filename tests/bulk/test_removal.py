"""Forgetting: content goes for good, and a session leaves no trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.bulk import contents, layout, pins, removal, retention
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.rooms import values_in_all_traces

from . import shelves
from .shelves import stored, text


def traces(home_dir: str, word: str) -> list[str]:
    """The files of the store that hold a word."""
    files = [path for path in Path(layout.store_folder(home_dir)).rglob("*") if path.is_file()]
    return [str(path) for path in files if word.encode() in path.read_bytes()]


def test_a_forgotten_key_is_gone_whatever_its_pin(home_dir: str) -> None:
    """Blob, sidecar, pin, what was left aside, and the last key."""
    key = stored(home_dir, text(1))
    pins.pin(home_dir, key, "hard", "secret reason")
    removal.move_file_aside(home_dir, "blob", key[7:])

    assert removal.forget_key(home_dir, key)
    assert not removal.forget_key(home_dir, key)
    with pytest.raises(StoreError, match="is not in the store"):
        contents.read_content(home_dir, key)
    with pytest.raises(StoreError, match="nothing has been stored"):
        contents.last_key(home_dir)
    assert [path for path in Path(home_dir).rglob("*") if key[9:] in path.name] == []
    assert traces(home_dir, "secret reason") == []


def test_a_forgotten_session_leaves_no_trace_in_the_store(home_dir: str) -> None:
    """Its blobs, its lines in the trail, and the names of its transcripts."""
    mine = stored(home_dir, text(1), session="session-one", source="cat secret")
    other = stored(home_dir, text(2), session="session-two", tool="Grep")
    stored(home_dir, text(2), session="session-one", tool="mcp__secret", cwd="/secret/folder")
    transcript = Path(paths.client_config_dir(), "projects/p/session-one.jsonl")
    transcript.parent.mkdir(parents=True)
    transcript.write_text(mine)
    os.utime(transcript, (1_000, 1_000))
    retention.digests_mentioned_anywhere(home_dir, [], retention.Pass(values_in_all_traces))
    assert traces(home_dir, "session-one")

    done = removal.forget_session(home_dir, "session-one")

    assert done.keys == [mine]
    assert shelves.keys(home_dir) == {other}
    assert traces(home_dir, "session-one") == []
    assert traces(home_dir, "secret") == []
    rows = [(row["event"], row["key"]) for row in contents.read_store_events(home_dir)]
    assert rows == [("put", other), ("forget", mine)]


def test_content_that_another_session_stored_too_stays_with_that_one(home_dir: str) -> None:
    """Its description is then that of the other; whoever stores it anew has it alone."""
    key = stored(home_dir, text(1), session="first", tool="Bash", source="cat secret")
    stored(home_dir, text(1), session="second", tool="Read", source="notes.txt")

    done = removal.forget_session(home_dir, "first")

    assert (done.keys, done.shared) == ([], [key])
    assert contents.read_content(home_dir, key) == text(1)
    found = contents.read_sidecar(home_dir, key)
    assert (found["session"], found["tool"], found["bytes"]) == ("second", "Read", 4_000)
    assert traces(home_dir, "first") == traces(home_dir, "secret") == []
    assert removal.forget_session(home_dir, "second").keys == [key]
    stored(home_dir, text(1), session="third")
    assert removal.own_and_shared_keys(home_dir, "third").keys == [key]
    assert removal.own_and_shared_keys(home_dir, "second").keys == []


def test_a_session_is_known_by_what_it_left(home_dir: str) -> None:
    """Stored content, or a line of the trail about content that is gone; not once forgotten."""
    stored(home_dir, text(1), session="one")
    removal.forget_key(home_dir, stored(home_dir, text(2), session="other"))
    assert removal.sessions_in_store(home_dir) == {"one", "other"}

    removal.forget_session(home_dir, "other")
    assert removal.sessions_in_store(home_dir) == {"one"}


def test_a_line_that_a_full_disk_cut_short_hides_no_other(home_dir: str) -> None:
    """The next line is glued to it and still read."""
    stored(home_dir, text(1), session="first")
    with open(home_dir + layout.INDEX, "ab") as file:
        file.write(b'{"v":1,"at":1790000000.5,"event":"pu')
    key = stored(home_dir, text(2), session="second")

    assert contents.puts_by_key_and_session(home_dir)[key].keys() == {"second"}
    assert len(list(contents.read_store_events(home_dir))) == 2
