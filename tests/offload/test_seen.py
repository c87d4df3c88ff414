"""Marks of files that were shown as a preview, and what it takes to lift the guard."""

from __future__ import annotations

import pytest

from brimline.fast import io
from brimline.offload.seen import Looks
from brimline.state.session import SessionState

KEY = "sha256:" + "a" * 64


def looks(home_dir: str) -> Looks:
    """What a hook that starts now knows."""
    return Looks(SessionState(home_dir, "s1"), "/p")


@pytest.mark.parametrize(
    ("spans", "is_whole"),
    [
        ([], False),
        ([(1, 100, 100)], True),
        ([(1, 50, 100), (51, 100, 100)], True),
        ([(51, 100, 100), (1, 50, 100)], True),
        ([(1, 60, 100), (40, 100, 100)], True),
        ([(1, 49, 100), (51, 100, 100)], False),
        ([(2, 100, 100)], False),
        ([(1, 100, 101)], False),
        ([(1, 100, 100), (1, 20, 20)], True),  # it has become shorter
        ([(1, 100, 100), (1, 100, 300)], False),  # it has become longer
    ],
)
def test_a_file_was_seen_whole_once_no_line_is_missing(
    home_dir: str, spans: list[tuple[int, int, int]], *, is_whole: bool
) -> None:
    """Of as many lines as it had when it was last looked at."""
    assert looks(home_dir).claim_preview("/p/a", KEY, 100)
    for span in spans:
        looks(home_dir).note_lines("a", span)

    assert looks(home_dir).claim_warning("/p/a") is not is_whole


def test_lines_of_a_recall_count_for_every_file_with_that_content(home_dir: str) -> None:
    """And for no other."""
    for name, key in (("a", KEY), ("b", KEY), ("c", KEY.replace("a" * 9, "b" * 9))):
        looks(home_dir).claim_preview(f"/p/{name}", key, 10)

    looks(home_dir).note_recalled(KEY, 1, 10)

    assert [looks(home_dir).claim_warning(f"/p/{name}") for name in "abc"] == [False, False, True]


def test_a_file_without_a_preview_leaves_no_marks(home_dir: str) -> None:
    """Reading pages of files is nothing to remember."""
    looks(home_dir).note_lines("/p/a", (1, 5, 10))

    assert SessionState(home_dir, "s1").names == []


@pytest.mark.parametrize("damage", [b"", b"\xff\n", b"1 2\n", b"x y z\n1 1 1", b"1 10 10 10\n"])
def test_damaged_notes_do_not_lift_the_guard(home_dir: str, damage: bytes) -> None:
    """What is not understood was not seen."""
    looks(home_dir).claim_preview("/p/a", KEY, 10)
    looks(home_dir).note_lines("/p/a", (1, 5, 10))
    state = SessionState(home_dir, "s1")
    (notes,) = [name for name in state.names if name.startswith("offload-lines")]
    io.replace_file(f"{state.folder}/{notes}", damage)

    assert looks(home_dir).claim_warning("/p/a") is (damage != b"x y z\n1 1 1")


def test_a_damaged_mark_still_guards(home_dir: str) -> None:
    """It names no content, so no recall can be of it."""
    looks(home_dir).claim_preview("/p/a", KEY, 10)
    state = SessionState(home_dir, "s1")
    io.replace_file(f"{state.folder}/{state.names[0]}", b"\xff\xff")

    looks(home_dir).note_recalled(KEY, 1, 10)

    assert looks(home_dir).claim_warning("/p/a")
