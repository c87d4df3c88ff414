"""The client's own memory of a project: an index that fits, and topics that say what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from brimline.rules import memoryfiles

TOPIC = "---\nname: Names\ndescription: what things are called\ntype: reference\n---\nText.\n"


@pytest.fixture
def memory(project_dir: str) -> Path:
    """The folder that the client keeps."""
    folder = Path(memoryfiles.folder(project_dir))
    folder.mkdir(parents=True)
    return folder


def remarks(project_dir: str) -> list[str]:
    """What is said about it."""
    return [remark.text for remark in memoryfiles.check(project_dir)]


def test_a_project_without_memory_has_nothing_wrong_with_it(project_dir: str) -> None:
    """The folder is the client's to make."""
    assert remarks(project_dir) == []


@pytest.mark.row("S4-04", "S4-08", "S2-22")
@pytest.mark.parametrize(("lines", "is_cut"), [(200, False), (201, True), (250, True)])
def test_an_index_is_flagged_where_the_client_would_cut_it(
    lines: int, memory: Path, project_dir: str, *, is_cut: bool
) -> None:
    """Silently, from line 201 on."""
    (memory / "MEMORY.md").write_text("- a line\n" * lines, encoding="utf-8")

    found = list(memoryfiles.check(project_dir))

    assert [remark.line for remark in found] == ([201] if is_cut else [])


def test_an_index_of_few_long_lines_is_flagged_too(memory: Path, project_dir: str) -> None:
    """25,000 bytes are the other limit."""
    (memory / "MEMORY.md").write_text("x" * 25_001, encoding="utf-8")

    assert remarks(project_dir) == ["it has 25,001 bytes, and the client drops all after 25,000"]


@pytest.mark.row("S4-05", "S4-06", "S4-27")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOPIC, []),
        (TOPIC.replace("reference", "'user'"), []),
        (TOPIC.replace("reference", "rumour"), ["its type is 'rumour': it takes one of user, "]),
        (TOPIC.replace("name: Names\n", ""), ["its front matter lacks name"]),
        ("Text only.\n", ["it has no front matter with name, description and type"]),
        ("---\nname: never closed\n", ["it has no front matter"]),
        ("", ["it has no front matter"]),
    ],
)
def test_a_topic_says_what_it_is(
    text: str, expected: list[str], memory: Path, project_dir: str
) -> None:
    """By name, description and one of four types."""
    (memory / "names.md").write_text(text, encoding="utf-8")
    (memory / "picture.png").write_bytes(b"\x89PNG")

    found = remarks(project_dir)

    assert len(found) == len(expected)
    for remark, start in zip(found, expected, strict=True):
        assert remark.startswith(start)


def test_bytes_that_are_no_text_are_no_reason_to_fail(memory: Path, project_dir: str) -> None:
    """Memory files may be anything."""
    (memory / "odd.md").write_bytes(b"\xff\xfe---\n")
    (memory / "folder.md").mkdir()

    assert len(remarks(project_dir)) == 1
