"""A compaction without a model: the client's messages in, what is to be replaced out.

Originals are stored before the answer is given, and nothing that could not be stored is replaced.
At the slightest doubt the answer is to pass, so that the client makes its own summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.compaction import cold
from brimline.compaction.cold import Call
from brimline.errors import StoreError
from brimline.store import put, stub

if TYPE_CHECKING:
    from collections.abc import Iterator

# The share of the messages that has to go, by setting, for a compaction to be worth its while.
SHARES = {"keep": 0.1, "balanced": 0.3, "thrifty": 0.5}
_TRIGGERS = ("auto", "manual", "idle")
# What an entry takes beside its text.
_ENTRY_CHARACTERS = 30
_SUBJECTS = ("file_path", "notebook_path", "command", "pattern", "path", "url", "query", "skill")


def answer(request: dict[str, Any], home_dir: str, values: dict[str, Any]) -> dict[str, Any]:
    """What is to be replaced in a conversation, or why nothing is.

    Args:
        request: what the mod sends: session, folder, trigger, instructions, messages.
        home_dir: the data folder.
        values: settings by name.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the messages have another shape.
    """
    share = SHARES.get(values["compaction.inside"])
    if share is None:
        return {"pass": "compaction.inside is off"}
    if request["trigger"] not in _TRIGGERS or request.get("instructions"):
        return {"pass": "a summary was asked for"}
    calls, total = read(request["messages"])
    results, inputs = cold.cold_results(calls), cold.cold_inputs(calls)
    if not results or _size(results, inputs) < share * total:
        return {"pass": "too little to let go"}
    about = {"session": request["session"], "cwd": request["cwd"], "moved": True}
    moved = Moved({}, {}, {}, {})
    freed = sum(_store_result(call, moved, home_dir, about) for call in results)
    freed += sum(_store_input(call, moved, home_dir, about) for call in inputs)
    if freed < share * total:
        return {"pass": "the originals could not be stored"}
    return moved._asdict() | {"add": []}


class Moved(NamedTuple):
    """What is replaced, by call."""

    results: dict[str, str]
    keys: dict[str, str]
    inputs: dict[str, Any]
    input_keys: dict[str, str]


def read(messages: list[dict[str, Any]]) -> tuple[list[Call], int]:
    """The calls of a conversation with their results, and how many characters all of it has."""
    calls: dict[str, Call] = {}
    total = 0
    for entry in messages:
        total += len(entry["text"]) + _ENTRY_CHARACTERS
        for use in entry.get("toolUses") or ():
            calls[use["tool_use_id"]] = Call(use["tool_use_id"], use["tool"], use.get("input"))
            total += _length(use.get("input"))
        for result in entry.get("toolResults") or ():
            total += len(result["text"])
            call = calls.get(result["tool_use_id"])
            if call:
                calls[call.id] = call._replace(
                    text=result["text"],
                    is_error=bool(result.get("isError")),
                )
    return list(calls.values()), total


def _size(results: list[Call], inputs: list[Call]) -> int:
    return sum(len(call.text or "") for call in results) + sum(
        _length(call.arguments) for call in inputs
    )


def _length(value: Any) -> int:
    """The characters of a value, as JSON would write it, about."""
    if isinstance(value, dict):
        return sum(len(name) + 6 + _length(item) for name, item in value.items())
    if isinstance(value, list):
        return sum(_length(item) + 2 for item in value)
    return len(value) if isinstance(value, str) else 4


def _store_result(call: Call, moved: Moved, home_dir: str, about: dict[str, Any]) -> int:
    """Store a result and put a line in its place; returns how many characters that frees."""
    text = call.text or ""
    reference = stub.parse(text) if text.startswith(stub.BEGINNINGS) else None
    size = len(text.encode("utf-8", "surrogatepass"))
    subject = _subject(call.arguments)
    key = reference.key if reference else _put(text, call, home_dir, about)
    if key is None:
        return 0
    if reference and reference.content_bytes is not None:
        size = reference.content_bytes
    line = stub.line(call.tool, subject, size, key)
    moved.results[call.id], moved.keys[call.id] = line, key
    return len(text) - len(line)


def _store_input(call: Call, moved: Moved, home_dir: str, about: dict[str, Any]) -> int:
    """Store an input and shorten its long strings; returns how many characters that frees."""
    key = _put("\n".join(_written(call.arguments, "")), call, home_dir, about)
    if key is None:
        return 0
    short = cold.shortened(call.arguments, f" … [brimline cut this input, recall {key[:19]}] … ")
    moved.inputs[call.id], moved.input_keys[call.id] = short, key
    return _length(call.arguments) - _length(short)


def _put(text: str, call: Call, home_dir: str, about: dict[str, Any]) -> str | None:
    """The key of a text that is now in the store; None where it could not be stored."""
    meta = about | {"tool": call.tool, "source": _subject(call.arguments) or None}
    try:
        # The session's file holds it too, so it need not be forced onto the disk.
        data = text.encode("utf-8", "surrogatepass")
        return put.put(home_dir, data, meta, is_last=False, is_synced=False)
    except (OSError, StoreError):
        return None


def _subject(arguments: Any) -> str:
    """What a call was about: a file, a command, a pattern."""
    values = [arguments.get(name) for name in _SUBJECTS] if isinstance(arguments, dict) else []
    return next((value for value in values if isinstance(value, str) and value), "")


def _written(value: Any, name: str) -> Iterator[str]:
    """An input for a reader: each value under its name, texts as they are."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _written(item, f"{name}.{key}" if name else str(key))
    else:
        yield f"{name}: {value}" if "\n" not in str(value) else f"{name}:\n{value}"
