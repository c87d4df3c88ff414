"""A compaction without a model: the client's messages in, what is to be replaced out.

Originals are stored before the answer is given, and nothing that could not be stored is replaced.
What the client itself has left out of its requests comes back with rows that are rebuilt, so each
such result gets a line, and nothing counts as freed that was not sent.
At the slightest doubt the answer is to pass, so that the client makes its own summary.
"""

from __future__ import annotations

import functools

from brimline import models
from brimline.bulk import cold, layout, put, said, stub
from brimline.bulk.previews import Previews
from brimline.errors import StoreError
from brimline.fast import io, paths
from brimline.fast.io import NamedTuple
from brimline.transcript import clienttools
from brimline.transcript.calls import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# A question ahead: nothing is moved yet.
_AHEAD = "precompute"
_TRIGGERS = ("auto", "manual", "plugin", _AHEAD)
# Thinking is an entry without content: what it takes is not told, and it goes.
_THINKING_TOKENS = 125


class Moved(NamedTuple):
    """What is replaced, by call, as the mod is told."""

    results: dict[str, str]
    keys: dict[str, str]
    inputs: dict[str, Any]
    input_keys: dict[str, str]


class Line(NamedTuple):
    """What stands in for a result: a line, and what is left around it."""

    head: str
    text: str
    tail: str
    original: str
    """What the line may quote; empty where it says no more."""


class Conversation:
    """What the messages of a request hold: calls, and by call their inputs, results and images."""

    def __init__(self, cut_by_client: dict[str, str]) -> None:
        """Begin with what the client sends in the place of results, by call."""
        self.cut_by_client = cut_by_client
        # Those of its calls that have been cut, and what was written outside of calls.
        self.cut_calls: list[Call] = []
        self.said: list[str] = []
        self.calls: dict[str, Call] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}
        # By call: what stays behind a result, because the client said it and not the tool.
        self.behind: dict[str, str] = {}
        self.images: dict[str, str] = {}
        # Estimated; thinking is part of all of it.
        self.tokens = self.thinking_tokens = 0.0


def store_cold_and_answer(
    request: dict[str, Any],
    home_dir: str,
    values: dict[str, Any],
    is_late: Callable[[], bool] = lambda: False,
    later: list[put.Record] | None = None,
) -> tuple[dict[str, Any], float]:
    """What is to be replaced in a conversation, or why nothing is; and the tokens that it frees.

    Args:
        request: what the mod sends: session, folder, trigger, instructions, messages.
        home_dir: the data folder.
        values: settings by name.
        is_late: whether there is no time left for what lines say.
        later: gets what the store is yet to be told of the originals, unless it is told at once.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the request has another shape.
    """
    rule = cold.RULES.get(values["compaction.inside"])
    if rule is None:
        return {"pass": "compaction.inside is off"}, 0
    if request["trigger"] not in _TRIGGERS or request.get("instructions"):
        return {"pass": "a summary was asked for"}, 0
    shown = Previews(home_dir, request["session"])
    cut_by_client = _stand_ins_of_client(request["session"])
    conversation = read_conversation(request["messages"], shown, cut_by_client)
    results, inputs = _calls_to_move(conversation, rule, values["offload.never"])
    largest = _sum_movable_tokens(conversation, [each.call for each in results], inputs)
    least = rule.share * conversation.tokens - conversation.thinking_tokens
    too_little = f"too little to let go of: {largest:,.0f} of {conversation.tokens:,.0f} tokens"
    too_little += f", less than {rule.share:.0%} (compaction.inside)"
    if not results or largest < least:
        return {"pass": too_little}, 0
    if request["trigger"] == _AHEAD:
        return {"is_enough": True}, 0
    mover = _Mover(home_dir, request, shown, later)
    for each in [*results, *(cold.Gone(call, False) for call in conversation.cut_calls)]:
        mover.move_result(each, conversation)
    for call in inputs:
        mover.move_input(call, conversation.inputs[call.id])
    freed_tokens = mover.freed_tokens(conversation)
    mover.fill_lines(conversation, is_late)
    moved, remaining_tokens = mover.moved(conversation), mover.freed_tokens(conversation)
    if conversation.cut_calls:  # what was gone before cannot go
        freed_tokens = remaining_tokens
    if freed_tokens < least or not mover.has_moved_every_image(conversation.images):
        return {"pass": mover.problem or too_little}, 0
    return moved._asdict(), remaining_tokens + conversation.thinking_tokens


def _stand_ins_of_client(session: str) -> dict[str, str]:
    """What the client sends in the place of results, by call; nothing where no file tells."""
    path = paths.transcript_of_session(session)
    if not path or not io.does_file_contain(path, clienttools.CUT_MARK):
        return {}
    from brimline.transcript import clearings

    try:
        return clearings.stand_ins_by_call(path)
    except OSError:
        return {}


def _sum_movable_tokens(
    conversation: Conversation, results: list[Call], inputs: list[Call]
) -> float:
    """The tokens of some calls' results and of some calls' inputs."""
    result_tokens = sum(models.tokens_of_result(call.characters or 0) for call in results)
    return result_tokens + sum(_input_tokens(conversation.inputs[call.id]) for call in inputs)


def _calls_to_move(
    conversation: Conversation, rule: cold.Rule, never: list[str]
) -> tuple[list[cold.Gone], list[Call]]:
    """The results that can go, and the calls whose inputs can.

    What the user keeps in the window stays, but for images, which cannot be rebuilt.
    """
    calls, inputs = list(conversation.calls.values()), conversation.inputs

    def can_move(call: Call) -> bool:
        if call.has_image or not never:
            return True
        from brimline.bulk import judge

        return not judge.does_call_match_any(never, call.tool, inputs[call.id])

    aged = zip(range(len(calls), 0, -1), calls, strict=True)
    long = [call for age, call in aged if cold.has_cold_input(inputs[call.id], age, rule)]
    results = cold.select_cold_results(calls, conversation.texts, rule)
    return [each for each in results if can_move(each.call)], [*filter(can_move, long)]


def read_conversation(
    messages: list[dict[str, Any]],
    shown: Previews | None = None,
    cut_by_client: dict[str, str] | None = None,
) -> Conversation:
    """The calls of a conversation with their results, and how many tokens all of it takes, about.

    Args:
        messages: the conversation.
        shown: what of its results is ours, where that is known.
        cut_by_client: what the client sends in the place of results, by call.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the messages have another shape.
    """
    found = Conversation(cut_by_client or {})
    for entry in messages:
        uses, results = entry.get("toolUses") or (), entry.get("toolResults") or ()
        if not (entry["text"] or uses or results):
            found.thinking_tokens += _THINKING_TOKENS
        found.said.append(entry["text"])
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
    found.tokens += models.RESULT_TOKENS
    call = found.calls.get(result["tool_use_id"])
    if call is None:
        found.tokens += models.tokens_of_result(len(text))
        return
    image = _first_image_base64_in(result.get("result"))
    if image:
        found.images[call.id] = image
    call = call.answered(text, is_error=is_error, has_image=bool(image))
    stand_in = found.cut_by_client.get(call.id)
    if stand_in is not None and not (call.is_users or image):
        from brimline.transcript import clearings

        if clearings.is_sent_as_stand_in(stand_in, call):
            call = call._replace(characters=len(stand_in))  # what is not sent is no bulk
            found.cut_calls.append(call)
    found.tokens += models.tokens_of_result(call.characters or 0)
    found.calls[call.id] = call
    found.texts[call.id], found.behind[call.id] = text, whole[len(text) :]


class _Mover:
    """Takes originals into the store and says what stands in for them."""

    def __init__(
        self,
        home_dir: str,
        request: dict[str, Any],
        shown: Previews,
        later: list[put.Record] | None,
    ) -> None:
        self.home_dir, self.shown, self.later = home_dir, shown, later
        self.about = {"session": request["session"], "cwd": request["cwd"], "moved_out": True}
        self.lines: dict[str, Line] = {}
        self.keys: dict[str, str] = {}
        self.inputs: dict[str, Any] = {}
        self.input_keys: dict[str, str] = {}
        self.problem = ""
        self.has_stored = False

    def move_result(self, gone: cold.Gone, conversation: Conversation) -> None:
        """A line in the place of a result, where that is shorter and the result is stored."""
        call = gone.call
        text, image = conversation.texts[call.id], conversation.images.get(call.id, "")
        note = _note_on_image_for_line(call, text) if image else ""
        data = text.encode("utf-8", "surrogatepass") or _bytes_of_base64(image)
        original = self.shown.original_of(call.id, text)
        key = original.key if original else self._store(data, call)
        if key is None:
            return
        line = stub.build_line(
            call.tool, call.subject, original.size_bytes if original else len(data), key, note
        )
        head, tail = cold.ends_of_report(gone, text)
        if original:
            layout.mark_as_used(self.home_dir, layout.digest_of_key(key))
            tail = f"\n{original.beside}".rstrip()
            text = said.quotable_of_preview(text)
        if len(head + line + tail) < len(conversation.texts[call.id]) or image:
            quotable = "" if image or call in conversation.cut_calls else text
            self.lines[call.id] = Line(head, line, tail, quotable)
            self.keys[call.id] = key

    def move_input(self, call: Call, arguments: dict[str, Any]) -> None:
        """An input with its long strings cut, where it is stored as a whole."""
        data = cold.readable_input_text(arguments).encode("utf-8", "surrogatepass")
        key = self._store(data, call)
        if key is not None:
            self.input_keys[call.id] = key
            self.inputs[call.id] = cold.cut_string_middles(arguments, lambda _: said.bare_mark(key))

    def fill_lines(self, conversation: Conversation, is_late: Callable[[], bool]) -> None:
        """Say in lines and marks what nothing else says any more, the newest first."""
        sight = None if is_late() else said.InSight(self._texts_that_stay(conversation))
        for call_id in reversed(conversation.calls):
            if sight is None or is_late():
                return
            line, key = self.lines.get(call_id), self.input_keys.get(call_id)
            if line and line.original:
                filled = sight.fill_line(line.text, line.original)
                self.lines[call_id] = line._replace(text=filled)
            if key:
                fill = functools.partial(sight.fill_mark, said.bare_mark(key))
                self.inputs[call_id] = cold.cut_string_middles(conversation.inputs[call_id], fill)

    def moved(self, conversation: Conversation) -> Moved:
        """All that is replaced."""
        results = {
            call: f"{each.head}{each.text}{each.tail}{conversation.behind[call]}"
            for call, each in self.lines.items()
        }
        return Moved(results, self.keys, self.inputs, self.input_keys)

    def freed_tokens(self, conversation: Conversation) -> float:
        """What the next request is shorter by, thinking apart."""
        freed = 0.0
        for call_id, line in self.lines.items():
            sent = conversation.calls[call_id].characters or 0
            freed += models.tokens_of_result(sent - len(line.head + line.text + line.tail))
        for call_id, short in self.inputs.items():
            freed += _input_tokens(conversation.inputs[call_id]) - _input_tokens(short)
        return freed

    def has_moved_every_image(self, images: dict[str, str]) -> bool:
        """Whether no image would go without a line."""
        return images.keys() <= self.lines.keys()

    def _texts_that_stay(self, conversation: Conversation) -> Iterator[str]:
        yield from conversation.said
        for call_id, text in conversation.texts.items():
            line = self.lines.get(call_id)
            yield f"{line.head}{line.text}{line.tail}" if line else text
        for call_id, arguments in conversation.inputs.items():
            yield cold.readable_input_text(self.inputs.get(call_id, arguments))

    def _store(self, data: bytes, call: Call) -> str | None:
        """The key of content that is in the store now; None where it could not be stored."""
        meta = {"tool": call.tool, "source": call.subject or None}
        try:
            # The session's file holds it too, so it need not be forced onto the disk.
            how: dict[str, Any] = {"is_last": False, "is_synced": False, "is_next": self.has_stored}
            key = put.put(self.home_dir, data, self.about | meta, **how, later=self.later)
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


def _bytes_of_base64(text: str) -> bytes:
    import binascii

    return binascii.a2b_base64(text)


def _input_tokens(value: Any) -> float:
    return models.tokens_of_text(_estimate_json_characters(value))


def _estimate_json_characters(value: Any) -> int:
    """The characters of a value as JSON writes it, about."""
    if isinstance(value, dict):
        return sum(len(name) + 6 + _estimate_json_characters(item) for name, item in value.items())
    if isinstance(value, list):
        return sum(_estimate_json_characters(item) + 2 for item in value)
    return len(value) if isinstance(value, str) else 4
