"""Pins that the user asks for in a prompt: of the last large result, the next, or a range.

What is still to come is noted in a file of the session, which exists only while something is:
one line for a directive, one for each large result after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.bulk import contents, layout, looks, pins, previews, put
from brimline.bulk.marks import LARGE_BYTES, PINS_WAIT
from brimline.errors import StoreError
from brimline.fast import io, json
from brimline.fast.decision import Decision
from brimline.transcript import find
from brimline.transcript.row import main_thread_results

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

_LOOK_BACK_BYTES = 32 << 20
# Also of a search, `[brimline recall: hits …`.
_OWN_ANSWER = "[brimline recall"


def decision_obeying_directives(turn: Turn) -> Decision | None:
    """Do what the directives in a prompt say, and tell the person."""
    directives = pins.directives_in_text(turn.event.prompt)
    if directives and find.does_schedule_send(turn.event.transcript, turn.event.prompt):
        return None
    notes = tuple([obey_directive(directive, turn) for directive in directives])
    return Decision(person_notes=notes) if notes else None


def obey_directive(directive: pins.Directive, turn: Turn) -> str:
    """Do what one directive says; returns what to tell the person."""
    if directive.kind != pins.LAST:
        return _note_directive_and_tell(directive, turn.state, turn.home)
    try:
        key = ensure_last_large_result_is_stored(turn)
    except StoreError as error:
        return f"brimline: {error}"
    if key is None:
        return "brimline: there is no large result to pin yet."
    return _pin_key_and_tell(turn.home, key, directive)


def ensure_last_large_result_is_stored(turn: Turn) -> str | None:
    """The nearest large result before; one that stayed in the window is stored for it."""
    shown = previews.Previews(turn.home, turn.state.session_id, turn.event.transcript)
    try:
        for row in json.rows_backward(turn.event.transcript, b'"tool_result"', _LOOK_BACK_BYTES):
            for result in reversed(list(main_thread_results(row))):
                original = shown.original_of(result.call_id, result.text)
                key = original.key if original else _key_of_text_or_store_it(result.text, turn)
                if key:
                    return key
    except OSError:
        pass  # a session that has no transcript yet has no results either
    return None


def pin_large_result_if_wanted(key: str, state: SessionState, home_dir: str) -> None:
    """A large result came while a pin was waiting for one."""
    _append_to_waiting_pins(state, {"key": key})
    _pin_noted_results_and_count(state, home_dir)


def pin_results_of_open_ranges(state: SessionState, home_dir: str) -> None:
    """Pin what open ranges have gathered so far.

    What a directive names is in the store from the moment it came. After the compaction it is no
    longer in sight, and a session may end without the word that closes its range.
    """
    _pin_each_silently(
        home_dir, pins.match_directives_to_results(_read_waiting_pins_file(state)).gathered
    )


def _key_of_text_or_store_it(text: str, turn: Turn) -> str | None:
    """Return the key of what a result shows; None where that is too small to be pinned.

    What was recalled is in the store already. A search of the store is not a result.
    """
    home_dir = turn.home
    if text.startswith(_OWN_ANSWER):
        return _key_in_recall_header(text, home_dir)
    content = text.encode("utf-8", "surrogatepass")
    if len(content) < LARGE_BYTES:
        return None
    # The client takes the last line break off what a command prints.
    for original in (content, content + b"\n"):
        key = layout.PREFIX + put.sha256(original)
        if contents.digests_starting_with(home_dir, layout.digest_of_key(key)):
            return key
    return put.put(home_dir, content, {"session": turn.state.session_id})


def _key_in_recall_header(text: str, home_dir: str) -> str | None:
    """The key that the first line of our own answer names."""
    if not text.startswith(looks.RECALL_HEADER + layout.PREFIX):
        return None
    name = text[len(looks.RECALL_HEADER) :].split(maxsplit=1)[0].rstrip(":]")
    try:
        return contents.resolve_key(home_dir, name)
    except StoreError:
        return None  # it is gone, or was never there: the results before it count


def _note_directive_and_tell(directive: pins.Directive, state: SessionState, home_dir: str) -> str:
    _append_to_waiting_pins(state, directive._asdict())
    if directive.kind == pins.END:
        pinned = _pin_noted_results_and_count(state, home_dir)
        return f"brimline: pinned {pinned} large results of the range."
    if directive.kind == pins.NEXT:
        return f"brimline: the next large result will be pinned ({directive.level})."
    return f"brimline: large results are pinned ({directive.level}) once you write brim:pin end."


def _pin_noted_results_and_count(state: SessionState, home_dir: str) -> int:
    """Pin what the noted directives mean by now; returns how many results that are."""
    resolved = pins.match_directives_to_results(_read_waiting_pins_file(state))
    _pin_each_silently(home_dir, resolved.wanted)
    if not resolved.waits:
        io.remove(f"{state.folder}/{PINS_WAIT}")
    return len(resolved.wanted)


def _read_waiting_pins_file(state: SessionState) -> list[pins.Directive | pins.Result]:
    raw = io.read_file(f"{state.folder}/{PINS_WAIT}").decode("utf-8", "replace")
    notes = [note for line in raw.split("\n") for note in json.parse_all_on_line(line)]
    return [pins.Result(note["key"]) if "key" in note else pins.Directive(**note) for note in notes]


def _pin_each_silently(home_dir: str, wanted: dict[str, pins.Directive]) -> None:
    for key, directive in wanted.items():
        _pin_key_and_tell(home_dir, key, directive)


def _pin_key_and_tell(home_dir: str, key: str, directive: pins.Directive) -> str:
    held = pins.pin_level_of(home_dir, layout.digest_of_key(key))
    if directive.level != pins.NONE and pins.level_rank(held) > pins.level_rank(directive.level):
        return f"brimline: {layout.shorten_key(key)} stays pinned ({held}): unpin it first."
    try:
        pins.pin(home_dir, key, directive.level, directive.reason)
    except StoreError as error:
        return f"brimline: {error}"
    return f"brimline: pinned {layout.shorten_key(key)} ({directive.level})."


def _append_to_waiting_pins(state: SessionState, line: dict[str, Any]) -> None:
    io.append_line(f"{state.folder}/{PINS_WAIT}", json.dumps(line))
