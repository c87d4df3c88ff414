"""What requests have no more, left out by the client or the service: kept, and said once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from brimline.bulk import layout
from brimline.fast import clock, io
from brimline.fast.decision import Decision
from brimline.foreign import flatten
from brimline.session import originals
from brimline.state.session import CLEARED
from brimline.transcript import clearings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.hooks.turn import Turn
    from brimline.session.originals import Kept

# The client writes the row that says so while the mod asks.
_WAIT_S, _POLL_S = 2.0, 0.02
_LARGEST_CHARACTERS = 1_500
_SUBJECT_CHARACTERS = 60
# What is cut next is cut after a pause of more than an hour.
_PAUSE_S = 3_600.0
# In a session's folder: what was told of, by its time or by who did it.
_TOLD = "session-cleared-"


class Told(NamedTuple):
    """What is said of one clearing."""

    model: str
    person: str


def decision_on_news(turn: Turn) -> Decision | None:
    """What a hook says where a reply's row counts more results that its request did not have."""
    cut = tell_of_cut(turn, clearings.last_cut(turn.event.transcript))
    told = [one for one in (cut, _tell_of_service(turn)) if one]
    if not told:
        return None
    notes = tuple(one.model for one in told)
    return Decision(model_notes=notes, person_notes=tuple(one.person for one in told))


def wait_for_cut(path: str) -> tuple[float, list[str], int]:
    """Wait until a session's file says that results were cut now: when, of which calls, tokens."""
    until = time.monotonic() + _WAIT_S
    while (found := clearings.last_cut(path))[0] < clock.now_s() - _PAUSE_S:
        if time.monotonic() > until:
            return 0.0, [], 0
        time.sleep(_POLL_S)
    return found


def tell_of_cut(turn: Turn, cut: tuple[float, list[str], int]) -> Told | None:
    """Store what the client has dropped and say so; None where there is nothing, or it was said."""
    at, call_ids, tokens = cut
    results, path = len(call_ids), turn.event.transcript
    if not results or not _claim(turn, f"{at:.0f}"):
        return None
    turn.spool_event(CLEARED, results=results, freed_tokens=tokens)
    kept = turn.attempt("cleared", originals.store_results, turn.home, path, call_ids) or []
    lost = results - len(kept)
    rest = f"{lost:,} of them could not be kept" if lost else "nothing is lost"
    person = f"brimline: the client dropped {_amount(results, tokens)} during your pause; {rest}"
    return Told(text_for_model(kept, results, tokens), f"{person}: {_recall(turn)}")


def _tell_of_service(turn: Turn) -> Told | None:
    """Say that the service leaves results out, which ones it does not say; once in a session."""
    results, tokens = clearings.last_cleared_by_service(turn.event.transcript)
    if not results or not _claim(turn, clearings.SERVICE):
        return None
    turn.spool_event(CLEARED, results=results, freed_tokens=tokens, source=clearings.SERVICE)
    left = f"left {_amount(results, tokens)} out of the last request"
    return Told(
        f"[brimline] The service {left}; `recall` finds them by file, command or words as `query`.",
        f"brimline: the service {left}; nothing is lost: {_recall(turn)}",
    )


def _recall(turn: Turn) -> str:
    return f"{turn.state.command_start}recall"


def _claim(turn: Turn, name: str) -> bool:
    return io.create_exclusively(f"{turn.state.folder}/{_TOLD}{name}", b"")


def text_for_model(kept: Sequence[Kept], results: int, tokens: int) -> str:
    """Return what went, by tool and newest first, with the keys that fit."""
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


def _amount(results: int, tokens: int) -> str:
    return f"{_count_text(results)} (~{round(tokens / 1_000)}k tokens)"


def _count_text(results: int) -> str:
    return f"{results:,} result{'' if results == 1 else 's'}"
