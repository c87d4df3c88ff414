"""Joins instruction files into one text within limits: the stable part first. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.model import Source

FILE_CHARACTERS = 4_000
TOTAL_CHARACTERS = 12_000
TRUNCATED = "[truncated]"
BOUNDARY = "--- brimline: above is the same for every file, below is for the file at hand ---"
_END = f"\n{TRUNCATED}\n"
_LEAST_WORTH_SHOWING = 100
_LONGEST_LIST = 300


class Limits(NamedTuple):
    """How many characters one file and all of them may take."""

    file_characters: int = FILE_CHARACTERS
    total_characters: int = TOTAL_CHARACTERS


class Assembled(NamedTuple):
    """The text, and what became of each file."""

    text: str
    cut: list[str]
    """Files of which only the beginning is in the text."""
    left_out: list[str]
    """Files for which no room was left."""


def unique(sources: Iterable[Source]) -> list[Source]:
    """The files that say something, each text once: the first one stays."""
    found: dict[str, Source] = {}
    for source in sources:
        if source.text.strip() and not source.excluded:
            found.setdefault(source.digest, source)
    return list(found.values())


def assemble(
    sources: Sequence[Source], limits: Limits, home: str = "", *, has_file: bool = False
) -> Assembled:
    """One text of all files, weakest first; what depends on the file at hand stands at the end.

    With a file at hand, room for one file is kept for it whether or not anything comes, so that the
    stable part has the same bytes for every file.
    """
    kept = unique(sources)
    stable = [source for source in kept if not source.is_dynamic]
    dynamic = [source for source in kept if source.is_dynamic]
    total = max(0, limits.total_characters)
    reserve = min(limits.file_characters, total // 3) if has_file or dynamic else 0
    first = join(stable, Limits(limits.file_characters, total - reserve), home)
    if not dynamic:
        return first
    head = (first.text + "\n" if first.text else "") + BOUNDARY + "\n\n"
    second = join(dynamic, Limits(limits.file_characters, total - len(head)), home)
    return Assembled(
        head + second.text if second.text else first.text,
        first.cut + second.cut,
        first.left_out + second.left_out,
    )


def join(sources: Sequence[Source], limits: Limits, home: str = "") -> Assembled:
    """Files in their order, each under a line that says where it is from."""
    pieces = [_piece(source, limits.file_characters, home) for source in sources]
    cut = [s.path for s, piece in zip(sources, pieces, strict=True) if piece.endswith(_END)]
    whole = "\n".join(pieces)
    if len(whole) <= limits.total_characters:
        return Assembled(whole, cut, [])
    return _join_some(sources, pieces, limits, home)


def _join_some(
    sources: Sequence[Source], pieces: Sequence[str], limits: Limits, home: str
) -> Assembled:
    """As many as fit, the last one cut, then the names of those that did not."""
    names = [source.path for source in sources]
    text, cut = "", []
    for at, piece in enumerate(pieces):
        after = _left_out_line(names[at + 1 :], home)
        room = limits.total_characters - len(text) - len(after) - 2
        shown = piece if len(piece) <= room else _cut(piece, room)
        if shown:
            text += ("\n" if text else "") + shown
            cut += [names[at]] if shown.endswith(_END) else []
        if shown != piece:
            return _closed(text, cut, names[at + bool(shown) :], limits, home)
    return Assembled(text, cut, [])


def _closed(text: str, cut: list[str], left_out: list[str], limits: Limits, home: str) -> Assembled:
    line = _left_out_line(left_out, home)
    room = limits.total_characters - len(text) - 1
    if line and len(line) <= room:
        text += ("\n" if text else "") + line
    return Assembled(text, cut, left_out)


def _piece(source: Source, most_characters: int, home: str) -> str:
    text = source.text.strip()
    body = text + "\n" if len(text) <= most_characters else text[:most_characters].rstrip() + _END
    return f"From {shown_path(source.path, home)} ({source.level}):\n\n{body}"


def _cut(piece: str, room: int) -> str:
    """The beginning of a file's piece, or nothing where it would say nothing."""
    body = piece.removesuffix(_END)
    if room < _LEAST_WORTH_SHOWING + len(_END):
        return ""
    return body[: room - len(_END)].rstrip() + _END


def _left_out_line(left_out: Sequence[str], home: str) -> str:
    if not left_out:
        return ""
    names = ", ".join(shown_path(path, home) for path in left_out)
    if len(names) > _LONGEST_LIST:
        names = f"{len(left_out)} files"
    return f"{TRUNCATED} No room for {names}.\n"


def shown_path(path: str, home: str) -> str:
    """A path for people, the home folder shortened."""
    return "~" + path[len(home) :] if home and path.startswith(home + "/") else path
