"""What is added to a ledger beside its transcript: by the person, and by agents that report.

One line each, only ever appended to: what to add, and which items are done or forgotten. Merging
them over a ledger twice changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import clock, fastio, fastjson, paths
from brimline.carry import items
from brimline.store import put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Item, Ledger

FORMAT = 1
FILE_NAME = "notes.jsonl"
_LARGEST_BYTES = 4 << 20
# A longer report is kept in the store, and its beginning here.
_REPORT_CHARACTERS = 1_200
_STORED_FROM_CHARACTERS = 4_000
_FAR_OFF = 1e11
# What a person writes down on purpose comes before what was recognised.
_OWN_WEIGHT = 3.0
# Of the words of one report so many in another make them the same.
_SAME_REPORT = 0.8


def add(home_dir: str, session_id: str, item: Item) -> None:
    """Add an item of the person's own.

    Raises:
        OSError: it cannot be written.
    """
    fields = {"kind": item.kind, "text": item.text, "source": item.source, "extra": item.extra}
    _append(home_dir, session_id, {"add": fields})


def close(home_dir: str, session_id: str, item_id: str, status: str) -> None:
    """Give an item another state.

    Raises:
        OSError: it cannot be written.
    """
    _append(home_dir, session_id, {"close": item_id, "status": status})


def forget(home_dir: str, session_id: str, item_id: str) -> None:
    """Take an item out, whatever the transcript says.

    Raises:
        OSError: it cannot be written.
    """
    _append(home_dir, session_id, {"forget": item_id})


def add_agent(
    home_dir: str, session_id: str, *, agent_type: str, report: str, transcript: str
) -> None:
    """Keep what a subagent reported last; all of a long report goes into the store.

    Raises:
        OSError: it cannot be written.
    """
    if not report.strip():
        return
    extra: dict[str, Any] = {"agent": agent_type, "transcript": transcript}
    if len(report) >= _STORED_FROM_CHARACTERS:
        data = report.encode("utf-8", "surrogatepass")
        meta = {"tool": "Agent", "source": agent_type, "session": session_id}
        extra["key"] = put.put(home_dir, data, meta)
    text = " ".join(report[:_REPORT_CHARACTERS].split())
    add(home_dir, session_id, items.Item(items.AGENT, text, items.SUBAGENT, extra=extra))


def inherit(home_dir: str, session_id: str, previous: str) -> None:
    """Give a session its own copy of another's notes, unless it has some of its own.

    Raises:
        OSError: they cannot be written.
    """
    try:
        raw = fastio.read_file(_path(home_dir, previous), _LARGEST_BYTES)
    except OSError:
        return
    fastio.create_exclusively(_path(home_dir, session_id), raw)


def merged(home_dir: str, ledger: Ledger) -> Ledger:
    """The ledger with what was added, closed and forgotten beside it."""
    for line in _lines(home_dir, ledger.session):
        added, forgotten, closed = [line.get(name) for name in ("add", "forget", "close")]
        if isinstance(added, dict):
            _take(ledger, added, line.get("at"))
        elif isinstance(forgotten, str):
            ledger.items.pop(forgotten, None)
        elif isinstance(closed, str):
            _mark(ledger.items.get(closed), line.get("status"))
    return ledger


def _mark(item: Item | None, status: Any) -> None:
    if item is not None and status in items.STATES:
        item.status = status


def _take(ledger: Ledger, fields: dict[str, Any], at: Any) -> None:
    """Add an item, unless the ledger has it: then the transcript knows better how it stands."""
    kind, text, source, extra = [fields.get(name) for name in ("kind", "text", "source", "extra")]
    sound = kind in items.KINDS and isinstance(text, str) and isinstance(source, str)
    if not sound or not isinstance(extra, dict):
        return  # written by another version, or damaged
    moment = clock.format_utc(at) if isinstance(at, int | float) and 0 < at < _FAR_OFF else None
    weight = _OWN_WEIGHT if source == items.PERSON else 1.0
    item = items.Item(str(kind), str(text), str(source), at=moment, weight=weight, extra=extra)
    known = ledger.items.get(item.id) or _known_report(ledger, item)
    if known is None:
        ledger.items[item.id] = item
    else:
        known.extra = extra | known.extra
        known.weight = max(known.weight, weight)


def _known_report(ledger: Ledger, item: Item) -> Item | None:
    """The item that the transcript has of the same report of an agent."""
    if item.kind != items.AGENT:
        return None
    told = set(item.text.lower().split())
    for known in ledger.of(items.AGENT):
        words = set(known.text.lower().split())
        if len(words & told) >= _SAME_REPORT * min(len(words), len(told)):
            return known
    return None


def _lines(home_dir: str, session_id: str) -> Iterator[dict[str, Any]]:
    """Every sound line; a torn one costs itself only."""
    try:
        raw = fastio.read_file(_path(home_dir, session_id), _LARGEST_BYTES)
    except OSError:
        return
    for text in raw.decode("utf-8", "replace").split("\n"):
        for found in fastjson.loads_all(text):
            if isinstance(found, dict) and found.get("v") == FORMAT:
                yield found


def _append(home_dir: str, session_id: str, fields: dict[str, Any]) -> None:
    line = {"v": FORMAT, "at": round(clock.now(), 3)} | fields
    fastio.append_line(_path(home_dir, session_id), fastjson.dumps(line))


def _path(home_dir: str, session_id: str) -> str:
    return f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
