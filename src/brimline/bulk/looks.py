"""What a session was shown of files that came as a preview, and when one may be overwritten.

After a replaced Read the client itself would let the model overwrite lines that it never saw. So
each further look at such a file is noted by its lines, and an overwrite is refused, once, until
they make up the whole file. A link and its target share one mark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from brimline.bulk import judge
from brimline.bulk.marks import PREVIEWED, state_file_text
from brimline.errors import BrimlineError
from brimline.fast import io, paths
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.bulk.tool_results import ToolResult
    from brimline.hooks.turn import Turn

RECALL_HEADER = "[brimline recall "
_LINES = "offload-lines-"
_WARNED = "offload-warned-"
_SPAN = re.compile(r"^(\d+) (\d+) (\d+)$", re.ASCII | re.MULTILINE)
# Of larger content no answer shows enough to matter, and reading it would hold the session up.
_LARGEST_COMPARED_BYTES = 4 << 20


def note_preview_of_file(turn: Turn, path: str, key: str, total_lines: int) -> None:
    """The model is shown a preview of a file: what it saw of it before counts no more."""
    mark = _file_mark_name(turn, PREVIEWED, path)
    io.replace_file(f"{turn.state.folder}/{mark}", f"{key} {total_lines}".encode())
    for kind in (_LINES, _WARNED):
        io.remove(f"{turn.state.folder}/{_file_mark_name(turn, kind, path)}")
    turn.state.names.append(mark)


def is_known_as_preview(turn: Turn, path: str) -> bool:
    """Tell whether a preview of a file was noted."""
    return _file_mark_name(turn, PREVIEWED, path) in turn.state.names


def note_lines_shown(turn: Turn, path: str, lines: tuple[int, int, int]) -> None:
    """The model was shown lines of a file: from, up to and with, of how many."""
    if is_known_as_preview(turn, path):
        seen = f"{turn.state.folder}/{_file_mark_name(turn, _LINES, path)}"
        io.append_line(seen, "{} {} {}".format(*lines))


def note_recalled_lines(turn: Turn, key: str, lines: tuple[int, int] | None) -> None:
    """The model fetched lines of a stored output: of every file that it is the content of."""
    for name in [name for name in turn.state.names if name.startswith(PREVIEWED)]:
        previewed, _, total = state_file_text(turn, name).partition(" ")
        if lines and previewed == key:
            seen = f"{turn.state.folder}/{_LINES}{name[len(PREVIEWED) :]}"
            io.append_line(seen, f"{lines[0]} {lines[1]} {total}")


def claim_overwrite_refusal(turn: Turn, path: str) -> bool:
    """Tell whether to refuse an overwrite of this file now: once, and only while unseen."""
    if not is_known_as_preview(turn, path):
        return False
    looks = _SPAN.findall(state_file_text(turn, _file_mark_name(turn, _LINES, path)))
    spans = [(int(first), int(last), int(total)) for first, last, total in looks]
    reached = 0
    for first, last, _ in sorted(spans):
        reached = max(reached, last) if first <= reached + 1 else reached
    if spans and reached >= spans[-1][2]:
        return False
    return io.create_exclusively(f"{turn.state.folder}/{_file_mark_name(turn, _WARNED, path)}", b"")


def _file_mark_name(turn: Turn, kind: str, path: str) -> str:
    return kind + paths.path_fingerprint(paths.resolve_links(path, turn.event.cwd))


def recalls_shown_by_call(
    home_dir: str, tool: str, tool_input: dict[str, Any], result: ToolResult
) -> Iterator[tuple[str, dict[str, Any], int, tuple[int, int] | None]]:
    """The stored content that a call brought back, as far as the model was shown it.

    Its key, what is known of it, how many bytes were shown, and the first and last line that were
    shown without a gap, if any.
    """
    from brimline.bulk import contents

    is_cut = result.was_persisted or len(result.text) > clienttools.characters_shown_whole(tool)
    header, _, rest = result.text.partition("\n")
    text = rest if header.startswith(RECALL_HEADER) else result.text
    shown = text[: clienttools.BEGINNING_CHARACTERS if is_cut else None]
    for name, wanted in judge.recalls_asked_by_call(tool, tool_input) or ():
        try:
            key = contents.resolve_key(home_dir, name)
            meta = contents.read_sidecar(home_dir, key)
            # Where exactly the client cuts is its own affair, so no line of a beginning counts.
            is_compared = not is_cut and (meta.get("bytes") or 0) <= _LARGEST_COMPARED_BYTES
            raw = contents.read_content(home_dir, key, touch=False) if is_compared else b""
        except (BrimlineError, OSError):
            continue  # not a key, or no longer there
        lines = _recalled_line_range(raw.decode("utf-8", "replace"), shown, wanted) if raw else None
        yield key, meta, len(shown.encode("utf-8", "replace")), lines


def _recalled_line_range(content: str, shown: str, wanted: str) -> tuple[int, int] | None:
    """The first and last line of stored content that a text shows without a gap; None for none.

    Only the content itself counts: whatever else a command printed shows nothing of it. Blank lines
    at the ends, which the client takes off, count with their neighbours.
    """
    text = shown.strip("\n")
    lines = content.split("\n")
    start = _offset_of_line(lines, wanted.partition(":")[0])
    start += len(content[start:]) - len(content[start:].lstrip("\n"))
    at = start if content.startswith(text, start) else content.find(text)
    above, below = content[:at], content[at + len(text) :]
    if not text or at < 0 or above[-1:] not in ("", "\n") or below[:1] not in ("", "\n"):
        return None
    first_line = above.rstrip("\n").count("\n") + 2 if above.strip("\n") else 1
    return first_line, len(lines) - below.lstrip("\n").count("\n") - bool(below.strip("\n"))


def _offset_of_line(lines: list[str], number: str) -> int:
    """Return the place of a line that was asked for by its number; else the beginning."""
    if not number.isascii() or not number.isdigit() or int(number) > len(lines):
        return 0
    return sum(len(line) + 1 for line in lines[: int(number) - 1])
