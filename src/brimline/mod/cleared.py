"""What the client dropped during a pause: kept in the store, and said with its keys."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline.bulk import layout
from brimline.fast import clock, io
from brimline.foreign import flatten
from brimline.hooks.turn import Turn
from brimline.mod import typed_command
from brimline.session import originals
from brimline.state.session import CLEARED
from brimline.transcript import clearings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.session.originals import Kept

# The client writes the row that says so while the mod asks.
_WAIT_S, _POLL_S = 2.0, 0.02
_LARGEST_CHARACTERS = 1_500
_SUBJECT_CHARACTERS = 60
# What is cut next is cut after a pause of more than an hour.
_PAUSE_S = 3_600.0
# In a session's folder: when results were cut that have been told of.
_TOLD = "mod-cleared-"


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return what the model is told, and the person; nothing where nothing is new.

    Args:
        request: what the mod sends: session and folder.
        home_dir: the data folder.

    Raises:
        KeyError: it names no session.
        OSError: the session's file cannot be read.
    """
    turn = Turn(typed_command.Event(request), home_dir)  # type: ignore[arg-type]
    path = turn.event.transcript
    if turn.state.is_off or not path:
        return {}
    at, call_ids, tokens = _wait_for_cut(path)
    if not call_ids or not io.create_exclusively(f"{turn.state.folder}/{_TOLD}{at:.0f}", b""):
        return {}
    results = len(call_ids)
    turn.spool_event(CLEARED, results=results, freed_tokens=tokens)
    kept = turn.attempt("cleared", originals.store_results, home_dir, path, call_ids) or []
    return {
        "text": text_for_model(kept, results, tokens),
        "person": text_for_person(results, tokens, len(kept)),
    }


def _wait_for_cut(path: str) -> tuple[float, list[str], int]:
    """Wait until a session's file says that results were cut now: when, of which calls, tokens."""
    until = time.monotonic() + _WAIT_S
    while (found := clearings.last_cut(path))[0] < clock.now_s() - _PAUSE_S:
        if time.monotonic() > until:
            return 0.0, [], 0
        time.sleep(_POLL_S)
    return found


def text_for_model(kept: Sequence[Kept], results: int, tokens: int) -> str:
    """What went, by tool and newest first, with the keys that fit."""
    opening = (
        f"[brimline] The client dropped {_count_text(results)} (~{tokens:,} tokens) in the pause: "
        "`recall` gives one back by its key, and finds others by file, command or words as `query`."
    )
    groups: dict[str, list[str]] = {}
    for tool, subject, key in reversed(kept):
        about = subject.replace("sha256:", "sha256 ")
        name = flatten(about, _SUBJECT_CHARACTERS, keep_end=tool == "Read")
        named = f"{name} {layout.shorten_key(key)}".strip()
        groups.setdefault(flatten(tool, _SUBJECT_CHARACTERS), []).append(named)
    lines, room = [opening], _LARGEST_CHARACTERS - len(opening) - 1
    ordered = sorted(groups.items(), key=lambda group: len(group[1]))
    for left, (tool, names) in zip(range(len(ordered), 0, -1), ordered, strict=True):
        line = _line_of_group(tool, names, room // left)
        room -= len(line) + 1
        lines += [line] if line else []
    return "\n".join(lines)


def _line_of_group(tool: str, names: list[str], room: int) -> str:
    """As many names as fit, and how many more there are; empty where none does."""
    line, shown = f"{tool}, {_count_text(len(names))}:", 0
    for name in names:
        if len(line) + len(name) + len(f"; and {len(names):,} more") + 2 > room:
            break
        line, shown = f"{line}{';' if shown else ''} {name}", shown + 1
    rest = len(names) - shown
    return f"{line}; and {rest:,} more" if shown and rest else line if shown else ""


def text_for_person(results: int, tokens: int, kept: int) -> str:
    """The one line for the person."""
    told = f"brimline: the client dropped {_count_text(results)} (~{round(tokens / 1_000)}k tokens)"
    lost = results - kept
    rest = f"{lost:,} of them could not be kept" if lost else "nothing is lost"
    return f"{told} during your pause; {rest}: /brim-recall"


def _count_text(results: int) -> str:
    return f"{results:,} result{'' if results == 1 else 's'}"
