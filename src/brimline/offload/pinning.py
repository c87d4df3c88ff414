"""Pins that the user asks for in a prompt: of the last large result, the next, or a range.

What is still to come is noted in a file of the session, which exists only while something is:
one line for a directive, one for each large result after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.decision import Decision
from brimline.errors import StoreError
from brimline.fast import io, json
from brimline.offload import looks
from brimline.offload.hook import LARGE_BYTES, PINS_WAIT
from brimline.store import contents, directives, layout, pins, put, stub
from brimline.transcript import tail
from brimline.transcript.row import results

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

    Item = directives.Said | directives.Result

_LOOK_BACK_BYTES = 32 << 20
# Also of a search, `[brimline recall: hits …`.
_OWN_ANSWER = "[brimline recall"


def on_prompt(turn: Turn) -> Decision | None:
    """Do what the directives in a prompt say, and tell the person."""
    asked = directives.parse(turn.event.prompt, turn.values["store.pin_level"])
    told = tuple([obey(directive, turn) for directive in asked])
    return Decision(person_notes=told) if told else None


def obey(directive: directives.Directive, turn: Turn) -> str:
    """Do what one directive says; returns what to tell the person."""
    if directive.kind == directives.LAST:
        return _pin_last(directive, turn)
    return _note_directive(directive, turn.state, turn.home)


def last_key(turn: Turn) -> str | None:
    """The nearest large result before; one that stayed in the window is stored for it."""
    try:
        for row in tail.rows_backward(turn.event.transcript, b'"tool_result"', _LOOK_BACK_BYTES):
            for text in reversed([result.text for result in results(row)]):
                key = _key_of(text, turn.state, turn.home)
                if key:
                    return key
    except OSError:
        pass  # a session that has no transcript yet has no results either
    return None


def on_result(key: str, state: SessionState, home_dir: str) -> None:
    """A large result came while a pin was waiting for one."""
    _append(state, {"key": key})
    _settle(state, home_dir)


def before_compaction(state: SessionState, home_dir: str) -> int:
    """Pin what open ranges have gathered so far; returns how many results that are.

    What a directive names is in the store from the moment it came. After the compaction it is no
    longer in sight, and a session may end without the word that closes its range.
    """
    if PINS_WAIT not in state.names:
        return 0
    items = _noted(state)
    ends = [directives.Said("brim:pin end")] * _open_ranges(items)[0]
    wanted = directives.resolve([*items, *ends])
    for key, pin in wanted.items():
        _pin(home_dir, key, pin.level, pin.reason)
    return len(wanted)


def _pin_last(directive: directives.Directive, turn: Turn) -> str:
    try:
        key = last_key(turn)
    except StoreError as error:
        return f"brimline: {error}"
    if key is None:
        return "brimline: there is no large result to pin yet."
    return _pin(turn.home, key, directive.level, directive.reason)


def _key_of(text: str, state: SessionState, home_dir: str) -> str | None:
    """The key of what a result shows; None where that is too small to be pinned.

    What a stub stands for and what was recalled is in the store already. A search through the store
    is no result of its own.
    """
    if text.startswith(_OWN_ANSWER):
        return _recalled(text, home_dir)
    known = stub.parse(text[:1_000]) if "sha256:" in text[:1_000] else None
    if known:
        return known.key
    content = text.encode("utf-8", "surrogatepass")
    if len(content) < LARGE_BYTES:
        return None
    # The client takes the last line break off what a command prints.
    for original in (content, content + b"\n"):
        key = layout.PREFIX + put.sha256(original)
        if contents.matching(home_dir, layout.digest_of(key)):
            return key
    return put.put(home_dir, content, {"session": state.session_id})


def _recalled(text: str, home_dir: str) -> str | None:
    """The key that the first line of our own answer names."""
    if not text.startswith(looks.RECALL_HEADER + layout.PREFIX):
        return None
    name = text[len(looks.RECALL_HEADER) :].split(maxsplit=1)[0].rstrip(":]")
    try:
        return contents.resolve(home_dir, name)
    except StoreError:
        return None  # it is gone, or was never there: the results before it count


def _note_directive(directive: directives.Directive, state: SessionState, home_dir: str) -> str:
    _append(state, {"said": _spelled(directive)})
    if directive.kind == directives.END:
        pinned = _settle(state, home_dir)
        return f"brimline: pinned {pinned} large results of the range."
    if directive.kind == directives.NEXT:
        return f"brimline: the next large result will be pinned ({directive.level})."
    return f"brimline: large results are pinned ({directive.level}) once you write brim:pin end."


def _settle(state: SessionState, home_dir: str) -> int:
    """Pin what the noted directives mean by now; returns how many results that are."""
    items = _noted(state)
    wanted = directives.resolve(items)
    for key, pin in wanted.items():
        _pin(home_dir, key, pin.level, pin.reason)
    if not any(_open_ranges(items)):
        io.remove(f"{state.folder}/{PINS_WAIT}")
    return len(wanted)


def _open_ranges(items: list[Item]) -> tuple[int, bool]:
    """How many ranges still wait for their end, and whether a directive waits for a result."""
    count, waits = 0, False
    for item in items:
        waits = waits and isinstance(item, directives.Said)
        for directive in directives.parse(item.text) if isinstance(item, directives.Said) else ():
            waits = waits or directive.kind == directives.NEXT
            count += directive.kind == directives.START
            count = max(count - (directive.kind == directives.END), 0)
    return count, waits


def _noted(state: SessionState) -> list[Item]:
    raw = io.read_file(f"{state.folder}/{PINS_WAIT}").decode("utf-8", "replace")
    items: list[Item] = []
    for found in [found for line in raw.split("\n") for found in json.loads_all(line)]:
        if isinstance(found.get("said"), str):
            items.append(directives.Said(found["said"]))
        elif isinstance(found.get("key"), str):
            items.append(directives.Result(found["key"]))
    return items


def _spelled(directive: directives.Directive) -> str:
    """The directive with its level written out, for it may come from a setting."""
    text = f"brim:pin {directive.kind} level={directive.level}"
    if directive.reason is None:
        return text
    quoted = directive.reason.replace("\\", "\\\\").replace('"', '\\"')
    return f'{text} reason="{quoted}"'


def _pin(home_dir: str, key: str, level: str, reason: str | None) -> str:
    short = layout.short(key)
    try:
        pins.pin(home_dir, key, level, reason)
    except StoreError as error:
        return f"brimline: {error}"
    return f"brimline: pinned {short} ({level})."


def _append(state: SessionState, line: dict[str, Any]) -> None:
    io.append_line(f"{state.folder}/{PINS_WAIT}", json.dumps(line))
