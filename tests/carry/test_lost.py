"""What a summary no longer names, with the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import stub
from brimline.carry import lost

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

KEY = "sha256:" + "ab" * 32


def read(session: SessionBuilder, path: str) -> None:
    """A file is read."""
    session.tool_result(session.tool_call(9_000, "Read", file_path=path), "text")


def test_files_that_were_lost_are_told_apart_by_their_ends(session: SessionBuilder) -> None:
    """And how many of them are named."""
    folder = "/home/somebody/" + "a-long-folder/" * 6
    for number in range(lost._SHOWN + 2):
        read(session, f"{folder}part_{number}.py")
    session.compact(150_000, summary="None of them.")

    (loss,) = lost.losses_by_boundary(session.path).values()
    (line,) = lost.lines_of_one_loss(loss, session.session_id)

    shown, count = lost._SHOWN, lost._SHOWN + 2
    told = f"{count} files not in the summary (to be read again): {shown} of {count}: …"
    assert line.startswith(told)
    named = [f"part_{number}.py" in line for number in range(count)]
    assert named == [False] * 2 + [True] * shown


def test_of_a_very_long_session_the_last_of_each_kind_are_compared(
    session: SessionBuilder,
) -> None:
    """What comes again is the latest."""
    for number in [*range(lost._MOST_KEPT + 1), 5]:
        session.prompt(f"message {number}.")
    session.compact(150_000, summary="None of them.")

    (loss,) = lost.losses_by_boundary(session.path).values()

    told = [int(text[8:-1]) for text in loss["messages"]]
    assert told == [1, 2, 3, 4, *range(6, lost._MOST_KEPT + 1), 5]


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


MOST = lost._TEXT_CHARACTERS


@pytest.mark.parametrize(
    ("length", "shown"), [(MOST, "x" * MOST), (MOST + 1, "x" * (MOST - 1) + "…")]
)
def test_what_was_lost_is_named_in_few_characters(length: int, shown: str) -> None:
    """Of each; the session by its first eight."""
    loss: dict[str, Any] = {"messages": ["x" * length], "files": [], "outputs": ["sha256:1 a"]}
    lines = lost.lines_of_one_loss(loss, "1" * 9)

    assert lines == [
        f"1 message not in the summary (brimline carry show --session {'1' * 8}): {shown}",
        "1 output not in the summary (brimline store get KEY): sha256:1 a",
    ]
    nothing: dict[str, Any] = {"messages": [], "files": [], "outputs": []}
    assert lost.lines_of_one_loss(nothing, "1") == []
