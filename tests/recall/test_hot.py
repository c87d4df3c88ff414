"""The client's memory folder, as people and strangers leave it: large, linked, crooked files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from brimline.errors import StateError
from brimline.fast import paths
from brimline.recall import deep, hot, textfile
from brimline.recall.hot import _MOST_LINES

TOPIC = "---\nname: {0}\ndescription: About {0}\ntype: user\n---\n\nText of {0}.\n"
OVER = textfile.LARGEST_BYTES


@pytest.fixture
def place(project_dir: str) -> Path:
    """The memory of this project."""
    folder = Path(paths.project_transcripts_dir(project_dir), "memory")
    folder.mkdir(parents=True)
    return folder


def put(place: Path, file: str, text: str) -> Path:
    """A file as somebody left it, to the byte."""
    path = place / file
    path.write_bytes(text.encode())
    return path


def add(place: Path, name: str, text: str = "") -> hot.Topic:
    """Write a topic."""
    return hot.add_topic(str(place), name, "user", f"About {name}", text or f"Text of {name}.")


def contents(place: Path) -> dict[str, bytes]:
    """Every file."""
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


@pytest.mark.parametrize("file", ["MEMORY.md", "old.md"])
def test_what_is_too_large_to_be_read_is_not_written(place: Path, file: str) -> None:
    """Not its first part either."""
    put(place, "old.md", TOPIC.format("old"))
    put(place, file, TOPIC.format("old") + "- a line\n" * (OVER // 9))
    before = contents(place)
    with pytest.raises(StateError, match="is larger than"):
        add(place, "new", "x" * (OVER if file == "old.md" else 1))

    assert contents(place) == before
    assert any(f.path.endswith(file) and "is larger" in f.text for f in hot.lint(str(place)))


@pytest.mark.parametrize(
    ("lines", "has_room"),
    [
        (["- a line"] * (_MOST_LINES - 1), True),
        (["- a line"] * _MOST_LINES, False),
        (["x" * 24_000], True),
        (["x" * 25_000], False),
    ],
)
def test_an_index_that_the_client_would_not_load_whole_takes_no_more(
    place: Path, lines: list[str], has_room: bool
) -> None:
    """And there is no topic then that it does not name."""
    put(place, "MEMORY.md", "\n".join(lines) + "\n")
    before = contents(place)

    if has_room:
        assert add(place, "new").file_name == "new.md"
        return
    with pytest.raises(StateError, match=r"MEMORY\.md is full: take out lines"):
        add(place, "new")
    assert contents(place) == before


@pytest.mark.parametrize(
    ("before", "place_of_new"),
    [
        (["# Topics", "", "- [new](new.md) — old", "1. other"], 2),
        (["# Topics", "", "1. other"], 2),
        (["# Topics"], 1),
        ([], 0),
    ],
)
def test_a_topic_has_one_line_in_its_place_or_before_all_other_entries(
    place: Path, before: list[str], place_of_new: int
) -> None:
    """Headings stay above it."""
    put(place, "MEMORY.md", "".join(f"{line}\n" for line in before))
    add(place, "new")
    after = (place / "MEMORY.md").read_text(encoding="utf-8").splitlines()

    assert after[place_of_new] == "- [new](new.md) — About new"
    assert [line for line in before if "new.md" not in line] == [
        line for line in after if "new.md" not in line
    ]


def test_nothing_is_read_or_written_by_links(place: Path, project_dir: str, tmp_path: Path) -> None:
    """Index, topic, a folder in the project; the client's own folder may be a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = put(outside, "secret.md", TOPIC.format("secret"))
    (place / "topic.md").symlink_to(secret)
    assert "is a link" in hot.lint(str(place))[0].text
    found = {one.path for one in deep.find_sources(paths.data_dir(), project_dir)}
    assert str(place / "topic.md") not in found

    (place / "MEMORY.md").symlink_to(secret)
    with pytest.raises(StateError, match="is a link"):
        add(place, "new")
    assert hot.index_text_cut_to_fit(str(place), 1_000) == ""
    linked = Path(project_dir, "linked")
    linked.symlink_to(outside)
    with pytest.raises(StateError, match="is a link"):
        add(linked, "new")
    assert hot.topic_file_names(str(linked)) == []
    put(outside, "MEMORY.md", "- a secret")
    assert hot.index_text_cut_to_fit(str(linked), 1_000) == ""
    (outside / "MEMORY.md").unlink()
    assert contents(outside) == {"secret.md": TOPIC.format("secret").encode()}
    own = place.parent / "own"
    own.symlink_to(outside)
    assert add(own, "new").file_name == "new.md"


def test_one_bad_file_stops_nothing_else(place: Path) -> None:
    """It is reported with its line; others are listed."""
    put(place, "deep.md", f"---\nname: {'[' * 600}\n---\nx\n")
    put(place, "when.md", "---\nname: x\nand so on\n---\nx\n")
    (place / "dir.md").mkdir()
    os.mkfifo(place / "pipe.md")
    add(place, "good")
    told = {Path(one.path).name: (one.line, one.text) for one in reversed(hot.lint(str(place)))}

    assert told["dir.md"] == (1, "it is not a file")
    assert told["pipe.md"] == (1, "it is not a file")
    assert told["deep.md"] == (1, "its front matter has no name")
    assert told["when.md"] == (3, "a line of its front matter is not `key: text`")
    assert len(hot.read_topics(str(place))) == 5


def test_any_name_has_a_file_and_a_line_of_its_own(place: Path) -> None:
    """Names that differ in signs alone, brackets, links in names, long names, reserved names."""
    names = ["C++", "C#", "🎉", "🦀", "a]b", "[masked]", "x](c.md) y", "memory", "archive"]
    names += ["long " * 100, "é" * 300, "back\\slash"]
    made = [add(place, name) for name in names]
    assert len({one.file_name for one in made}) == len(names)
    assert not {"MEMORY.md", "archive.md", "memory.md"} & {one.file_name for one in made}
    assert hot.lint(str(place)) == []


def test_an_index_that_just_fits_is_shown_whole(place: Path) -> None:
    """In the room there is, in lines and in bytes."""
    put(place, "MEMORY.md", "- one\n- two\n\n")

    shown = [hot.index_text_cut_to_fit(str(place), room) for room in (20, 11, 10)]

    assert shown == ["- one\n- two", "- one\n- two", "\n[truncated]"]
    for text in ("\n".join(["- x"] * 200), "x" * 25_000):
        put(place, "MEMORY.md", text)
        assert hot.index_text_cut_to_fit(str(place), 25_000) == text


def test_the_index_keeps_its_mode_and_its_line_ends(place: Path) -> None:
    """Whoever wrote it."""
    index = put(place, "MEMORY.md", "# Ours\r\n\r\n- [old](old.md) — x\r\n")
    index.chmod(0o644)
    add(place, "new")
    raw = index.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") > 3
    assert index.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("front", "problem", "line"),
    [
        ("name: a\ndescription: d\ntype: user", "", 1),
        ("name: a\ndescription: d\nmetadata:\n  type: project", "", 1),
        ("description: d\ntype: user", "its front matter has no name", 1),
        ("name: a\ntype: user", "its front matter has no description", 1),
        ("name: a\ndescription: [d]\ntype: user", "its front matter has no description", 1),
        ("name: a\ndescription: d", "its front matter has no type", 1),
        ("name: a\ndescription: d\ntype: odd", "its type 'odd' is none of user, feedback", 4),
        ("- a list", "its front matter has no name", 1),
        ("name: a\nb c", "a line of its front matter is not `key: text`", 3),
    ],
)
def test_what_is_wrong_with_the_head_of_a_topic_is_told_with_its_line(
    front: str, problem: str, line: int
) -> None:
    """Its text is there in any case."""
    topic = hot.parse_topic("/m/a.md", f"---\n{front}\n---\n\nThe text.\n".encode())

    assert topic.problem.startswith(problem)
    assert bool(topic.problem) is bool(problem)
    assert topic.text == "The text."
    if problem:
        assert topic.line == line
    headless = hot.parse_topic("/m/a.md", b"The text.\n---\n")
    assert (headless.problem, headless.line) == ("it has no front matter", 1)
    assert hot.parse_topic("/m/a.md", b"---\nname: a\n").problem == "it has no front matter"


@pytest.mark.parametrize(
    ("name", "kind", "description", "text", "problem"),
    [
        ("a", "odd", "d", "t", "there is no type 'odd': use user, feedback, project, reference"),
        ("/etc/a", "user", "d", "t", "is not a name for a topic: it looks like a path"),
        ("~a", "user", "d", "t", "it looks like a path"),
        (".a", "user", "d", "t", "it looks like a path"),
        (" ", "user", "d", "t", "a topic needs a name, a description and a text"),
        ("a", "user", "", "t", "a topic needs a name, a description and a text"),
        ("a", "user", "d", " \n", "a topic needs a name, a description and a text"),
        ("OLD", "user", "d", "t", "is there already: change that file"),
        ("new", "user", "d", "x" * hot._LEAST_SAME, "says the same already"),
    ],
)
def test_a_topic_that_cannot_be_one_is_refused_and_nothing_is_written(
    place: Path, name: str, kind: str, description: str, text: str, problem: str
) -> None:
    """In a sentence that says what to do."""
    add(place, "old", "x" * hot._LEAST_SAME)
    before = contents(place)

    with pytest.raises(StateError, match=re.escape(problem)):
        hot.add_topic(str(place), name, kind, description, text)

    assert contents(place) == before


def test_two_topics_may_say_the_same_short_word(place: Path) -> None:
    """Where it is from is kept."""
    short = "x" * (hot._LEAST_SAME - 1)
    add(place, "one", short)
    hot.add_topic(str(place), "two", "user", "About two", short, source="a session")

    assert [topic.text for topic in hot.read_topics(str(place))] == [short] * 2
    assert "\nsource: a session\n---\n" in (place / "two.md").read_text()
    assert hot.lint(str(place))[-1].text == "it has the same text as one.md"


@pytest.mark.parametrize(
    ("index", "problems"),
    [
        ("- [a](a.md) — x\n" + "x\n" * 199, []),
        (
            "- [a](a.md) — x\n" + "x\n" * 200,
            [(201, "the client loads 200 lines of 201")],
        ),
        ("- [a](a.md) — " + "x" * 24_984, []),
        ("- [a](a.md) — " + "x" * 24_985, [(1, "the client loads 25,000 bytes of 25,001")]),
        ("", [(1, "MEMORY.md does not name it")]),
        (
            "- [a](a.md) — x\n- [a](a.md) — y\n- [b](b.md) — z\n- [w](https://x.y) — w\n",
            [
                (2, "a.md is named twice: also in line 1 of MEMORY.md"),
                (3, "b.md is not there"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_an_index_is_told_with_its_line(
    place: Path, index: str, problems: list[tuple[int, str]]
) -> None:
    """Lines that the client does not load, that lead nowhere, that are there twice."""
    put(place, "a.md", TOPIC.format("a"))
    put(place, "MEMORY.md", index)

    assert [(found.line, found.text) for found in hot.lint(str(place))] == problems


def test_topics_that_say_the_same_are_told_by_name_and_by_text(place: Path) -> None:
    """However they are written; the archive's lines count too."""
    for name, text in (("a", "Same  words"), ("b", "same\nWORDS"), ("c", "other")):
        front = f"---\nname: {'A' if name == 'c' else name}\ndescription: d\ntype: user\n---\n"
        put(place, f"{name}.md", f"{front}\n{text}\n")
    put(place, "MEMORY.md", "- [a](a.md) — x\n- [b](b.md) — x\n")
    put(place, "archive.md", TOPIC.format("archive") + "- [c](c.md) — x\n")

    found = [(Path(one.path).name, one.line, one.text) for one in hot.lint(str(place))]

    assert found == [
        ("c.md", 1, "it has the same name as a.md"),
        ("b.md", 1, "it has the same text as a.md"),
    ]


SLUG = hot._SLUG_BYTES


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Two words", "two-words.md"),
        ("a" * SLUG, "a" * SLUG + ".md"),
        ("a" * (SLUG + 1), "a" * SLUG + ".md"),
        ("é" * SLUG, "é" * (SLUG // 2) + ".md"),
        ("a" + "é" * SLUG, "a" + "é" * ((SLUG - 1) // 2) + ".md"),
        ("!!!", "topic.md"),
        ("memory", "memory-2.md"),
        ("Archive", "archive-2.md"),
        ("taken", "taken-3.md"),
    ],
)
def test_a_topic_has_a_file_named_after_it(place: Path, name: str, file: str) -> None:
    """Of some bytes, with a number where the name is taken or not for topics."""
    for taken in ("taken.md", "taken-2.md"):
        put(place, taken, TOPIC.format(f"x {taken}"))

    assert add(place, name).file_name == file


@pytest.mark.parametrize(
    ("text", "room"),
    [
        ("é" * 20_000, 30_000),
        ("x" + "é" * 20_000, 30_000),
        ("x" * 30_000, 9_000),
        ("- short\n" + "x" * 20_000, 9_000),
        ("- line\n" * 201, 9_000),
        ("x" * 25_001, 90_000),
    ],
)
def test_an_index_that_is_cut_says_so(place: Path, text: str, room: int) -> None:
    """Between characters; a long line is cut rather than left out."""
    put(place, "MEMORY.md", text)
    shown = hot.index_text_cut_to_fit(str(place), room)
    head = shown.removesuffix("\n[truncated]")

    assert head != shown
    assert text.startswith(head)
    assert len(shown) <= room
    assert len(head) > min(room, 1_400) * 0.9
