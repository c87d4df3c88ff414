"""The client's own memory as files: an index that every session begins with, and its topics.

A topic is a Markdown file with YAML front matter; the index has a line for each, the newest first.
People and the client edit the same files, so every change is made from what the file holds at that
moment: where it was changed meanwhile, the change is made again from there, or refused.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clientsettings
from brimline.carry.clean import clean
from brimline.errors import StateError
from brimline.fast import io, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INDEX, ARCHIVE = "MEMORY.md", "archive.md"
TYPES = ("user", "feedback", "project", "reference")
# The client loads no more than this of the index.
MOST_LINES, MOST_BYTES = 200, 25_000
_LARGEST_FILE = 1 << 20
_TRIES = 20
_LINE_CHARACTERS = 200
# Two topics may say "yes"; a longer text is not needed twice.
_LEAST_SAME = 20
_LINK = re.compile(r"^\s*[-*] \[([^\]]*)\]\(([^)\s]+)\)")
_ARCHIVED = "- [Older entries](archive.md) — what the index has no room for"
_SLUG = re.compile(r"[^\w]+")


class Topic(NamedTuple):
    """One topic file; `problem` says what is wrong with it, `line` where."""

    path: str
    name: str = ""
    description: str = ""
    type: str = ""
    text: str = ""
    front: Any = None
    problem: str = ""
    line: int = 1

    @property
    def file(self) -> str:
        """How the index names it."""
        return os.path.basename(self.path)


class Problem(NamedTuple):
    """Something that is wrong in the memory."""

    path: str
    line: int
    text: str


def folder(project_dir: str) -> str:
    """Where the memory of a project lies."""
    return clientsettings.memory_folder(project_dir)


def topics(place: str) -> list[Topic]:
    """Every topic file, by name."""
    names = [name for name in io.names_in(place) if name.endswith(".md") and name != INDEX]
    return [parsed(f"{place}/{name}", _read(f"{place}/{name}")) for name in sorted(names)]


def add(
    place: str, name: str, kind: str, description: str, text: str, *, source: str = ""
) -> Topic:
    """Write a topic, and its line in the index.

    Raises:
        StateError: the type is unknown, a part is missing, or it is there already.
    """
    name, description, text = (clean(" ".join(name.split())), _flat(description), clean(text))
    _check_type(kind)
    if name.startswith((".", "/", "~")):
        raise StateError(f"{name!r} is no name for a topic: it looks like a path")
    if not name or not description or not text.strip():
        raise StateError("a topic needs a name, a description and a text")
    front = {"name": name, "description": description, "type": kind}
    front |= {"source": source} if source else {}
    path = f"{place}/{_SLUG.sub('-', name.casefold()).strip('-') or 'topic'}.md"
    if path.endswith(f"/{INDEX}"):
        path = f"{place}/topic-memory.md"
    for known in topics(place):
        if known.name.casefold() == name.casefold() or known.path == path:
            raise StateError(f"{known.path} is there already: `brimline memory edit` changes it")
        is_same = known.text.strip() == text.strip() and len(text.strip()) >= _LEAST_SAME
        if is_same:
            raise StateError(f"{known.path} says the same already: `brimline memory edit` it")
    io.make_folders(place)
    if not io.create_exclusively(path, _document(front, text)):
        raise StateError(f"{path} is there already: `brimline memory edit` changes it")
    topic = Topic(path, name, description, kind, text, front)
    _change_index(place, lambda lines: _with_topic(lines, topic))
    return topic


def edit(
    place: str,
    name: str,
    *,
    kind: str | None = None,
    description: str | None = None,
    text: str | None = None,
    seen: bytes | None = None,
) -> Topic:
    """Change parts of a topic, and its line in the index.

    Args:
        place: the folder.
        name: the topic's, or that of its file.
        kind: its new type.
        description: what the index says about it.
        text: what it says.
        seen: what the file held when the change was made up.

    Raises:
        StateError: there is no such topic, it cannot be read, or it is not what was seen.
    """
    topic = named(place, name)
    before = _read(topic.path)
    if topic.problem:
        raise StateError(f"{topic.path}:{topic.line}: {topic.problem}; mend it by hand first")
    if seen is not None and seen != before:
        raise StateError(f"{topic.path} was changed meanwhile: nothing was written")
    if kind is not None:
        _check_type(kind)
    changed = topic._replace(
        type=kind or topic.type,
        description=_flat(description) if description else topic.description,
        text=clean(text) if text is not None else topic.text,
    )
    front = dict(topic.front) | {"description": changed.description}
    if "type" in front or not isinstance(front.get("metadata"), dict):
        front["type"] = changed.type
    else:
        front["metadata"] = front["metadata"] | {"type": changed.type}
    with _locked(place):
        if not _replaced(topic.path, before, _document(front, changed.text)):
            raise StateError(f"{topic.path} was changed meanwhile: nothing was written")
    _change_index(place, lambda lines: _with_topic(lines, changed))
    return changed


def remove(place: str, name: str) -> Topic:
    """Delete a topic, and every line of the index that names it.

    Raises:
        StateError: there is no such topic.
    """
    topic = named(place, name)
    # The line first: what the index does not name is found by `lint`, a dead link misleads.
    for index in (INDEX, ARCHIVE):
        if topic.file != index and os.path.lexists(f"{place}/{index}"):
            _change(f"{place}/{index}", lambda lines: _without(lines, topic.file))
    io.remove(topic.path)
    return topic


def named(place: str, name: str) -> Topic:
    """The topic of a name, or of a file.

    Raises:
        StateError: there is none.
    """
    for topic in topics(place):
        if name in (topic.name, topic.file, topic.file.removesuffix(".md")):
            return topic
    raise StateError(f"there is no topic {name!r} in {place}: `brimline memory list` has them")


def lint(place: str) -> list[Problem]:
    """Whatever is wrong: front matter, types, links, duplicates, an index that is too long."""
    known = topics(place)
    found = [Problem(topic.path, topic.line, topic.problem) for topic in known if topic.problem]
    files = {topic.file for topic in known}
    linked: dict[str, str] = {}
    for index in (INDEX, ARCHIVE):
        path = f"{place}/{index}"
        for number, line in enumerate(_lines(_read(path)), 1):
            match = _LINK.match(line)
            target = match[2] if match else ""
            if not match or "://" in target:
                continue
            if target not in files and not os.path.lexists(f"{place}/{target}"):
                found.append(Problem(path, number, f"{target} is not there"))
            elif target in linked:
                found.append(Problem(path, number, f"{target} is named twice: {linked[target]}"))
            linked.setdefault(target, f"also in line {number} of {index}")
    linked.setdefault(ARCHIVE, "")
    lost = [topic.path for topic in known if topic.file not in linked]
    found += [Problem(path, 1, f"{INDEX} does not name it") for path in lost]
    found += _duplicates(known)
    index_text = _read(f"{place}/{INDEX}")
    over = len(_lines(index_text)) - MOST_LINES
    if over > 0:
        told = f"the client loads {MOST_LINES} lines: {over} more are not seen"
        found.append(Problem(f"{place}/{INDEX}", MOST_LINES + 1, told))
    if len(index_text) > MOST_BYTES:
        told = f"the client loads {MOST_BYTES:,} bytes of {len(index_text):,}"
        found.append(Problem(f"{place}/{INDEX}", 1, told))
    return found


def shown_index(place: str, room: int) -> str:
    """The index as far as there is room, with a mark where it is cut."""
    text = _read(f"{place}/{INDEX}")[:MOST_BYTES].decode("utf-8", "replace").strip()
    lines = text.split("\n")
    cut = "\n".join(lines[:MOST_LINES])
    if len(cut) > room:
        cut = cut[: max(0, room - len("\n[truncated]"))].rpartition("\n")[0]
    return cut if cut == text else f"{cut}\n[truncated]"


def parsed(path: str, raw: bytes) -> Topic:
    """A topic file; what is wrong with it is part of the answer."""
    import yaml

    lines = raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        return Topic(path, text="\n".join(lines), problem="it has no front matter", line=1)
    text = "\n".join(lines[end + 1 :]).strip("\n")
    try:
        front = yaml.safe_load("\n".join(lines[1:end]))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        told = str(getattr(error, "problem", None) or error).split("\n")[0]
        line = mark.line + 2 if mark else 1
        return Topic(path, text=text, problem=f"its front matter is no YAML: {told}", line=line)
    front = front if isinstance(front, dict) else {}
    nested = front.get("metadata")
    kind = front.get("type") or (nested.get("type") if isinstance(nested, dict) else None)
    parts = {"name": front.get("name"), "description": front.get("description"), "type": kind}
    texts = {key: value if isinstance(value, str) else "" for key, value in parts.items()}
    problem = next((f"its front matter has no {key}" for key, one in texts.items() if not one), "")
    line = 1
    if not problem and kind not in TYPES:
        problem = f"its type {kind!r} is none of {', '.join(TYPES)}"
        line = next((n for n, one in enumerate(lines[:end], 1) if "type:" in one), 1)
    return Topic(path, **texts, text=text, front=front, problem=problem, line=line)


def without_front_matter(text: str) -> str:
    """What a topic says, its name and description before it, without the rest of its head."""
    head, mark, rest = text.replace("\r\n", "\n").removeprefix("---\n").partition("\n---\n")
    if not mark or not text.startswith("---"):
        return text
    said = [re.match(r"(?:name|description):\s*(.*)", line) for line in head.split("\n")]
    title = ": ".join(one[1].strip("'\"") for one in said if one)
    return f"{title}\n{rest.strip()}" if title else rest.strip()


def _check_type(kind: str) -> None:
    if kind not in TYPES:
        raise StateError(f"there is no type {kind!r}: use {', '.join(TYPES)}")


def _duplicates(known: list[Topic]) -> Iterator[Problem]:
    for part in ("name", "text"):
        seen: dict[str, str] = {}
        for topic in known:
            said = " ".join(str(getattr(topic, part)).casefold().split())
            if said and said in seen:
                yield Problem(topic.path, 1, f"it has the same {part} as {seen[said]}")
            seen.setdefault(said, topic.file)


def _change_index(place: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change the index; what no longer fits goes to the archive first, so that nothing is lost."""

    def fitting(lines: list[str]) -> list[str]:
        kept, moved = _within_limits(change(lines))
        if moved:
            _archive(place, moved)
        return kept

    _change(f"{place}/{INDEX}", fitting)


def _with_topic(lines: list[str], topic: Topic) -> list[str]:
    """The index with the line of a topic: in its place, else before all others."""
    said = f"- [{topic.name}]({topic.file}) — {topic.description}"
    own = said if len(said) <= _LINE_CHARACTERS else said[: _LINE_CHARACTERS - 1] + "…"
    links = [at for at, line in enumerate(lines) if _LINK.match(line)]
    for at in links:
        if _target(lines[at]) == topic.file:
            return [*lines[:at], own, *lines[at + 1 :]]
    first = links[0] if links else len(lines)
    return [*lines[:first], own, *lines[first:]]


def _without(lines: list[str], file: str) -> list[str]:
    return [line for line in lines if _target(line) != file]


def _target(line: str) -> str:
    match = _LINK.match(line)
    return match[2] if match else ""


def _within_limits(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines that fit, and the oldest entries, which do not."""
    moved: list[str] = []
    kept = list(lines)
    while len(kept) > MOST_LINES or _size(kept) > MOST_BYTES:
        links = [at for at, line in enumerate(kept) if _target(line) not in ("", ARCHIVE)]
        if not links:
            break
        moved.append(kept.pop(links[-1]))
        if ARCHIVE not in map(_target, kept):
            kept.append(_ARCHIVED)
    return kept, moved[::-1]


def _archive(place: str, moved: list[str]) -> None:
    front = {"name": "archive", "description": "Older entries of the index", "type": "reference"}
    io.create_exclusively(f"{place}/{ARCHIVE}", _document(front, ""))

    def with_moved(lines: list[str]) -> list[str]:
        fresh = [line for line in moved if line not in lines]
        first = next((at for at, line in enumerate(lines) if _LINK.match(line)), len(lines))
        return [*lines[:first], *fresh, *lines[first:]]

    _change(f"{place}/{ARCHIVE}", with_moved)


def _change(path: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change a file by its lines, from what it holds at that moment.

    Raises:
        StateError: it is changed by somebody else all the time.
    """
    for _ in range(_TRIES):
        before = _read(path)
        lines = "".join([f"{line}\n" for line in change(_lines(before))])
        after = lines.encode("utf-8", "surrogateescape")
        with _locked(os.path.dirname(path)):
            if after == before or _replaced(path, before, after):
                return
    raise StateError(f"{path} is being changed by another program: try again")


def _replaced(path: str, before: bytes, after: bytes) -> bool:
    """Put a new file in the place of one that still holds what was seen."""
    if _read(path) != before:
        return False
    io.replace_file(os.path.realpath(path), after)
    return True


@contextlib.contextmanager
def _locked(place: str) -> Iterator[None]:
    """Let one process of ours at a time compare and replace; it ends with the process."""
    lock = f"{paths.home()}/memory/{paths.fingerprint(place)}.lock"
    io.create_exclusively(lock, b"")
    with open(lock, "rb") as file:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _document(front: dict[str, Any], text: str) -> bytes:
    import yaml

    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{head}---\n\n{text.strip()}\n".encode("utf-8", "replace")


def _read(path: str) -> bytes:
    """A file's content; empty where there is none."""
    try:
        return io.read_file(path, _LARGEST_FILE)
    except FileNotFoundError:
        return b""


def _lines(raw: bytes) -> list[str]:
    text = raw.decode("utf-8", "surrogateescape").rstrip("\n")
    return text.split("\n") if text else []


def _size(lines: list[str]) -> int:
    return sum(len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines)


def _flat(text: str) -> str:
    return clean(" ".join(text.split()))
