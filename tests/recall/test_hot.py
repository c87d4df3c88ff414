"""The client's memory folder, as people and strangers leave it: large, linked, crooked files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from brimline.errors import StateError
from brimline.fast import paths
from brimline.recall import deep, hot

TOPIC = "---\nname: {0}\ndescription: About {0}\ntype: user\n---\n\nText of {0}.\n"
OVER = 1 << 20


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


@pytest.mark.parametrize("file", ["MEMORY.md", "archive.md", "old.md"])
def test_what_is_too_large_to_be_read_is_not_written(place: Path, file: str) -> None:
    """Not its first part either; a topic that could not be edited again is refused."""
    put(place, "old.md", TOPIC.format("old"))
    put(place, file, TOPIC.format("old") + "- a line\n" * (OVER // 9))
    before = contents(place)
    with pytest.raises(StateError, match="is larger than"):
        hot.edit_topic(str(place), "old", text="changed")
    with pytest.raises(StateError, match="is larger than"):
        add(place, "new", "x" * (OVER if file == "old.md" else 1))

    assert contents(place) == before
    assert any(f.path.endswith(file) and "is larger" in f.text for f in hot.lint(str(place)))


@pytest.mark.parametrize(
    "lines",
    [
        [f"- prefers thing {n}" for n in range(300)],
        [f"- prefers {n} {'é' * 300}" for n in range(150)],
        [
            "# Ours",
            "",
            *[f"- [T{n}](https://x.y/{n})\n  - first of {n}\n  same" for n in range(90)],
        ],
        [f"Plain words {n}" for n in range(300)],
        [f"# Heading {n}" for n in range(300)],
        ["x" * 30_000],
    ],
)
def test_an_index_of_any_lines_is_kept_within_the_limits(place: Path, lines: list[str]) -> None:
    """With the new topic and the archive in it; all that moved is in the archive, in its order."""
    put(place, "MEMORY.md", "\n".join(lines) + "\n")
    add(place, "new")
    index = (place / "MEMORY.md").read_text(encoding="utf-8")
    archive = (place / "archive.md").read_text(encoding="utf-8")

    assert index.count("\n") <= 200
    assert len(index.encode()) <= 25_000
    assert "(new.md)" in index
    assert "(archive.md)" in index
    moved = [block for block in lines if f"\n{block}\n" not in f"\n{index}"]
    assert moved == [block for block in lines if block][-len(moved) :]
    assert "\n".join(moved) in archive
    # A topic that is changed comes back from the archive.
    put(place, "MEMORY.md", "")
    put(place, "archive.md", TOPIC.format("archive") + "- [new](new.md) — x\n")
    hot.edit_topic(str(place), "new", description="y")
    assert hot.lint(str(place)) == []


def test_nothing_is_read_or_written_through_a_link(
    place: Path, project_dir: str, tmp_path: Path
) -> None:
    """Index, topic, a folder in the project; the client's own folder may be a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = put(outside, "secret.md", TOPIC.format("secret"))
    (place / "topic.md").symlink_to(secret)
    with pytest.raises(StateError, match="is a link"):
        hot.edit_topic(str(place), "topic.md", text="changed")
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
    """It is reported with its line; other topics are listed, changed, removed."""
    put(place, "deep.md", f"---\nname: {'[' * 600}\n---\nx\n")
    put(place, "when.md", "---\nname: x\nand so on\n---\nx\n")
    (place / "dir.md").mkdir()
    os.mkfifo(place / "pipe.md")
    add(place, "good")
    hot.edit_topic(str(place), "good", text="Better.")
    told = {Path(one.path).name: (one.line, one.text) for one in reversed(hot.lint(str(place)))}

    assert told["dir.md"] == (1, "it is not a file")
    assert told["pipe.md"] == (1, "it is not a file")
    assert told["deep.md"] == (1, "its front matter has no name")
    assert told["when.md"] == (3, "a line of its front matter is not `key: text`")
    with pytest.raises(StateError, match="is a folder"):
        hot.remove_topic(str(place), "dir.md")
    hot.remove_topic(str(place), "good")
    assert len(hot.read_topics(str(place))) == 4


def test_any_name_has_a_file_and_a_line_of_its_own(place: Path) -> None:
    """Names that differ in signs alone, brackets, links in names, long names, reserved names."""
    names = ["C++", "C#", "🎉", "🦀", "a]b", "[masked]", "x](c.md) y", "memory", "archive"]
    names += ["long " * 100, "é" * 300, "back\\slash"]
    made = [add(place, name) for name in names]
    assert len({one.file_name for one in made}) == len(names)
    assert not {"MEMORY.md", "archive.md", "memory.md"} & {one.file_name for one in made}
    assert hot.lint(str(place)) == []
    for one in made:
        hot.edit_topic(str(place), one.name, text=f"Changed {one.name}")
        hot.remove_topic(str(place), one.name)
    assert contents(place) == {"MEMORY.md": b""}


def test_of_two_topics_of_one_name_the_file_is_asked_for(place: Path) -> None:
    """Neither is changed by chance."""
    for file in ("a.md", "b.md"):
        put(place, file, TOPIC.format("same"))
    with pytest.raises(StateError, match=r"2 topics are called 'same': give one of a\.md, b\.md"):
        hot.remove_topic(str(place), "same")
    hot.remove_topic(str(place), "b.md")
    assert [one.file_name for one in hot.read_topics(str(place))] == ["a.md"]


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


def test_an_index_that_just_fits_is_shown_whole(place: Path) -> None:
    """In the room there is, in lines and in bytes."""
    put(place, "MEMORY.md", "- one\n- two\n\n")

    shown = [hot.index_text_cut_to_fit(str(place), room) for room in (20, 11, 10)]

    assert shown == ["- one\n- two", "- one\n- two", "\n[truncated]"]
    for text in ("\n".join(["- x"] * 200), "x" * 25_000):
        put(place, "MEMORY.md", text)
        assert hot.index_text_cut_to_fit(str(place), 25_000) == text


@pytest.mark.parametrize("index", ["MEMORY.md", "archive.md"])
def test_nothing_is_removed_where_an_index_cannot_be_changed(place: Path, index: str) -> None:
    """Else a topic would be gone that one of them still names."""
    put(place, "old.md", TOPIC.format("old"))
    for file in ("MEMORY.md", "archive.md"):
        put(place, file, "- [old](old.md) — x\n")
    (place / index).unlink()
    (place / index).mkdir()
    before = contents(place)

    with pytest.raises(StateError, match=f"{index} is not a file"):
        hot.remove_topic(str(place), "old")

    assert contents(place) == before


def test_an_edit_keeps_mode_and_line_ends_and_refuses_to_empty(place: Path) -> None:
    """Of the topic and of the index."""
    path = put(place, "old.md", TOPIC.format("old").replace("\n", "\r\n"))
    index = put(place, "MEMORY.md", "# Ours\r\n\r\n- [old](old.md) — x\r\n")
    for one in (path, index):
        one.chmod(0o644)
    before = contents(place)
    for kind, about, text in ((None, None, "\n"), (None, "", "x"), ("", "x", "x")):
        with pytest.raises(StateError):
            hot.edit_topic(str(place), "old", kind=kind, description=about, text=text)
    assert contents(place) == before

    hot.edit_topic(str(place), "old", text="One.\nTwo.", description="y")
    add(place, "new")
    for one in (path, index):
        raw = one.read_bytes()
        assert raw.count(b"\n") == raw.count(b"\r\n") > 3
        assert one.stat().st_mode & 0o777 == 0o644


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
        ("OLD", "user", "d", "t", "is there already: `brimline memory edit` changes it"),
        ("new", "user", "d", "x" * 20, "says the same already: `brimline memory edit` it"),
    ],
)
def test_a_topic_that_cannot_be_one_is_refused_and_nothing_is_written(
    place: Path, name: str, kind: str, description: str, text: str, problem: str
) -> None:
    """In a sentence that says what to do."""
    add(place, "old", "x" * 20)
    before = contents(place)

    with pytest.raises(StateError, match=re.escape(problem)):
        hot.add_topic(str(place), name, kind, description, text)

    assert contents(place) == before


def test_two_topics_may_say_the_same_short_word(place: Path) -> None:
    """Up to nineteen characters; where it is from is kept."""
    add(place, "one", "x" * 19)
    hot.add_topic(str(place), "two", "user", "About two", "x" * 19, source="a session")

    assert [topic.text for topic in hot.read_topics(str(place))] == ["x" * 19] * 2
    assert hot.find_topic(str(place), "two").front[-1] == "source: a session"
    assert hot.lint(str(place))[-1].text == "it has the same text as one.md"


def test_an_edit_changes_what_is_given_and_leaves_the_rest(place: Path) -> None:
    """A type that was nested stays so; what was changed meanwhile is not overwritten."""
    path = put(
        place,
        "a.md",
        "---\nname: a\ndescription: d\nmetadata:\n  type: user\n  x: 1\n---\n\nText.\n",
    )
    put(place, "MEMORY.md", "- [a](a.md) — d\n")

    first = hot.edit_topic(str(place), "a", kind="project")
    seen = path.read_bytes()
    second = hot.edit_topic(str(place), "a", description="e", text="Other.", seen=seen)

    assert (first.type, first.description, first.text) == ("project", "d", "Text.")
    assert (second.type, second.description, second.text) == ("project", "e", "Other.")
    front = hot.find_topic(str(place), "a").front
    assert front == ("name: a", "description: e", "metadata:", "  type: project", "  x: 1")
    assert (place / "MEMORY.md").read_text().startswith("- [a](a.md) — e")
    with pytest.raises(StateError, match="was changed meanwhile: nothing was written"):
        hot.edit_topic(str(place), "a", text="Third.", seen=seen)
    with pytest.raises(StateError, match="there is no type 'odd'"):
        hot.edit_topic(str(place), "a", kind="odd")


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


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Two words", "two-words.md"),
        ("a" * 60, "a" * 60 + ".md"),
        ("a" * 61, "a" * 60 + ".md"),
        ("é" * 31, "é" * 30 + ".md"),
        ("a" + "é" * 30, "a" + "é" * 29 + ".md"),
        ("!!!", "topic.md"),
        ("memory", "memory-2.md"),
        ("Archive", "archive-2.md"),
        ("taken", "taken-3.md"),
    ],
)
def test_a_topic_has_a_file_named_after_it(place: Path, name: str, file: str) -> None:
    """Of sixty bytes, with a number where the name is taken or not for topics."""
    for taken in ("taken.md", "taken-2.md"):
        put(place, taken, TOPIC.format(f"x {taken}"))

    assert add(place, name).file_name == file


def test_a_topic_is_found_by_its_file_first_then_by_its_name(place: Path) -> None:
    """One that is not there is told with where it was looked for."""
    put(place, "a.md", TOPIC.format("b"))
    put(place, "b.md", TOPIC.format("c"))

    found = [hot.find_topic(str(place), name).file_name for name in ("a", "a.md", "c", "b.md")]

    assert found == ["a.md", "a.md", "b.md", "b.md"]
    with pytest.raises(StateError, match="2 topics are called 'b': give one of a"):
        hot.find_topic(str(place), "b")
    told = f"there is no topic 'd' in {re.escape(str(place))}: `brimline memory list` has them"
    with pytest.raises(StateError, match=told):
        hot.find_topic(str(place), "d")
