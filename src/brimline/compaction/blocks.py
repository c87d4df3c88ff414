"""A Messages-API request as a row of blocks: read, recognised, and put together again. Pure.

The only module that knows the request's shape. Nothing is ever added or moved, and nothing but
thinking left out: a stand-in takes the place of a block's content, so that pairs, roles and order
are those of the original.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.transcript.calls import may_be_users_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Calls = dict[str, tuple[str, Mapping[str, Any]]]

# What a block is to us. All others are left alone: the user's words, thinking, what the client
# attaches, images, the unknown.
RESULT, CALL, PROSE, OTHER = "result", "call", "prose", "other"
# Characters of a signature that a token stands for.
_SIGNATURE_RATIO = 8
_IMAGE_TOKENS = 1_500
_THINKING = ("thinking", "redacted_thinking")
# A message cannot be empty.
_NOTHING_LEFT = {"type": "text", "text": "(thinking)"}
MOST_MARKERS = 4
_MARKER = "cache_control"
# How the client asks for a summary of the conversation; it has no other mark.
_BOUNDARY = "[conversation boundary: what came before is summed up here, and gone]"
_SUMMARY_WANTED = "Your task is to create a detailed summary of the conversation so far"


class Block(NamedTuple):
    """One block of content, where it stands and what it says."""

    message: int
    place: int
    role: str
    kind: str
    id: str
    """Stands for this block wherever it occurs: a hash of all that it says, and of the call that
    it belongs to, or else of all before it: the same words elsewhere are another block."""
    text: str
    tokens: float
    """Estimated."""
    step: int
    """How many replies of the model came before it."""
    call: str = ""
    """Of a call and its result: what pairs them."""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    is_thinking: bool = False
    is_error: bool = False


def read_blocks(body: Any) -> list[Block] | None:
    """The blocks of a request; None where any of it is not understood."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or len(_cache_markers_with_places(body)) > MOST_MARKERS:
        return None
    found: list[Block] = []
    calls: _Calls = {}
    step, history = 0, ""
    for number, message in enumerate(messages):
        parts = _content_parts_of_message(message)
        if parts is None:
            return None
        role = message["role"]
        for place, part in enumerate(parts):
            block = _read_block(number, place, role, part, step, calls)
            name = _hash_parts(history, block.id)
            if not block.is_thinking:  # which a client may take away by itself
                history = name
            found.append(block if block.call else block._replace(id=name))
        step += role == "assistant"
    return found


def _content_parts_of_message(message: Any) -> list[dict[str, Any]] | None:
    """Return what a message consists of; None where that is not understood."""
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
        return None
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content, "whole": True}]
    is_known = isinstance(content, list) and all(isinstance(part, dict) for part in content)
    return content if is_known else None


def body_with_replaced_fields(
    body: Mapping[str, Any], standing: Mapping[tuple[int, int], Any]
) -> dict[str, Any]:
    """The request with other fields in some blocks, by message and place; the rest is shared."""
    messages = list(body["messages"])
    for (number, place), fields in standing.items():
        content = list(messages[number]["content"])
        content[place] = {**content[place], **fields}
        messages[number] = {**messages[number], "content": content}
    return {**body, "messages": messages}


def body_without_given_thoughts(body: Mapping[str, Any], thoughts: list[Block]) -> dict[str, Any]:
    """The request without some of its thinking."""
    gone = {(block.message, block.place) for block in thoughts}
    messages = list(body["messages"])
    for number in {block.message for block in thoughts}:
        content = messages[number]["content"]
        kept = [part for place, part in enumerate(content) if (number, place) not in gone]
        messages[number] = {**messages[number], "content": kept or [_NOTHING_LEFT]}
    return {**body, "messages": messages}


def body_with_cache_until(body: dict[str, Any], blocks: list[Block], until: int) -> dict[str, Any]:
    """Let the cache be looked up right before the first changed block, where a marker is left.

    The service looks some twenty blocks back from a marker; without one near the change it would
    find nothing of the conversation and write all of it again.
    """
    markers = _cache_markers_with_places(body)
    if not 0 < len(markers) < MOST_MARKERS:
        return body
    for block in reversed(blocks[:until]):
        content = body["messages"][block.message]["content"]
        if block.is_thinking or not isinstance(content, list):
            continue
        known = content[block.place]
        if _MARKER in known or (known.get("type") == "text" and not known.get("text")):
            return body
        # A longer lifetime may not come behind a shorter one: ours is as the next marker.
        place = block.message, block.place
        behind = [marker for where, marker in markers if where > place]
        return body_with_replaced_fields(
            body, {place: {_MARKER: behind[0] if behind else markers[-1][1]}}
        )
    return body


def summarise_all_but_last_round(body: Any, summarise: Callable[[list[Any]], str]) -> Any:
    """Put a summary in the place of all but the last round; without one the request stays.

    Args:
        body: a request; it is not changed.
        summarise: the caller's model: is handed messages, and gives a summary of them.
    """
    cut = index_of_last_call_or_prompt_message(body) if read_blocks(body) else 0
    summary = summarise(body["messages"][:cut]).strip() if cut else ""
    return body_with_beginning_replaced(body, cut, f"{_BOUNDARY}\n{summary}") if summary else body


def index_of_last_call_or_prompt_message(body: Mapping[str, Any]) -> int:
    """Return where the last round begins, which stays whole: a call, or the user's words."""
    messages = body["messages"]
    for at in range(len(messages) - 1, 0, -1):
        said = [block.get("type") for block in _as_list(messages[at].get("content"))]
        is_users = messages[at]["role"] == "user"
        if ("tool_result" not in said) if is_users else ("tool_use" in said):
            return at
    return 0


def body_with_beginning_replaced(body: Mapping[str, Any], cut: int, text: str) -> dict[str, Any]:
    """The request with a text of the user's side in the place of its first messages."""
    first, rest = {"type": "text", "text": text}, list(body["messages"][cut:])
    if rest[0]["role"] != "user":
        return {**body, "messages": [{"role": "user", "content": [first]}, *rest]}
    content = rest[0]["content"]
    own = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return {**body, "messages": [{"role": "user", "content": [first, *own]}, *rest[1:]]}


def session_id_or_hash(body: Mapping[str, Any]) -> str:
    """The session that a request says it belongs to; without one, what its beginning says."""
    try:
        named = json.loads(body["metadata"]["user_id"])["session_id"]
    except (KeyError, TypeError, ValueError):
        named = None
    if isinstance(named, str) and named:
        return named
    first = _as_list(body.get("messages"))[:1]
    return _hash_parts(_compact_json(body.get("system")), _compact_json(first))


def is_request_outside_conversation(body: Mapping[str, Any]) -> bool:
    """Tell whether a request is none of the conversation: a title, a page to sum up, a search."""
    tools, choice = body.get("tools"), body.get("tool_choice")
    if not isinstance(tools, list) or not tools:
        return True
    return isinstance(choice, dict) and choice.get("type") == "tool"


def asks_for_summary(blocks: list[Block]) -> bool:
    """Tell whether the client asks for a summary of the conversation: its compaction."""
    for block in reversed(blocks):
        if block.role == "assistant":
            return False
        if block.kind == OTHER and _SUMMARY_WANTED in block.text:
            return True
    return False


def position_behind_last_thinking(blocks: list[Block]) -> int:
    """The first position behind all thinking."""
    return next((at for at in range(len(blocks), 0, -1) if blocks[at - 1].is_thinking), 0)


def estimate_tokens_of_replacement_fields(block: Block, fields: Mapping[str, Any]) -> float:
    """Tokens of a block with other fields."""
    if block.kind == CALL:
        return models.tokens_of_text(len(_compact_json(fields["input"]))) + models.CALL_TOKENS
    if block.kind == RESULT:
        return models.tokens_of_result(len(fields["content"])) + models.RESULT_TOKENS
    return models.tokens_of_text(len(fields["text"])) + models.TEXT_TOKENS


def prompt_tokens_of_usage(usage: Mapping[str, Any]) -> int:
    """Return what a request took of the window, by its usage; 0 where that says nothing."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [usage.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int))


class _Said(NamedTuple):
    """What a block says, whoever says it where."""

    text: str
    tokens: float
    kind: str = OTHER
    call: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}


def _read_block(
    number: int, place: int, role: str, block: dict[str, Any], step: int, calls: _Calls
) -> Block:
    what = block.get("type")
    said = _READERS.get(str(what), _read_other)(role, block, calls) or _read_other(role, block)
    text, tokens, kind, call, tool, arguments = said
    name = _hash_parts(role, what, call, tool if kind == CALL else str(block.get("is_error")), text)
    is_thinking, is_error = what in _THINKING, block.get("is_error") is True
    place_of = number, place, role, kind, name
    return Block(*place_of, text, tokens, step, call, tool, arguments, is_thinking, is_error)


def _read_text(role: str, block: dict[str, Any], _calls: _Calls) -> _Said | None:
    text = block.get("text")
    if not isinstance(text, str):
        return None
    tokens = models.tokens_of_text(len(text)) + models.TEXT_TOKENS
    if block.get("whole"):
        return _Said(text, tokens)
    return _Said(text, tokens, PROSE if role == "assistant" else OTHER)


def _read_call(role: str, block: dict[str, Any], calls: _Calls) -> _Said | None:
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        return None
    call, tool, text = str(block.get("id")), str(block.get("name")), _compact_json(arguments)
    calls[call] = tool, arguments
    kind = CALL if role == "assistant" else OTHER
    return _Said(
        text, models.tokens_of_text(len(text)) + models.CALL_TOKENS, kind, call, tool, arguments
    )


def _read_result(role: str, block: dict[str, Any], calls: _Calls) -> _Said:
    call = str(block.get("tool_use_id"))
    tool, arguments = calls.get(call, ("", {}))
    text = _result_text_or_none(block.get("content"))
    if text is None:
        shown = _compact_json(block.get("content"))
        return _Said(shown, _IMAGE_TOKENS, OTHER, call, tool, arguments)
    is_users = may_be_users_words(tool or None, text, is_error=block.get("is_error") is True)
    kind = RESULT if tool and role == "user" and not is_users else OTHER
    return _Said(
        text, models.tokens_of_result(len(text)) + models.RESULT_TOKENS, kind, call, tool, arguments
    )


def _read_thinking(_role: str, block: dict[str, Any], _calls: _Calls) -> _Said:
    text, signature = str(block.get("thinking")), str(block.get("signature") or "")
    return _Said(
        text + signature, models.tokens_of_text(len(text)) + len(signature) / _SIGNATURE_RATIO
    )


def _read_other(_role: str, block: dict[str, Any], _calls: object = None) -> _Said:
    text = _compact_json({name: value for name, value in block.items() if name != _MARKER})
    is_picture = block.get("type") in ("image", "document")
    return _Said(text, _IMAGE_TOKENS if is_picture else models.tokens_of_text(len(text)))


_READERS: dict[str, Callable[[str, dict[str, Any], _Calls], _Said | None]] = {
    "text": _read_text,
    "tool_use": _read_call,
    "tool_result": _read_result,
    "thinking": _read_thinking,
}


def _result_text_or_none(content: Any) -> str | None:
    """Return what a result says; None where it says it in more than text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(map(_is_text_part, content)):
        return None
    return "\n".join(part["text"] for part in content)


def _is_text_part(part: Any) -> bool:
    return (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def _hash_parts(*parts: object) -> str:
    told = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        told.update(len(raw).to_bytes(8, "big"))
        told.update(raw)
    return told.hexdigest()


def _compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cache_markers_with_places(body: Mapping[str, Any]) -> list[tuple[tuple[int, ...], Any]]:
    """Every marker of the cache, in the order in which the service reads them, and where it is."""
    found: list[tuple[tuple[int, ...], Any]] = []

    def collect_markers(parts: Any, *where: int) -> None:
        for place, part in enumerate(_as_list(parts)):
            if isinstance(part, dict):
                collect_markers(part.get("content"), *where, place)
                if _MARKER in part:
                    found.append(((*where, place), part[_MARKER]))

    collect_markers(body.get("tools"), -2)
    collect_markers(body.get("system"), -1)
    for number, message in enumerate(_as_list(body.get("messages"))):
        collect_markers(message.get("content") if isinstance(message, dict) else None, number)
    if body.get(_MARKER):
        found.append(((), body[_MARKER]))
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
