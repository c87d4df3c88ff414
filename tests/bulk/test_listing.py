"""`store list`: what is stored, how much it is, and what is pinned."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import layout, listing, pins

from .shelves import stored, text


def test_the_last_used_comes_first_and_as_many_as_are_wanted(home_dir: str) -> None:
    """All of them without a limit, the pinned ones, or those of a session."""
    keys = [stored(home_dir, text(n), 100 - n, session=f"s{n % 2}", tool="Bash") for n in range(4)]
    pins.pin(home_dir, keys[0], pins.HARD, "why")
    pins.pin(home_dir, keys[2], pins.SOFT)

    def listed(*arguments: Any, **more: Any) -> list[str]:
        document = listing.document(home_dir, *arguments, **more)
        return [row["key"] for row in document["outputs"]]

    assert listed(0) == keys[::-1]
    assert listed(3) == keys[:0:-1]
    assert listed(0, pinned=True) == [keys[2], keys[0]]
    assert listed(0, "s1") == [keys[3], keys[1]]
    document = listing.document(home_dir, 1)
    assert (document["blobs"], document["pins"]) == (4, {"soft": 1, "hard": 1})
    assert document["folder"] == layout.store_folder(home_dir)
    assert document["disk_bytes"] > 0
    (row,) = document["outputs"]
    assert (row["bytes"], row["tool"], row["session"]) == (4_000, "Bash", "s1")
    assert (row["pin"], row["reason"]) == ("none", None)
    assert row["used"].startswith("2")
    held = listing.document(home_dir, 0, pinned=True)["outputs"]
    assert [(row["pin"], row["reason"]) for row in held] == [("soft", None), ("hard", "why")]


def row(**changes: Any) -> dict[str, Any]:
    """An output of the document."""
    return {
        "key": layout.PREFIX + "0123456789abcdef" * 4,
        "bytes": 4_000,
        "lines": 1_200,
        "used": "2026-01-08T15:49:03.000Z",
        "pin": "none",
        "reason": None,
        "tool": "Bash",
        "source": "make",
    } | changes


def document(*rows: dict[str, Any], blobs: int = 2) -> dict[str, Any]:
    """A list of outputs."""
    held = {"soft": 0, "hard": 1}
    return {"blobs": blobs, "disk_bytes": 1_500, "pins": held, "outputs": list(rows)}


def test_a_row_has_sizes_times_and_what_it_was() -> None:
    """What is unknown is a question mark."""
    key = listing.short_digits_of_key(row()["key"])
    unknown = row(bytes=None, lines=None, pin="hard", tool=None, source=None)

    lines = listing.text(document(row(), unknown)).split("\n")

    assert lines[0].split() == ["key", "size", "lines", "last", "used", "pin", "tool", "what"]
    assert lines[1].split() == [key, "4.0", "kB", "1,200", "2026-01-08", "15:49Z", "Bash", "make"]
    assert lines[2].split() == [key, "?", "?", "2026-01-08", "15:49Z", "hard"]
    assert lines[0].index("size") + 4 == lines[1].index("kB") + 2
    assert lines[0].index("lines") + 5 == lines[1].index("1,200") + 5
    assert lines[3:] == ["2 of 2 outputs, 1.5 kB on disk; pinned: 0 soft, 1 hard"]


def test_reasons_stand_in_place_of_sources() -> None:
    """Empty where there is none."""
    lines = listing.text(document(row(reason="kept"), row()), reasons=True).split("\n")

    assert lines[0].split()[-1] == "why"
    assert lines[1].split()[-1] == "kept"
    assert lines[2].split()[-1] == "15:49Z"


@pytest.mark.parametrize(
    ("limit", "blobs", "said"), [(1, 2, True), (1, 1, False), (2, 3, False), (0, 5, False)]
)
def test_a_list_that_was_cut_says_so(limit: int, blobs: int, said: bool) -> None:
    """And one with a name that was cut says where it is whole."""
    shown = listing.text(document(row(), blobs=blobs), limit)
    assert ("--limit 0 lists all." in shown) is said
    assert "--json" not in shown
    assert "--json has every name whole." in listing.text(document(row(source="x" * 99)))


def test_the_name_of_a_tool_is_cut_and_an_empty_store_says_so() -> None:
    """One that is not longer than its column is whole."""
    most = "a" * listing._TOOL_CHARACTERS
    assert f" {most} " in listing.text(document(row(tool=most)))
    assert f" {most[1:]}… " in listing.text(document(row(tool=f"{most}b")))
    assert listing.text(document(blobs=0)) == "Nothing is stored."
    assert listing.text(document()).startswith("0 of 2 outputs")


def test_sizes_and_lines_stand_to_the_right() -> None:
    """And everything else to the left."""
    small = row(bytes=30, lines=7, pin="hard", tool="Grep")

    assert listing.text(document(row(), small)).split("\n") == [
        "key             size  lines  last used          pin   tool  what",
        "0123456789ab  4.0 kB  1,200  2026-01-08 15:49Z        Bash  make",
        "0123456789ab    30 B      7  2026-01-08 15:49Z  hard  Grep  make",
        "2 of 2 outputs, 1.5 kB on disk; pinned: 0 soft, 1 hard",
    ]
