"""What requests used: read once, each counted once, forgotten where that was asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import StateError
from brimline.figures import spending, traces
from brimline.state import forgotten
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from brimline.figures.spending import Spending


def session(world: Path, name: str = "abc", counter: int = 0) -> SessionBuilder:
    """A session in the client's folder."""
    path = world / "home" / ".claude" / "projects" / "p" / f"{name}.jsonl"
    return SessionBuilder(str(path), name, "/home/dev/p", counter=counter)


def counts(found: list[Spending]) -> dict[str, int]:
    """How many requests each transcript has."""
    return {os.path.basename(one.path): len(one.requests) for one in found}


def test_a_transcript_is_read_once_until_it_grows(world: Path, home_dir: str) -> None:
    """What was read is kept, and only that; of one that is gone nothing is."""
    builder, other = session(world), session(world, "other", 500)
    builder.reply(5_000, output_tokens=7)
    other.reply(9_000)
    read: list[int] = []
    files = [builder.path, other.path, f"{builder.path}.gone", str(world)]
    first = spending.read_spendings(home_dir, files, read.append)
    seen = sum(read)
    again = spending.read_spendings(home_dir, files, read.append)

    assert seen == sum(read) == sum(map(os.path.getsize, (builder.path, other.path)))
    assert first == again
    (request,) = first[0].requests
    assert (request.prompt_tokens, request.output_tokens) == (5_000, 7)
    assert request.tokens == (10, 1_000, 0, 3_990, 7)
    assert (first[0].session_id, first[0].project) == ("abc", "/home/dev/p")
    builder.reply(6_000)
    os.unlink(other.path)
    assert counts(spending.read_spendings(home_dir, [builder.path])) == {"abc.jsonl": 2}
    assert [one.session_id for one in spending.load_kept_spendings(home_dir)] == ["abc"]


def test_a_request_counts_once_and_not_in_the_fork(world: Path, home_dir: str) -> None:
    """Its rows are those of one reply, of which the last has the figures and the first the time."""
    fork, origin = session(world, "a-fork"), session(world, "origin")
    for builder, more in ((fork, {"forkedFrom": {"sessionId": "origin"}}), (origin, {})):
        builder.reply(1_000, message_id="same", output_tokens=1, **more)
        builder.reply(2_000, message_id="same", output_tokens=9, **more)
    fork.reply(3_000, message_id="new")

    found = spending.read_spendings(home_dir, [fork.path, origin.path])

    assert counts(found) == {"origin.jsonl": 1, "a-fork.jsonl": 1}
    assert [one.is_fork for one in found] == [False, True]
    (request,) = found[0].requests
    assert (request.at, request.prompt_tokens, request.output_tokens) == (1_790_000_001, 2_000, 9)


def test_subagents_belong_to_their_session_wherever_their_files_are(world: Path) -> None:
    """In a folder of the session's, or beside it as older clients have them."""
    builder = session(world)
    builder.reply(1_000)
    inside = f"{builder.path.removesuffix('.jsonl')}/subagents/agent-1.jsonl"
    beside = f"{os.path.dirname(builder.path)}/agent-2.jsonl"
    for number, path in enumerate((inside, beside), 1):
        SessionBuilder(path, "abc", counter=100 * number).reply(1_000 + number)

    found = spending.read_session_spendings(builder.path)

    assert {os.path.basename(one.path): one.is_subagent for one in found} == {
        "abc.jsonl": False,
        "agent-1.jsonl": True,
        "agent-2.jsonl": True,
    }
    assert {one.session_id for one in found} == {"abc"}
    assert inside in spending.all_transcripts()
    assert spending.read_session_spendings(f"{world}/none.jsonl") == []


def test_what_was_forgotten_does_not_count_and_what_came_later_does(
    world: Path, home_dir: str
) -> None:
    """From that moment on, that included."""
    builder = session(world)
    for tokens in (1_000, 2_000, 3_000):
        builder.reply(tokens)
    os.utime(builder.path, (1_790_000_002, 1_790_000_002))
    forgotten.note_forgotten(home_dir, 1_790_000_002.0, {"session": "abc"})
    nothing = spending.read_spendings(home_dir, [builder.path])
    os.utime(builder.path, (1_790_000_009, 1_790_000_009))

    (found,) = spending.read_spendings(home_dir, [builder.path])

    assert nothing == []
    assert [request.prompt_tokens for request in found.requests] == [2_000, 3_000]


def test_figures_are_let_go_of_by_session(world: Path, home_dir: str) -> None:
    """A dry run lets go of nothing; the last request tells when a session was active."""
    for number, name in enumerate(("abc", "other")):
        builder = session(world, name, number * 100)
        for tokens in (1_000, 2_000):
            builder.reply(tokens)
        spending.read_spendings(home_dir, [builder.path])
    known = list(traces.sessions(home_dir))
    asked = forgotten.Asked(("abc",))
    traces.forget(home_dir, asked, dry_run=True)
    before = len(spending.load_kept_spendings(home_dir))
    traces.forget(home_dir, asked, dry_run=False)

    assert known == [(name, "/home/dev/p", 1_790_000_002.0) for name in ("abc", "other")]
    assert before == 2
    assert [one.session_id for one in spending.load_kept_spendings(home_dir)] == ["other"]


@pytest.mark.parametrize("content", [b"x\n", b'{"v":1}\n', b'{"v":1,"requests":[[1]]}\n', None])
def test_what_cannot_be_read_is_made_anew(
    world: Path, home_dir: str, content: bytes | None
) -> None:
    """It is derived from the transcripts; what cannot be written is told."""
    builder = session(world)
    builder.reply(1_000)
    path = Path(home_dir, spending.FILE)
    path.parent.mkdir(parents=True)
    if content is None:
        path.mkdir()
        with pytest.raises(StateError, match=r"spending\.jsonl cannot be written: "):
            spending.read_spendings(home_dir, [builder.path])
        path.rmdir()
    else:
        path.write_bytes(content)
        assert spending.load_kept_spendings(home_dir) == []

    assert counts(spending.read_spendings(home_dir, [builder.path])) == {"abc.jsonl": 1}
    assert len(spending.load_kept_spendings(home_dir)) == 1


def test_where_figures_cannot_be_kept_the_reason_is_told(world: Path, home_dir: str) -> None:
    """In the system's words."""
    made = session(world)
    made.reply(1_000)
    Path(home_dir, "spending.jsonl").mkdir(parents=True)

    with pytest.raises(StateError) as raised:
        spending.read_spendings(home_dir, [made.path])

    assert str(raised.value) == f"{home_dir}/spending.jsonl cannot be written: Is a directory"
