"""Reading what stands where an instruction file should: text, or anything else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.rules import textfile

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def read(path: Path, inside: Path | None = None) -> textfile.Reading | None:
    """As the cascade does."""
    return textfile.read(str(path), str(inside) if inside else None)


def test_line_ends_and_a_byte_order_mark_do_not_matter(world: Path) -> None:
    """Files from Windows read like others."""
    path = world / "CLAUDE.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")

    assert read(path) == ("one\ntwo\nthree\n", None)


def test_what_is_not_there_is_no_problem(world: Path) -> None:
    """Nor is a folder on the way that is none."""
    (world / "file").write_text("x")

    assert read(world / "CLAUDE.md") is None
    assert read(world / "file" / "CLAUDE.md") is None


def test_other_things_in_its_place_are_named(world: Path) -> None:
    """A folder, a pipe, a link to nothing, a circle of links, binary data."""
    (world / "folder").mkdir()
    os.mkfifo(world / "pipe")
    os.symlink("nowhere", world / "dangling")
    os.symlink("circle", world / "circle")
    (world / "binary").write_bytes(b"\x7fELF\0\0")
    said = {name: read(world / name) for name in ("folder", "pipe", "dangling", "circle", "binary")}

    assert {name: found and found.problem for name, found in said.items()} == {
        "folder": "is a folder, not a file",
        "pipe": "is no regular file, and is not read",
        "dangling": "is a link to nothing",
        "circle": "is a link that leads to itself",
        "binary": "is not a text",
    }


def test_a_huge_file_is_left_out(world: Path) -> None:
    """No window has room for it; one byte less is read."""
    path = world / "CLAUDE.md"
    path.write_bytes(b"x" * (textfile.MOST_BYTES + 1))
    large = read(path)
    path.write_bytes(b"x" * textfile.MOST_BYTES)
    fitting = read(path)

    assert large
    assert large.text is None
    assert "larger than 1 MB" in (large.problem or "")
    assert fitting
    assert len(fitting.text or "") == textfile.MOST_BYTES


def test_invalid_utf8_is_read_and_told(world: Path) -> None:
    """What is text in it still counts."""
    path = world / "CLAUDE.md"
    path.write_bytes(b"good \xff\xfe rule")
    found = read(path)

    assert found
    assert found.text == "good \ufffd\ufffd rule"
    assert "not all UTF-8" in (found.problem or "")


def test_a_link_must_not_lead_out(world: Path) -> None:
    """Inside it may point where it likes; a file's own parent counts as resolved."""
    project = world.resolve() / "project"
    (project / "AGENTS.md").write_text("inside")
    os.symlink("AGENTS.md", project / "CLAUDE.md")
    (world / "secret").write_text("outside")
    os.symlink(world / "secret", project / "leak.md")
    inside, outside = read(project / "CLAUDE.md", project), read(project / "leak.md", project)

    assert inside == ("inside", None)
    assert outside
    assert outside.text is None
    assert "leads out of the project" in (outside.problem or "")


def test_a_refused_file_is_a_problem(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own words are told."""
    path = world / "CLAUDE.md"
    path.write_text("x")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)

    assert read(path) == (None, "cannot be read: Permission denied")
