"""A compaction without a model: the client's messages in, what is to be replaced out.

Originals are stored before the answer is given, and nothing that could not be stored is replaced.
At the slightest doubt the answer is to pass, so that the client makes its own summary.
"""

from __future__ import annotations

import binascii
import hashlib  # noqa: F401 - the store hashes by it where it is loaded; there is much to hash
from typing import Any, NamedTuple

from brimline import models
from brimline.bulk import cold, judge, layout, put, stub
from brimline.bulk.previews import Previews
from brimline.errors import StoreError
from brimline.transcript import clienttools
from brimline.transcript.calls import Call

# A question ahead: nothing is moved yet.
_AHEAD = "precompute"
_TRIGGERS = ("auto", "manual", "idle", _AHEAD)
# Thinking is an entry without content: what it takes is not told, and it goes.
_THINKING_TOKENS = 125


class Moved(NamedTuple):
    """What is replaced, by call, as the mod is told."""

    results: dict[str, str]
    keys: dict[str, str]
    inputs: dict[str, Any]
    input_keys: dict[str, str]


class Conversation:
    """What the messages of a request hold: calls, and by call their inputs, results and images."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}
        # By call: what stays behind a result, because the client said it and not the tool.
        self.behind: dict[str, str] = {}
        self.images: dict[str, str] = {}
        # Estimated; thinking is part of all of it.
        self.tokens = self.thinking_tokens = 0.0


def store_cold_and_answer(
    request: dict[str, Any], home_dir: str, values: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    """What is to be replaced in a conversation, or why nothing is; and the tokens that it frees.

    Args:
        request: what the mod sends: session, folder, trigger, instructions, messages.
        home_dir: the data folder.
        values: settings by name.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the request has another shape.
    """
    share = cold.SHARES.get(values["compaction.inside"])
    if share is None:
        return {"pass": "compaction.inside is off"}, 0
    if request["trigger"] not in _TRIGGERS or request.get("instructions"):
        return {"pass": "a summary was asked for"}, 0
    shown = Previews(home_dir, request["session"])
    conversation = read_conversation(request["messages"], shown)
    results, inputs = _calls_to_move(conversation, values["offload.never"])
    largest = _sum_movable_tokens(conversation, results, inputs)
    least = share * conversation.tokens - conversation.thinking_tokens
    too_little = f"too little to let go of: {largest:,.0f} of {conversation.tokens:,.0f} tokens"
    too_little += f", less than {share:.0%} (compaction.inside)"
    if not results or largest < least:
        return {"pass": too_little}, 0
    if request["trigger"] == _AHEAD:
        return {"is_enough": True}, 0
    mover = _Mover(home_dir, request, shown)
    for call in results:
        mover.move_result(call, conversation)
    for call in inputs:
        mover.move_input(call, conversation.inputs[call.id])
    if mover.freed_tokens < least or not mover.has_moved_every_image(conversation.images):
        return {"pass": mover.problem or too_little}, 0
    return mover.moved._asdict(), mover.freed_tokens + conversation.thinking_tokens


def _sum_movable_tokens(
    conversation: Conversation, results: list[Call], inputs: list[Call]
) -> float:
    """The tokens of some calls' results and of some calls' inputs."""
    result_tokens = sum(_result_text_tokens(conversation.texts[call.id]) for call in results)
    return result_tokens + sum(_input_tokens(conversation.inputs[call.id]) for call in inputs)


def _calls_to_move(conversation: Conversation, never: list[str]) -> tuple[list[Call], list[Call]]:
    """The calls whose results, and those whose inputs, can go.

    What the user keeps in the window stays, but for images, which cannot be rebuilt.
    """
    calls, inputs = list(conversation.calls.values()), conversation.inputs

    def can_move(call: Call) -> bool:
        return call.has_image or not judge.does_call_match_any(never, call.tool, inputs[call.id])

    aged = enumerate(calls)
    long = [call for at, call in aged if cold.has_cold_input(inputs[call.id], len(calls) - at)]
    return [*filter(can_move, cold.select_cold_result_calls(calls))], [*filter(can_move, long)]


def read_conversation(
    messages: list[dict[str, Any]], shown: Previews | None = None
) -> Conversation:
    """The calls of a conversation with their results, and how many tokens all of it takes, about.

    Args:
        messages: the conversation.
        shown: what of its results is ours, where that is known.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the messages have another shape.
    """
    found = Conversation()
    for entry in messages:
        uses, results = entry.get("toolUses") or (), entry.get("toolResults") or ()
        if not (entry["text"] or uses or results):
            found.thinking_tokens += _THINKING_TOKENS
        found.tokens += models.tokens_of_text(len(entry["text"])) + models.TEXT_TOKENS
        for use in uses:
            _add_call(found, use)
        for result in results:
            _add_result(found, result, shown)
    found.tokens += found.thinking_tokens
    return found


def _add_call(found: Conversation, use: dict[str, Any]) -> None:
    call_id, arguments = use["tool_use_id"], use.get("input")
    arguments = arguments if isinstance(arguments, dict) else {}
    found.tokens += _input_tokens(arguments) + models.CALL_TOKENS
    found.inputs[call_id] = arguments
    found.calls[call_id] = Call(call_id, use["tool"], clienttools.subject_of_call(arguments))


def _add_result(found: Conversation, result: dict[str, Any], shown: Previews | None) -> None:
    whole, is_error = result["text"], bool(result.get("isError"))
    text = shown.without_reminders_put_back(whole) if shown else whole
    found.tokens += _result_text_tokens(text) + models.RESULT_TOKENS
    call = found.calls.get(result["tool_use_id"])
    if call is None:
        return
    image = _first_image_base64_in(result.get("result"))
    if image:
        found.images[call.id] = image
    found.texts[call.id], found.behind[call.id] = text, whole[len(text) :]
    found.calls[call.id] = call.answered(text, is_error=is_error, has_image=bool(image))


class _Mover:
    """Takes originals into the store and says what stands in for them."""

    def __init__(self, home_dir: str, request: dict[str, Any], shown: Previews) -> None:
        self.home_dir, self.shown = home_dir, shown
        self.about = {"session": request["session"], "cwd": request["cwd"], "moved_out": True}
        self.moved = Moved({}, {}, {}, {})
        self.freed_tokens = 0.0
        self.problem = ""
        self.has_stored = False

    def move_result(self, call: Call, conversation: Conversation) -> None:
        """A line in the place of a result, where that is shorter and the result is stored."""
        text, image = conversation.texts[call.id], conversation.images.get(call.id, "")
        note = _note_on_image_for_line(call, text) if image else ""
        data = text.encode("utf-8", "surrogatepass") or binascii.a2b_base64(image)
        original = self.shown.original_of(call.id, text)
        key = original.key if original else self._store(data, call)
        if key is None:
            return
        size_bytes = original.size_bytes if original else len(data)
        line = stub.build_line(call.tool, call.subject, size_bytes, key, note)
        if original:
            layout.mark_as_used(self.home_dir, layout.digest_of_key(key))
            line = f"{line}\n{original.beside}".rstrip()
        if len(line) < len(text) or image:
            self.moved.results[call.id] = line + conversation.behind[call.id]
            self.moved.keys[call.id] = key
            self.freed_tokens += _result_text_tokens(text) - _result_text_tokens(line)

    def move_input(self, call: Call, arguments: dict[str, Any]) -> None:
        """An input with its long strings cut, where it is stored as a whole."""
        key = self._store(
            cold.readable_input_text(arguments).encode("utf-8", "surrogatepass"), call
        )
        if key is None:
            return
        mark = f" … [brimline: cut here, recall {layout.shorten_key(key)}] … "
        short = cold.cut_string_middles(arguments, mark)
        self.moved.inputs[call.id], self.moved.input_keys[call.id] = short, key
        self.freed_tokens += _input_tokens(arguments) - _input_tokens(short)

    def has_moved_every_image(self, images: dict[str, str]) -> bool:
        """Whether no image would go without a line."""
        return images.keys() <= self.moved.results.keys()

    def _store(self, data: bytes, call: Call) -> str | None:
        """The key of content that is in the store now; None where it could not be stored."""
        meta = {"tool": call.tool, "source": call.subject or None}
        try:
            # The session's file holds it too, so it need not be forced onto the disk.
            how = {"is_last": False, "is_synced": False, "is_next": self.has_stored}
            key = put.put(self.home_dir, data, self.about | meta, **how)
            self.has_stored = True
            return key
        except (OSError, StoreError) as error:
            self.problem = f"the originals could not be stored: {error}"
            return None


def _note_on_image_for_line(call: Call, text: str) -> str:
    """What a line says of an image; one beside a text is in the session's file alone."""
    if call.tool == "Read":
        return ", an image: Read the file again"
    return ", without its image" if text else ", an image"


def _first_image_base64_in(value: Any) -> str:
    """The first image in what a tool answered, in base64; empty without one."""
    if isinstance(value, list):
        return next(filter(None, map(_first_image_base64_in, value)), "")
    if not isinstance(value, dict):
        return ""
    source = value.get("file") or value.get("source")
    holder = source if isinstance(source, dict) else value
    data = holder.get("base64") or (holder.get("data") if value.get("type") == "image" else None)
    return data if isinstance(data, str) else _first_image_base64_in(value.get("content"))


def _result_text_tokens(text: str) -> float:
    return models.tokens_of_result(len(text))


def _input_tokens(value: Any) -> float:
    return models.tokens_of_text(_estimate_json_characters(value))


def _estimate_json_characters(value: Any) -> int:
    """The characters of a value as JSON writes it, about."""
    if isinstance(value, dict):
        return sum(len(name) + 6 + _estimate_json_characters(item) for name, item in value.items())
    if isinstance(value, list):
        return sum(_estimate_json_characters(item) + 2 for item in value)
    return len(value) if isinstance(value, str) else 4
