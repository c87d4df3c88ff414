"""Joins instruction files into one text within limits: the stable part first. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from brimline.rules import cascade
from brimline.rules.cascade import AT_START, NEVER, shown
from brimline.rules.marked import in_force

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.cascade import Source

TRUNCATED = "[truncated]"
BOUNDARY = "--- brimline: above is the same for every file, below is for the file at hand ---"
_HEAD = "[brimline] Instructions that Claude Code does not load by itself:\n\n"
_END = f"\n{TRUNCATED}\n"
_LEAST_WORTH_SHOWING = 100


class Limits(NamedTuple):
    """How many characters one file and all of them may take."""

    file_characters: int = 4_000
    total_characters: int = 12_000


class Assembled(NamedTuple):
    """The text, and the files of which not everything is in it; the text says only that."""

    text: str
    cut: list[str]


def unknown_to_client(project_dir: str, organisation_file: str | None, room: int) -> str:
    """The organisation's file and the user's own for this project, or an empty text.

    A text that the client loads from elsewhere is not repeated. The same files give the same bytes.
    """
    sources = cascade.gather(project_dir, organisation_file=organisation_file).sources
    known = {source.digest for source in sources if source.client == AT_START}
    ours = [
        source
        for source in unique(sources)
        if source.client == NEVER and in_force(source) and source.digest not in known
    ]
    text = _joined(ours, Limits(total_characters=room - len(_HEAD))).text
    return _HEAD + text if text else ""


def unique(sources: Iterable[Source]) -> list[Source]:
    """The files that say something, each text once: the first one stays."""
    found: dict[str, Source] = {}
    for source in sources:
        if source.text.strip() and not source.excluded:
            found.setdefault(source.digest, source)
    return list(found.values())


def assemble(sources: Sequence[Source], limits: Limits, *, has_file: bool = False) -> Assembled:
    """One text of all files, weakest first; what depends on the file at hand stands at the end.

    With a file at hand, room for one file is kept for it whether or not anything comes, so that the
    stable part has the same bytes for every file.
    """
    kept = unique(sources)
    dynamic = [source for source in kept if source.is_dynamic]
    total = max(0, limits.total_characters)
    reserve = min(limits.file_characters, total // 3) if has_file or dynamic else 0
    stable = [source for source in kept if not source.is_dynamic]
    first = _joined(stable, Limits(limits.file_characters, total - reserve))
    if not dynamic:
        return first
    head = (first.text + "\n" if first.text else "") + BOUNDARY + "\n\n"
    second = _joined(dynamic, Limits(limits.file_characters, total - len(head)))
    return Assembled(head + second.text if second.text else first.text, first.cut + second.cut)


def _joined(sources: Sequence[Source], limits: Limits) -> Assembled:
    """Files in their order, each under a line that says where it is from, as far as they fit."""
    text, cut = "", []
    for source in sources:
        body = source.text.strip()
        is_cut = len(body) > limits.file_characters
        body = body[: limits.file_characters].rstrip() + _END if is_cut else body + "\n"
        text += ("\n" if text else "") + f"From {shown(source.path)} ({source.level}):\n\n{body}"
        cut += [source.path] if is_cut or len(text) > limits.total_characters else []
    if len(text) > limits.total_characters:
        room = limits.total_characters - len(_END)
        text = text[:room].rstrip() + _END if room >= _LEAST_WORTH_SHOWING else ""
    return Assembled(text, cut)
