"""What experience says of offloading: whose references come back, and what was kept out in all.

A reference pays as long as the model is content with it. One that is fetched back has cost more
than it saved, so a call whose references come back again and again is left alone.

The file holds one line per event, appended and never rewritten: parallel hooks cannot lose each
other's lines, and what is older than a month is ignored. It names neither projects nor commands nor
files, only hashes of them, so that nothing in it tells of a session. A file that grew large is put
aside, and read once more in its place. What was saved is told by the spools of sessions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import io, json, paths
from brimline.models import MOST_CHARACTERS_PER_TOKEN
from brimline.store import put

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The session's project, the tool, and what a call is remembered by.
Call = tuple[str | None, str, str]
STUB, PASSED, RECALL = "stub", "passed", "recall"
_FILE = "/offload-learned.jsonl"
_EXPIRY_S = 30 * 86_400
_ROTATE_AT_BYTES = 256 << 10
_DIGITS = 12
# So many of the last stubs that came back make a call pass in its project.
_CAME_BACK, _OF_THE_LAST = 3, 5
# Of large outputs that pass, every fifth is offloaded all the same: else nothing could ever change.
_PROBE_EVERY = 5
_SPOOLED = ('"Offloaded"', '"Recalled"')


def note(
    home_dir: str, kind: str, call: Call, size: int | None = None, key: str | None = None
) -> None:
    """Remember an event: a large output that was replaced or passed, or one that was fetched back.

    Args:
        home_dir: the data folder.
        kind: one of `STUB PASSED RECALL`.
        call: the session's project, the tool, and what the call is remembered by.
        size: of the output in bytes; how much came back, where None means all of it.
        key: of the stub; for a recall without it the latest one of the pattern is meant.

    Raises:
        OSError: the line cannot be written.
    """
    project, *about = call
    line = {"at": time.time(), "kind": kind, "bytes": size}
    line |= {"project": _hash(project), "call": _hash(about)}
    line |= {"key": key.removeprefix("sha256:")[:_DIGITS]} if key else {}
    json.append_line(home_dir + _FILE, line)


def passes(home_dir: str, call: Call) -> bool:
    """Tell whether experience lets the next large output of a call pass; every fifth does not.

    Raises:
        OSError: the file is there and cannot be read.
    """
    stubs: list[_Replaced] = []
    passed = 0
    for line in _lines(home_dir, call):
        kind, size, key = line["kind"], line["bytes"], line.get("key")
        if kind == RECALL:
            _note_recall(stubs, key, size)
        else:
            passed = passed + 1 if kind == PASSED else 0
        if kind == STUB:
            stubs.append(_Replaced(key, size or 0))
    # One of which half came back did not pay.
    came_back = [stub for stub in stubs[-_OF_THE_LAST:] if 0 < stub.size <= 2 * stub.recalled]
    return len(came_back) >= _CAME_BACK and passed < _PROBE_EVERY - 1


class _Replaced:
    """An output that was replaced: its key, its size, and how much of it came back."""

    def __init__(self, key: str | None, size: int) -> None:
        self.key, self.size, self.recalled = key, size, 0


def _note_recall(stubs: list[_Replaced], key: str | None, size: int | None) -> None:
    """Count what came back for the last output that is meant: by its key, or not fetched yet."""
    for stub in reversed(stubs):
        if stub.key == key if key else not stub.recalled:
            stub.recalled += stub.size if size is None else size
            return


def tidy(home_dir: str) -> None:
    """Put a file that grew large aside.

    Raises:
        OSError: it cannot be renamed.
    """
    io.rotate(home_dir + _FILE, _ROTATE_AT_BYTES)


def _lines(home_dir: str, call: Call) -> Iterator[dict[str, Any]]:
    """Return the events of a call of late."""
    project, *about = call
    same_project, same_call, now = _hash(project), _hash(about), time.time()
    for path in (home_dir + _FILE + ".old", home_dir + _FILE):
        for line in json.read_lines(path, containing=same_call.encode()):
            # A key says whose stub is meant, also where it is asked for from another folder.
            is_named = line.get("kind") == RECALL and line.get("key")
            if not is_named and line.get("project") != same_project:
                continue
            if _is_sound(line) and abs(now - line["at"]) <= _EXPIRY_S:
                yield line


def _is_sound(line: dict[str, Any]) -> bool:
    return type(line.get("at")) in (int, float) and type(line.get("bytes", "")) in (int, type(None))


def _hash(value: Any) -> str:
    return put.sha256(json.dumps(value).encode())[: 2 * _DIGITS]


class Saved(NamedTuple):
    """What references kept out, and what was fetched back, in characters unless said otherwise."""

    references: int = 0
    stored_bytes: int = 0
    client_shown_characters: int = 0
    """What the client would have shown without us."""
    shown: int = 0
    """What the references took."""
    recalls: int = 0
    recalled: int = 0

    @property
    def kept_out(self) -> int:
        """The characters saved; below zero where previews show more than the client would have."""
        return self.client_shown_characters - self.shown - self.recalled

    @property
    def kept_out_tokens(self) -> int:
        """The same in tokens, estimated."""
        return round(self.kept_out / MOST_CHARACTERS_PER_TOKEN)

    @property
    def in_words(self) -> str:
        """The same as a text."""
        from brimline.state import lookback

        return lookback.kept_out_words(self.kept_out_tokens)


def saved_by(home_dir: str, session_id: str) -> Saved:
    """Add up what the spool of one session tells, as far as it can be read."""
    folder = paths.session_dir(home_dir, session_id)
    savings = []
    for name in sorted(io.names_in(folder)):
        if name.startswith("spool") and name.endswith(".jsonl"):
            try:
                raw = io.read_file(f"{folder}/{name}").decode("utf-8", "replace")
            except OSError:
                continue
            lines = [line for line in raw.split("\n") if any(mark in line for mark in _SPOOLED)]
            savings += [_tally_of_line(row) for line in lines for row in json.loads_all(line)]
    return total(savings)


def kept_out(home_dir: str, sessions: list[str]) -> dict[str, int]:
    """The savings of some sessions as a document: what the client would have shown, less ours.

    `gateway_tokens` is the most that a gateway kept out of one request.
    """
    saved = total(saved_by(home_dir, name) for name in sessions)
    by_gateway = (_kept_out_by_gateway(home_dir, name) for name in sessions)
    return {
        "references": saved.references,
        "stored_bytes": saved.stored_bytes,
        "recalls": saved.recalls,
        "would_have_shown_characters": saved.client_shown_characters,
        "reference_characters": saved.shown,
        "recalled_characters": saved.recalled,
        "tokens_estimated": saved.kept_out_tokens,
        "gateway_tokens": max(by_gateway, default=0),
    }


def _kept_out_by_gateway(home_dir: str, session_id: str) -> int:
    from brimline.state import figures, history

    try:
        return figures.gateway_savings(history.spooled(home_dir, session_id))[0] or 0
    except OSError:  # its spool cannot be read, which a note says
        return 0


def total(savings: Iterable[Saved]) -> Saved:
    """All of them together."""
    return Saved(*map(sum, zip(*savings, strict=True)))


def _tally_of_line(row: Any) -> Saved:
    """Return what one line of a spool adds."""
    if not isinstance(row, dict):
        return Saved()
    figures = [row.get(name) for name in ("bytes", "would", "shown")]
    size, client_shown, shown = (figure if isinstance(figure, int) else 0 for figure in figures)
    if row.get("event") == "Recalled":
        return Saved(recalls=1, recalled=shown)
    if row.get("event") != "Offloaded":
        return Saved()
    return Saved(references=1, stored_bytes=size, client_shown_characters=client_shown, shown=shown)
