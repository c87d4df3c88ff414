"""The client's own memory as files: an index that every session begins with, and its topics.

A topic is a Markdown file with YAML front matter; the index has a line for each, the newest first.
People and the client edit the same files, so a line is put into what the index holds at that
moment. What is changed or deleted by hand is checked by `lint`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.errors import StateError
from brimline.fast import io
from brimline.foreign import flatten
from brimline.masking import mask
from brimline.recall import frontmatter, textfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDEX = "MEMORY.md"
# What version 0.2.0 moved out of an index that was full.
ARCHIVE = "archive.md"
# The client loads no more than this of the index.
_MOST_LINES, _MOST_BYTES = 200, 25_000
_LINE_CHARACTERS = 200
_NAME_CHARACTERS = 60
_LINK = re.compile(r"^\s*[-*] \[((?:\\.|[^\\])*?)\]\(([^)\s]+)\)")
_ENTRY = re.compile(r"[-*+] |\d+[.)] ")
TYPES = ("user", "feedback", "project", "reference")
# Two topics may say "yes"; a longer text is not needed twice.
_LEAST_SAME = 20
_SLUG = re.compile(r"[^\w]+")
_SLUG_BYTES = 60
# These names are not for topics, however a file system compares them.
_RESERVED = (INDEX.casefold(), ARCHIVE)


class Topic(NamedTuple):
    """One topic file; `problem` says what is wrong with it, `line` where."""

    path: str
    name: str = ""
    description: str = ""
    type: str = ""
    text: str = ""
    problem: str = ""
    line: int = 1

    @property
    def file_name(self) -> str:
        """How the index names it."""
        return os.path.basename(self.path)


class Problem(NamedTuple):
    """Something that is wrong in the memory."""

    path: str
    line: int
    text: str


def topic_file_names(place: str) -> list[str]:
    """The names of what may be topics, links left out; none where the folder is a link."""
    try:
        return [name for name in _topic_file_names(place) if not os.path.islink(f"{place}/{name}")]
    except StateError:
        return []


def read_topics(place: str) -> list[Topic]:
    """Every topic file, by name; what cannot be read is there with its problem."""
    return [_read_topic(f"{place}/{name}") for name in _topic_file_names(place)]


def add_topic(
    place: str, name: str, kind: str, description: str, text: str, *, source: str = ""
) -> Topic:
    """Write a topic, and its line in the index.

    Raises:
        StateError: the type is unknown, a part is missing, or it is there already.
    """
    name, description, text = (_to_masked_line(name), _to_masked_line(description), mask(text))
    if kind not in TYPES:
        raise StateError(f"there is no type {kind!r}: use {', '.join(TYPES)}")
    if name.startswith((".", "/", "~")):
        raise StateError(f"{name!r} is not a name for a topic: it looks like a path")
    if not name or not description or not text.strip():
        raise StateError("a topic needs a name, a description and a text")
    parts = {"name": name, "description": description, "type": kind}
    parts |= {"source": source} if source else {}
    front = [frontmatter.line(key, value) for key, value in parts.items()]
    document = _topic_file_text(front, text)
    path = _free_topic_path(place, name)
    textfile.refuse_too_large(path, document.encode())
    _refuse_known_name_or_text(place, name, text.strip())
    io.make_folder_and_parents(place)
    if not io.create_exclusively(path, document.encode()):
        raise StateError(f"{path} is there already: change that file")
    topic = Topic(path, name, description, kind, text)
    try:
        _put_topic_in_index(place, topic)
    except StateError:
        io.remove(path)
        raise
    return topic


def _refuse_known_name_or_text(place: str, name: str, text: str) -> None:
    for topic in read_topics(place):
        if topic.name.casefold() == name.casefold():
            raise StateError(f"{topic.path} is there already: change that file")
        if topic.text.strip() == text and len(text) >= _LEAST_SAME:
            raise StateError(f"{topic.path} says the same already")


def lint(place: str) -> list[Problem]:
    """Whatever is wrong: front matter, types, links, duplicates, an index that is too long."""
    all_topics = read_topics(place)
    problems = [
        Problem(topic.path, topic.line, topic.problem) for topic in all_topics if topic.problem
    ]
    linked = {ARCHIVE: ""}
    for index in (INDEX, ARCHIVE):
        problems += _find_dead_and_repeated_links(place, index, linked)
    lost = [topic.path for topic in all_topics if topic.file_name not in linked]
    problems += [Problem(path, 1, f"{INDEX} does not name it") for path in lost]
    problems += _find_duplicates(all_topics)
    return [*problems, *_find_index_too_long(f"{place}/{INDEX}")]


def _find_dead_and_repeated_links(
    place: str, index: str, linked: dict[str, str]
) -> Iterator[Problem]:
    """Lines of an index that lead nowhere, or where another leads already, which is noted."""
    path = f"{place}/{index}"
    try:
        lines = textfile.decode_lines(textfile.read_whole_file(path))
    except StateError as error:
        if index == INDEX:
            yield Problem(path, 1, _problem_text_without_path(path, error))
        return
    for number, line in enumerate(lines, 1):
        target = _file_linked_by_line(line)
        if not target or "://" in target:
            continue
        if not os.path.lexists(f"{place}/{target}"):
            yield Problem(path, number, f"{target} is not there")
        elif linked.get(target):
            yield Problem(path, number, f"{target} is named twice: {linked[target]}")
        linked[target] = linked.get(target) or f"also in line {number} of {index}"


def index_text_cut_to_fit(place: str, room: int) -> str:
    """The index as far as there is room, with a mark where it is cut."""
    try:
        raw = textfile.read_beginning_of_file(f"{place}/{INDEX}", _MOST_BYTES + 1)
    except StateError:
        return ""
    # A character that the limit cuts in two is left out.
    text = raw[:_MOST_BYTES].decode("utf-8", "ignore").strip()
    cut = "\n".join(text.split("\n")[:_MOST_LINES])
    if len(cut) > room:
        cut = cut[: max(0, room - len("\n[truncated]"))]
        whole = cut.rpartition("\n")[0]
        if whole and len(cut) - len(whole) <= _LINE_CHARACTERS:
            cut = whole
    return cut if cut == text and len(raw) <= _MOST_BYTES else f"{cut}\n[truncated]"


def parse_topic(path: str, raw: bytes) -> Topic:
    """A topic file; what is wrong with it is part of the answer."""
    lines = raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        return Topic(path, text="\n".join(lines), problem="it has no front matter")
    front, text = lines[1:end], "\n".join(lines[end + 1 :]).strip("\n")
    try:
        fields = frontmatter.read_fields(front)
    except frontmatter.BadLineError as error:
        problem = f"a line of its front matter {error}"
        return Topic(path, text=text, problem=problem, line=error.number + 2)
    parts = {key: fields.get(key, "") for key in ("name", "description", "type")}
    problem = next((f"its front matter has no {key}" for key, one in parts.items() if not one), "")
    line = 1
    if not problem and parts["type"] not in TYPES:
        problem = f"its type {parts['type']!r} is none of {', '.join(TYPES)}"
        line = next((number for number, row in enumerate(front, 2) if "type:" in row), 1)
    return Topic(path, **parts, text=text, problem=problem, line=line)


def _find_duplicates(known: list[Topic]) -> Iterator[Problem]:
    for part in ("name", "text"):
        seen: dict[str, str] = {}
        for topic in known:
            said = " ".join(str(getattr(topic, part)).casefold().split())
            if said and said in seen:
                yield Problem(topic.path, 1, f"it has the same {part} as {seen[said]}")
            seen.setdefault(said, topic.file_name)


def _find_index_too_long(path: str) -> Iterator[Problem]:
    try:
        raw = textfile.read_whole_file(path)
    except StateError:
        return
    lines = len(textfile.decode_lines(raw))
    if lines > _MOST_LINES:
        told = f"the client loads {_MOST_LINES} lines of {lines:,}"
        yield Problem(path, _MOST_LINES + 1, told)
    if len(raw) > _MOST_BYTES:
        told = f"the client loads {_MOST_BYTES:,} bytes of {len(raw):,}"
        yield Problem(path, 1, told)


def _topic_file_names(place: str) -> list[str]:
    textfile.refuse_linked_folder(place)
    return sorted(name for name in io.list_names(place) if name.endswith(".md") and name != INDEX)


def _read_topic(path: str) -> Topic:
    try:
        return parse_topic(path, textfile.read_whole_file(path))
    except StateError as error:
        return Topic(path, problem=_problem_text_without_path(path, error))


def _problem_text_without_path(path: str, error: StateError) -> str:
    return f"it {str(error).removeprefix(path).strip()}"


def _free_topic_path(place: str, name: str) -> str:
    """Return where a new topic goes: names that differ in signs alone are numbered."""
    slug = _SLUG.sub("-", name.casefold()).encode()[:_SLUG_BYTES].decode("utf-8", "ignore")
    slug = slug.strip("-") or "topic"
    number, file = 1, f"{slug}.md"
    while file in _RESERVED or os.path.lexists(f"{place}/{file}"):
        number += 1
        file = f"{slug}-{number}.md"
    return f"{place}/{file}"


def _put_topic_in_index(place: str, topic: Topic) -> None:
    """Name a topic, where the client would load that."""

    def lines_that_name_it(lines: list[str]) -> list[str]:
        named_too = _lines_with_topic(lines, topic)
        if not _fits(named_too):
            raise StateError(f"{place}/{INDEX} is full: take out lines that are not needed first")
        return named_too

    textfile.change_lines(f"{place}/{INDEX}", lines_that_name_it)


def _lines_with_topic(lines: list[str], topic: Topic) -> list[str]:
    """The index with the line of a topic: in its place, else before all other entries."""
    label = re.sub(r"([\[\]\\])", r"\\\1", flatten(topic.name, _NAME_CHARACTERS))
    own = flatten(f"- [{label}]({topic.file_name}) — {topic.description}", _LINE_CHARACTERS)
    for at, line in enumerate(lines):
        if _file_linked_by_line(line) == topic.file_name:
            return [*lines[:at], own, *lines[at + 1 :]]
    entries = [at for at, line in enumerate(lines) if _ENTRY.match(line.lstrip())]
    first = entries[0] if entries else len(lines)
    return [*lines[:first], own, *lines[first:]]


def _file_linked_by_line(line: str) -> str:
    """The file that a line of the index leads to, if any."""
    match = _LINK.match(line)
    return match[2] if match else ""


def _fits(lines: list[str]) -> bool:
    """Tell whether the client loads all of an index; the end of a line may take two bytes."""
    size = sum(len(line.encode("utf-8", "surrogateescape")) + 2 for line in lines)
    return len(lines) <= _MOST_LINES and size <= _MOST_BYTES


def _topic_file_text(front: Iterable[str], text: str) -> str:
    head = "\n".join(front)
    return f"---\n{head}\n---\n\n{text.strip()}\n".encode("utf-8", "replace").decode()


def _to_masked_line(text: str) -> str:
    return mask(flatten(text, len(text)))
