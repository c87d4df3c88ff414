"""What a session was shown of files that came as a preview, and when one may be overwritten.

After a replaced Read the client itself would let the model overwrite lines that it never saw. So
each further Read of such a file is noted by its lines, and an overwrite is refused, once, until
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


def note_preview_of_file(turn: Turn, path: str) -> None:
    """The model is shown a preview of a file: what it saw of it before counts no more."""
    mark = _file_mark_name(turn, PREVIEWED, path)
    io.replace_file(f"{turn.state.folder}/{mark}", b"")
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
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield what a call brought back of the store: key, what is known, bytes that were shown."""
    from brimline.bulk import contents

    is_cut = result.was_persisted or len(result.text) > clienttools.characters_shown_whole(tool)
    header, _, rest = result.text.partition("\n")
    text = rest if header.startswith(RECALL_HEADER) else result.text
    shown = text[: clienttools.BEGINNING_CHARACTERS if is_cut else None]
    for name in judge.recalls_asked_by_call(tool, tool_input) or ():
        try:
            key = contents.resolve_key(home_dir, name)
            meta = contents.read_sidecar(home_dir, key)
        except (BrimlineError, OSError):
            continue  # not a key, or no longer there
        yield key, meta, len(shown.encode("utf-8", "replace"))
