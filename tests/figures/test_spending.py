"""What requests used: read once, each counted once, forgotten where that was asked for."""

from __future__ import annotations

import gc
import os
import struct
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.figures import reader, shares, spending, store, traces
from brimline.state import forgotten
from brimline.testing import SessionBuilder
from brimline.transcript import typed

if TYPE_CHECKING:
    from brimline.figures.spending import Spending

START = 1_790_000_000


def session(world: Path, name: str = "abc", counter: int = 0) -> SessionBuilder:
    """A session in the client's folder."""
    path = world / "home" / ".claude" / "projects" / "p" / f"{name}.jsonl"
    return SessionBuilder(str(path), name, "/home/dev/p", counter=counter)


def counts(found: list[Spending]) -> dict[str, int]:
    """How many requests each transcript has."""
    made: dict[str, int] = {}
    for one in found:
        name = os.path.basename(one.path)
        made[name] = made.get(name, 0) + one.requests
    return made


def test_a_transcript_is_read_once_and_then_on_from_its_end(world: Path, home_dir: str) -> None:
    """What was read is kept, and only that; of one that is gone nothing is."""
    builder, other = session(world), session(world, "other", 500)
    builder.reply(5_000, output_tokens=7)
    other.reply(9_000)
    read: list[int] = []
    files = [builder.path, other.path, f"{builder.path}.gone", str(world)]
    first = spending.read_spendings(home_dir, files, progress=read.append)
    sizes = [os.path.getsize(path) for path in (builder.path, other.path)]
    again = spending.read_spendings(home_dir, files, progress=read.append)

    assert sum(read) == sum(sizes)
    assert first == again
    assert (first[0].requests, first[0].largest_prompt_tokens) == (1, 5_000)
    assert first[0].tokens == (10, 1_000, 0, 3_990, 7)
    assert (first[0].session_id, first[0].project) == ("abc", "/home/dev/p")
    builder.reply(6_000)
    os.unlink(other.path)
    read.clear()
    found = spending.read_spendings(home_dir, [builder.path], progress=read.append)
    assert counts(found) == {"abc.jsonl": 2}
    assert sum(read) == os.path.getsize(builder.path) - sizes[0]


@pytest.mark.parametrize("how", ["torn", "another file", "another beginning", "shorter"])
def test_what_is_read_on_comes_to_the_same_as_what_is_read_at_once(
    world: Path, home_dir: str, how: str
) -> None:
    """Whatever the client was about to write, and whatever came in the place of the file."""
    builder = session(world)
    for tokens in (1_000, 2_000):
        builder.reply(tokens)
    path = Path(builder.path)
    whole = path.read_bytes()
    if how == "torn":
        path.write_bytes(whole[:-40])
    spending.read_spendings(home_dir, [builder.path])
    builder.reply(3_000)
    more = path.read_bytes().replace(b"5_000", b"6_000")
    if how == "torn":
        path.write_bytes(whole + more.splitlines(keepends=True)[-1])
    elif how == "another file":
        path.unlink()
        path.write_bytes(b"\n" + more)
    elif how == "another beginning":
        path.write_bytes(whole.replace(b"msg", b"other") + more)
    else:
        path.write_bytes(whole[: len(whole) // 2])

    on, at_once = (
        spending.read_spendings(home, [builder.path]) for home in (home_dir, f"{home_dir}-2")
    )

    assert on == at_once


def test_a_request_counts_once_and_not_in_the_fork(world: Path, home_dir: str) -> None:
    """Its rows are those of one reply, of which the last has the figures and the first the time."""
    fork, origin = session(world, "a-fork"), session(world, "origin")
    for builder, more in ((fork, {"forkedFrom": {"sessionId": "origin"}}), (origin, {})):
        builder.reply(1_000, message_id="same", output_tokens=1, **more)
        builder.reply(2_000, message_id="same", output_tokens=9, **more)
    fork.reply(3_000, message_id="new")
    files = [fork.path, origin.path]

    found = spending.read_spendings(home_dir, files)

    assert counts(found) == {"origin.jsonl": 1, "a-fork.jsonl": 1}
    (own,) = [one for one in found if one.session_id == "origin"]
    assert (own.at, own.largest_prompt_tokens, own.output_tokens) == (START + 1, 2_000, 9)
    os.unlink(origin.path)
    assert counts(spending.read_spendings(home_dir, files)) == {"a-fork.jsonl": 2}


def test_subagents_belong_to_their_session_wherever_their_replies_are(
    world: Path, home_dir: str
) -> None:
    """In a folder of the session's, beside it, or in rows on how far a tool has come."""
    builder = session(world)
    builder.reply(1_000)
    inside = f"{builder.path.removesuffix('.jsonl')}/subagents/agent-1.jsonl"
    beside = f"{os.path.dirname(builder.path)}/agent-2.jsonl"
    for number, path in enumerate((inside, beside), 1):
        SessionBuilder(path, "abc", counter=100 * number).reply(1_000 + number)
    reply = {"id": "own", "role": "assistant", "model": "claude-haiku-4-5"}
    inner = {"type": "assistant", "message": reply | {"usage": {"input_tokens": 7}}}
    for _ in range(2):
        builder.row("progress", data={"type": "agent_progress", "message": inner})

    found = spending.read_spendings(None, spending.files_of_session(builder.path))

    assert [(os.path.basename(one.path), one.is_subagent, one.input_tokens) for one in found] == [
        ("abc.jsonl", True, 7),
        ("abc.jsonl", False, 10),
        ("agent-1.jsonl", True, 10),
        ("agent-2.jsonl", True, 10),
    ]
    assert {one.session_id for one in found} == {"abc"}
    assert inside in reader.all_transcripts()
    assert spending.files_of_session(f"{world}/none.jsonl") == []


def test_what_was_forgotten_does_not_count_and_what_came_later_does(
    world: Path, home_dir: str
) -> None:
    """From that moment on, that included."""
    builder = session(world)
    for tokens in (1_000, 2_000, 3_000):
        builder.reply(tokens)
    os.utime(builder.path, (START + 2, START + 2))
    forgotten.note_forgotten(home_dir, START + 2, {"session": "abc"})
    nothing = spending.read_spendings(home_dir, [builder.path])
    os.utime(builder.path, (START + 9, START + 9))

    (found,) = spending.read_spendings(home_dir, [builder.path])

    assert nothing == []
    assert (found.requests, found.at, found.largest_prompt_tokens) == (2, START + 2, 3_000)


def test_figures_are_let_go_of_by_session_without_a_trace(world: Path, home_dir: str) -> None:
    """A dry run lets go of nothing; the last request tells when a session was active."""
    for number, name in enumerate(("abc", "other")):
        builder = session(world, name, number * 100)
        for tokens in (1_000, 2_000):
            builder.reply(tokens)
        spending.read_spendings(home_dir, [builder.path])
    asked = forgotten.Asked(("abc",))
    traces.forget(home_dir, asked, dry_run=True)
    known = sorted(traces.sessions(home_dir))
    traces.forget(home_dir, asked, dry_run=False)

    assert known == [(name, "/home/dev/p", START + 2) for name in ("abc", "other")]
    assert [name for name, *_ in traces.sessions(home_dir)] == ["other"]
    assert b"abc.jsonl" not in Path(home_dir, store.FILE).read_bytes()


@pytest.mark.parametrize(
    "content", [b"x\n" * 2_000, b"", b"SQLite format 3\0" + b"x" * 9_000, None]
)
def test_a_file_of_figures_that_is_none_is_made_anew_or_done_without(
    world: Path, home_dir: str, content: bytes | None
) -> None:
    """They are derived from the transcripts, and the same where nothing can be kept."""
    builder = session(world)
    builder.reply(1_000)
    path = Path(home_dir, store.FILE)
    path.parent.mkdir(parents=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)

    for _ in range(2):
        assert counts(spending.read_spendings(home_dir, [builder.path])) == {"abc.jsonl": 1}

    assert path.is_dir() == (content is None)


def test_of_a_large_session_the_status_reads_only_what_is_new(world: Path, home_dir: str) -> None:
    """And says the same as of one that is read whole."""
    builder = session(world)
    for number in range(3):
        builder.prompt("x" * (2 << 20))
        builder.reply(1_000 * (number + 1))
    builder.compact(3_000)
    read: list[int] = []
    store.measure(home_dir, builder.path, read.append)
    size = os.path.getsize(builder.path)
    builder.reply(900)

    found = store.measure(home_dir, builder.path, read.append)

    assert sum(read) == os.path.getsize(builder.path) > size > 6 << 20
    whole = typed.measure(builder.path)
    assert found.occupancies_since_compaction == whole.occupancies_since_compaction == [900]
    assert found.largest_occupancy_tokens == whole.largest_occupancy_tokens
    assert found.compactions == whole.compactions
    with store.opened(home_dir) as figures:
        every = figures.read(builder.path).measured.requests
    assert [(one.number, one.id, one.tokens) for one in every] == [
        (one.number, one.id, one.tokens) for one in whole.requests
    ]


def begin_to_send(path: str) -> str:
    """Break off in the middle of what is sent."""
    if path == "large":
        ends = [one for one in gc.get_objects() if isinstance(one, Connection)]
        (end,) = [one for one in ends if not one.closed and one.writable]
        os.write(end.fileno(), struct.pack("!i", 1_000) + b"half")
        os._exit(9)
    return "whole"


def test_of_a_process_that_ends_while_it_sends_nothing_is_taken() -> None:
    """The others are heard to their end; what is missing is read afterwards."""

    made = dict(shares.made_of_each(begin_to_send, {"large": 2, "small": 1}))

    assert "large" not in made
    assert made.get("small", "whole") == "whole"  # with one core it was in the same share


def test_several_processes_find_what_one_finds(
    world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads its share; what cannot be read is told, and of the rest nothing is missing."""
    builders = [session(world, f"s{number}", 100 * number) for number in range(5)]
    for number, builder in enumerate(builders):
        builder.prompt("Why?")
        builder.reply(5_000 + number)
    files = [*[builder.path for builder in builders], str(world)]
    one_after_the_other = spending.read_spendings(None, files)
    monkeypatch.setattr(store, "_MANY_BYTES", 0)
    read: list[int] = []

    with store.opened(home_dir) as figures:
        figures.refresh(files, progress=read.append, in_shares=True)
        found = spending.spendings_of(figures, files)

    assert found == one_after_the_other
    assert len(found) == len(builders)
    assert sum(read) == sum(os.path.getsize(builder.path) for builder in builders)
