"""What a summary no longer names, with the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import lost
from brimline.store import stub

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

KEY = "sha256:" + "ab" * 32


def read(session: SessionBuilder, path: str) -> None:
    """A file is read."""
    session.tool_result(session.tool_call(9_000, "Read", file_path=path), "text")


def test_what_a_summary_leaves_out_is_named_and_repeated_look_ups_are_counted(
    session: SessionBuilder,
) -> None:
    """Messages, files and stored outputs; what it names is not lost."""
    session.prompt("Never touch the orders table.")
    session.prompt("Use port 5433.")
    read(session, "/src/named.py")
    read(session, "/src/gone.py")
    read(session, "/src/gone.py")
    preview = stub.build_reference_head(stub.Stub(KEY, 9_000, tool="Bash", source="make docs"))
    session.tool_result(session.tool_call(9_000, command="make docs"), preview)
    session.compact(150_000, summary="The user said: Use port 5433. named.py is read.")
    read(session, "/src/gone.py")
    read(session, "/src/new.py")

    (loss,) = lost.losses_by_boundary(session.path).values()

    assert loss == {
        "messages": ["Never touch the orders table."],
        "files": ["/src/gone.py"],
        "outputs": [f"{KEY[:19]} make docs"],
        "repeated_before": 1,
        "repeated_after": 1,
    }
    shown = "\n".join(lost.lines_of_one_loss(loss, session.session_id))
    assert "(brimline carry show --session 11111111): Never touch the orders table." in shown
    assert "1 file not in the summary (to be read again): /src/gone.py" in shown
    assert f"(brimline store get KEY): {KEY[:19]} make docs" in shown
    assert "look-ups repeated: 1 in the 20 requests before, 1 after" in shown


def test_files_that_were_lost_are_told_apart_by_their_ends(session: SessionBuilder) -> None:
    """And how many of them are named."""
    folder = "/home/somebody/" + "a-long-folder/" * 6
    for number in range(7):
        read(session, f"{folder}part_{number}.py")
    session.compact(150_000, summary="None of them.")

    (loss,) = lost.losses_by_boundary(session.path).values()
    (line,) = lost.lines_of_one_loss(loss, session.session_id)

    assert line.startswith("7 files not in the summary (to be read again): 5 of 7: …")
    assert [f"part_{number}.py" in line for number in range(7)] == [False] * 2 + [True] * 5


def test_a_compaction_without_a_summary_lost_nothing(session: SessionBuilder) -> None:
    """What the mod moves out has a line in its place."""
    session.prompt("Never touch the orders table.")
    session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    read(session, "/src/new.py")

    assert lost.losses_by_boundary(session.path) == {}


def test_what_was_lost_is_told_by_the_last_five_of_each_kind() -> None:
    """With how many there are, and the way back."""
    loss: dict[str, Any] = {
        "messages": [f"message {number}" for number in range(6)],
        "files": ["/src/a.py"],
        "outputs": [],
        "repeated_before": 0,
        "repeated_after": 3,
    }

    lines = lost.lines_of_one_loss(loss, "11112222-3333")

    way = "brimline carry show --session 11112222"
    names = "message 1; message 2; message 3; message 4; message 5"
    assert lines == [
        f"6 messages not in the summary ({way}): 5 of 6: {names}",
        "1 file not in the summary (to be read again): /src/a.py",
        "look-ups repeated: 0 in the 20 requests before, 3 after",
    ]
    few = lost.lines_of_one_loss(
        loss | {"messages": loss["messages"][:5], "repeated_after": 0}, "1"
    )
    assert few[0].endswith(": message 0; message 1; message 2; message 3; message 4")
    assert len(few) == 2


def test_look_ups_are_counted_for_twenty_requests_around_a_compaction(
    session: SessionBuilder,
) -> None:
    """Those further away are not the compaction's."""

    def look_up(name: str) -> None:
        session.tool_result(session.tool_call(20_000, "Grep", pattern=name), "none")

    for name in ("a", "a", *map(str, range(19)), "0"):
        look_up(name)
    session.compact(160_000, summary="A summary.")
    for name in (*map(str, range(100, 119)), "a", "b", "b"):
        look_up(name)

    ((_, loss),) = lost.losses_by_boundary(session.path).items()

    assert (loss["repeated_before"], loss["repeated_after"]) == (1, 1)


def test_of_a_very_long_session_the_last_thousand_of_each_kind_are_compared(
    session: SessionBuilder,
) -> None:
    """What comes again is the latest."""
    for number in [*range(1_001), 5]:
        session.prompt(f"message {number}.")
    session.compact(150_000, summary="None of them.")

    (loss,) = lost.losses_by_boundary(session.path).values()

    told = [int(text[8:-1]) for text in loss["messages"]]
    assert told == [1, 2, 3, 4, *range(6, 1_001), 5]


def test_a_stored_output_is_lost_where_neither_its_key_nor_its_source_is_named(
    session: SessionBuilder,
) -> None:
    """One without a source is told by its key alone."""
    sources = {"aa": "make docs", "bb": "make lint", "cc": "make test", "dd": None}
    for digits, source in sources.items():
        reference = stub.Stub("sha256:" + digits * 32, 9_000, source=source)
        call = session.tool_call(9_000, command=source or "x")
        session.tool_result(call, stub.build_reference_head(reference))
    session.compact(150_000, summary=f"It ran make lint; {'sha256:' + 'aa' * 6} is kept.")

    (loss,) = lost.losses_by_boundary(session.path).values()

    assert loss["outputs"] == [f"sha256:{'cc' * 6} make test", f"sha256:{'dd' * 6}"]


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 59 + "…")])
def test_what_was_lost_is_named_in_sixty_characters(length: int, shown: str) -> None:
    """Of each; the session by its first eight."""
    loss: dict[str, Any] = {"messages": ["x" * length], "files": [], "outputs": ["sha256:1 a"]}
    lines = lost.lines_of_one_loss(loss | {"repeated_before": 1, "repeated_after": 0}, "1" * 9)

    assert lines == [
        f"1 message not in the summary (brimline carry show --session {'1' * 8}): {shown}",
        "1 output not in the summary (brimline store get KEY): sha256:1 a",
        "look-ups repeated: 1 in the 20 requests before, 0 after",
    ]
    nothing: dict[str, Any] = {"messages": [], "files": [], "outputs": []}
    assert lost.lines_of_one_loss(nothing | {"repeated_before": 0, "repeated_after": 0}, "1") == []


def test_each_compaction_has_its_own_losses_by_the_row_it_begins_with(
    session: SessionBuilder,
) -> None:
    """What the first summary lost is lost to the second as well; look-ups count anew."""

    def look_up(name: str) -> None:
        session.tool_result(session.tool_call(20_000, "Grep", pattern=name), "none")

    session.prompt("First wish")
    look_up("a")
    look_up("a")
    session.compact(160_000, summary="Nothing of it.")
    look_up("a")
    session.prompt("Second wish")
    session.compact(160_000, summary="The Second wish, and no more.")

    losses = lost.losses_by_boundary(session.path)

    lines = Path(session.path).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    boundaries = [row["uuid"] for row in rows if row.get("subtype") == "compact_boundary"]
    assert list(losses) == boundaries
    first, second = losses.values()
    assert (first["messages"], second["messages"]) == (["First wish"], ["First wish"])
    assert (first["repeated_before"], first["repeated_after"]) == (1, 1)
    assert (second["repeated_before"], second["repeated_after"]) == (2, 0)
