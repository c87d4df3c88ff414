"""What the rows of Claude Code's transcripts say. No other module names their keys.

Fast path: imports only `brimline.transcript.usage`, the part of it that every hook needs. Rows are
foreign data: every function accepts any JSON object, most of them any JSON value, and answers
"nothing" for what it does not know.
"""

# ruff: noqa: F405
from __future__ import annotations

from brimline.transcript.usage import *  # noqa: F403 - its names are names of this module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# The types of rows that can change what is sent, or tell of it; the model never sees any other.
TELLING = frozenset(("user", "assistant", "attachment", "system"))
# The type of rows that only tell how far a tool or a hook had come; the model never sees these.
PROGRESS = "progress"
COPY_FIELD = "toolUseResult"
PARENT_FIELD = "parentUuid"
# How a row begins on its line, and what one of a subagent has in it: most are not even parsed.
BEGINNING = rb'\{"(?:parentUuid|type)":'
SUBAGENT_MARK = b'"agentId"'
SIDECHAIN_MARK = b'"isSidechain":true'

_ENVELOPE = (
    *(PARENT_FIELD, "isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch"),
    "timestamp",
)
# Rows that name the session, and the field of each.
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
THINKING = ("thinking", "redacted_thinking")
_SPENT_FIELDS = (*PROMPT_FIELDS, "output_tokens")
# What the client says once it has compacted a session that nobody used.
_IDLE_NOTICES = ("Compacted while idle", "Compacted using a summary written while you were away")


class Call:
    """A tool call of the assistant."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, block: dict[str, Any]) -> None:
        self.id = as_text(block.get("id"))
        self.name = as_text(block.get("name"))
        self.arguments = as_object(block.get("input"))


class Spent:
    """What one request cost, by how each part of it was billed."""

    __slots__ = (
        *("input_tokens", "cache_read_tokens", "cache_written_tokens", "output_tokens"),
        "written_for_an_hour_tokens",
    )

    def __init__(self, fresh: int, read: int, written: int, output: int, an_hour: int) -> None:
        self.input_tokens, self.output_tokens = fresh, output
        self.cache_read_tokens, self.cache_written_tokens = read, written
        self.written_for_an_hour_tokens = an_hour

    @property
    def cache_lifetime_s(self) -> int:
        """How long the cache keeps what it wrote."""
        return 3_600 if self.written_for_an_hour_tokens else 300


class Result:
    """What a tool answered: the text that the model got, and the client's own copy."""

    __slots__ = ("call_id", "copy", "is_error", "is_marked", "record", "text", "texts")

    def __init__(self, row: dict[str, Any], block: dict[str, Any]) -> None:
        self.call_id = as_text(block.get("tool_use_id"))
        self.texts = content_texts(block.get("content"))
        self.text = "\n".join(self.texts)
        self.is_error = block.get("is_error") is True
        # Whether the client itself says that words of a person are in it.
        self.is_marked = is_marked_as_holding_persons_words(row)
        self.copy = row.get(COPY_FIELD)
        self.record = as_object(self.copy)


def spent_of(row: Any) -> Spent:
    """What the request cost that a reply of any thread answers; nothing for other rows."""
    usage = as_object(message_of(row).get("usage"))
    fresh, read, written, output = [count_or_none(usage.get(name)) or 0 for name in _SPENT_FIELDS]
    lifetimes = usage.get("cache_creation")
    an_hour = lifetimes.get("ephemeral_1h_input_tokens") if isinstance(lifetimes, dict) else 0
    return Spent(fresh, read, written, output, min(written, count_or_none(an_hour) or 0))


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object; the empty one for every other value."""
    return value if isinstance(value, dict) else {}


def has_final_usage(row: Any) -> bool:
    """Whether the reply's `output_tokens` is its real count; old clients keep a placeholder."""
    return isinstance(message_of(row).get("stop_reason"), str)


def is_sidechain(row: dict[str, Any]) -> bool:
    """Tell whether it belongs to a subagent."""
    return row.get("isSidechain") is True


def is_meta(row: dict[str, Any]) -> bool:
    """Tell whether the client, not the user, wrote this user message."""
    return row.get("isMeta") is True


def is_synthetic(row: Any) -> bool:
    """Tell whether the client wrote a reply by itself, without a request."""
    return bool(message_of(row).get("model") == SYNTHETIC_MODEL)


def model_of(row: Any) -> str:
    """The model that a reply is from; empty for other rows."""
    return as_text(message_of(row).get("model"))


def row_without_synthetic_model(row: dict[str, Any]) -> dict[str, Any]:
    """A row that a compaction wrote again, as it was: a reply that a mod rebuilt has no model."""
    if not is_synthetic(row):
        return row
    message = {name: value for name, value in message_of(row).items() if name != "model"}
    return row | {"message": message}


def is_rebuilt_by_mod(row: Any) -> bool:
    """Tell whether the client says that a mod made this reply, in a compaction."""
    return row.get("madeBy") == "other" and is_synthetic(row)


def type_of(row: dict[str, Any]) -> str:
    """The row's type, as the client names it."""
    return as_text(row.get("type"))


def uuid_of(row: dict[str, Any]) -> str | None:
    """The row's own name; a fork's copy of a row keeps it."""
    return as_text(row.get("uuid")) or None


def parent_of(row: dict[str, Any]) -> str | None:
    """The name of the row that it follows."""
    return as_text(row.get(PARENT_FIELD)) or None


def session_id_in(row: dict[str, Any]) -> str | None:
    """The id of the session that it was written in."""
    return as_text(row.get("sessionId")) or None


def clients_first_session_id(row: Any) -> str | None:
    """The id of the session with which the running client began; only some rows tell."""
    return as_text(as_object(row).get("session_id")) or None


def clients_first_session_mark(session_id: str) -> bytes:
    """Return what a line of a row with that session holds."""
    return f'"session_id":"{session_id}"'.encode("utf-8", "replace")


def cwd_of(row: dict[str, Any]) -> str | None:
    """The folder in which the client was."""
    return as_text(row.get("cwd")) or None


def branch_of(row: dict[str, Any]) -> str | None:
    """The branch that was checked out."""
    return as_text(row.get("gitBranch")) or None


def message_id(row: dict[str, Any]) -> str | None:
    """The id of the request that a reply answers; the rows of one reply share it."""
    message = message_of(row) if row.get("type") == "assistant" else {}
    return as_text(message.get("id")) or None


def timestamp_mark_of_row(row: dict[str, Any]) -> bytes:
    """Return what every line has in it on which a row was written again."""
    return f'"timestamp":"{timestamp_text_of(row)}"'.encode()


def envelope_fields_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the client writes around every message."""
    return {name: row[name] for name in _ENVELOPE if name in row}


def subagent_id_of(row: dict[str, Any]) -> str:
    """The subagent that a row belongs to; empty for the main thread."""
    if not row.get("isSidechain"):
        return ""
    return as_text(row.get("agentId")) or "sidechain"


def subagent_told_of(row: dict[str, Any]) -> str:
    """The subagent that a row of progress has a reply of, or whose report a result is."""
    data, copy = as_object(row.get("data")), as_object(row.get(COPY_FIELD))
    return as_text(data.get("agentId")) or as_text(copy.get("agentId"))


def type_with_subtype(row: dict[str, Any]) -> str:
    """The row's type with what the client adds to it, for a person."""
    name, subtype = (as_text(row.get("type")) or "without a type", as_text(row.get("subtype")))
    return f"{name}/{subtype}" if subtype else name


def prompt_of_schedule(row: dict[str, Any]) -> str | None:
    """Return what a schedule sends as a prompt, in the row that says that it does now."""
    return as_text(row.get("prompt")) if row.get("subtype") == "scheduled_task_fire" else None


def with_message_content(row: dict[str, Any], content: list[Any]) -> dict[str, Any]:
    """The same row with other blocks in its message."""
    return {**row, "message": {**message_of(row), "content": content}}


def make_failed_tool_results_row(
    row: dict[str, Any], calls: Sequence[str], text: str, uuid: str
) -> dict[str, Any]:
    """A row that answers calls of a reply as failed, as the client would write it.

    Args:
        row: the reply.
        calls: the ids of the calls.
        text: what each of them is answered with.
        uuid: the new row's own name.
    """
    blocks = [
        {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": True}
        for call in calls
    ]
    agent = {"agentId": row["agentId"]} if "agentId" in row else {}
    return {
        **envelope_fields_of(row),
        **agent,
        PARENT_FIELD: row["uuid"],
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "uuid": uuid,
        COPY_FIELD: f"Error: {text}",
        "sourceToolAssistantUUID": row["uuid"],
    }


def blocks_sent_to_model(row: Any) -> list[Any]:
    """The content of a main-thread message that the model is sent, a plain text as one block."""
    if not isinstance(row, dict) or row.get("isSidechain") or row.get("isApiErrorMessage"):
        return []
    hidden = row.get("isVisibleInTranscriptOnly") and not is_summary(row)
    message = message_of(row)
    if hidden or message.get("model") == SYNTHETIC_MODEL or not is_message(row):
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def numbered_blocks(row: dict[str, Any], kind: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """The blocks of a message of any thread with their places, all or those of one type."""
    content = message_of(row).get("content")
    for index, block in enumerate(content) if isinstance(content, list) else ():
        if isinstance(block, dict) and (not kind or block.get("type") == kind):
            yield index, block


def attachment_of(row: Any) -> dict[str, Any]:
    """What the client attached to the main thread of its own accord; empty for other rows."""
    if not isinstance(row, dict) or row.get("isSidechain") or row.get("type") != "attachment":
        return {}
    return as_object(row.get("attachment"))


def reminded_tasks(row: Any) -> Any:
    """The tasks of which the client reminds the model; None for other rows."""
    attachment = attachment_of(row)
    return attachment.get("content") if attachment.get("type") == "task_reminder" else None


def plan_file_of(row: Any) -> str:
    """The file of the plan that a row is about; empty for other rows."""
    attachment = attachment_of(row)
    is_plan = as_text(attachment.get("type")).startswith("plan_")
    exists = is_plan and attachment.get("planExists", True)
    return as_text(attachment.get("planFilePath")) if exists else ""


def text_sent_by_user(row: Any) -> str:
    """All text of a message that the user sent, queued ones too; empty for other rows.

    What the client or a hook put into it is still there.
    """
    if not isinstance(row, dict) or row.get("isSidechain"):
        return ""
    attachment = attachment_of(row)
    sent = attachment or row
    if is_meta(sent) or not _is_origin_the_user(sent.get("origin")):
        return ""
    if attachment:
        is_prompt = attachment.get("commandMode", "prompt") == "prompt"
        is_queued = attachment.get("type") == "queued_command"
        return content_text(attachment.get("prompt")) if is_queued and is_prompt else ""
    return _text_of_user_row(row)


def _text_of_user_row(row: dict[str, Any]) -> str:
    if row.get("type") != "user" or is_summary(row) or row.get("isVisibleInTranscriptOnly"):
        return ""
    blocks = blocks_sent_to_model(row)
    answers = any(is_block(block, "tool_result") for block in blocks)
    # Words with which the user agreed to a call stand beside its result.
    return "" if answers and not is_marked_as_holding_persons_words(row) else content_text(blocks)


def _is_origin_the_user(origin: Any) -> bool:
    """Whether a message has no other sender: agents, channels and the client itself send too."""
    if not isinstance(origin, dict):
        return True
    return origin.get("kind") == "human" or bool(origin.get("asUser"))


def costs_of(
    row: dict[str, Any], spent: Spent | None = None
) -> tuple[str, int, int, int, int, int, int] | None:
    """What a reply of any thread was billed for; None for rows that the service did not answer.

    What makes it dearer, web searches; tokens of input, cache writes (5 min, 1 h), reads, output.
    `spent` has the tokens where they are known already.
    """
    if row.get("type") != "assistant" or row.get("isApiErrorMessage"):
        return None
    message = message_of(row)
    if message.get("model") == SYNTHETIC_MODEL:
        return None
    spent, usage = spent or spent_of(row), as_object(message.get("usage"))
    an_hour = spent.written_for_an_hour_tokens
    written = (spent.cache_written_tokens - an_hour, an_hour)
    tokens = (spent.input_tokens, *written, spent.cache_read_tokens, spent.output_tokens)
    if not any(tokens):
        return None  # a reply that a compaction wrote again was not paid for again
    dearer = ["fast"] if usage.get("speed") == "fast" else []
    dearer += ["us"] if usage.get("inference_geo") == "us" else []
    searches = as_object(usage.get("server_tool_use")).get("web_search_requests")
    return " ".join(dearer), count_or_none(searches) or 0, *tokens


def reply_in_progress(row: dict[str, Any]) -> dict[str, Any]:
    """A subagent's reply as some clients keep it, in a row on how far a tool has come."""
    if row.get("type") != PROGRESS:
        return {}
    return as_object(as_object(row.get("data")).get("message"))


def forked_from_session(row: Any) -> str | None:
    """The session that a row was copied from, where it is a fork's."""
    origin = row.get("forkedFrom") if isinstance(row, dict) else None
    return as_text(origin.get("sessionId")) or None if isinstance(origin, dict) else None


def row_in_copy(row: dict[str, Any], session: str, original: str) -> dict[str, Any] | None:
    """A row as the client writes it in a branch of a session; None for one that it leaves out.

    Args:
        row: as it is in the original.
        session: the id of the copy.
        original: the id of the session that was copied.
    """
    if type_of(row) == "cost-state":
        return None  # the client adds it to what the copy costs
    named = row | {"sessionId": session} if "sessionId" in row else row
    name = uuid_of(row)
    if name is None:
        return named
    return named | {"forkedFrom": {"sessionId": original, "messageUuid": name}}


def make_title_row(title: str, session: str) -> dict[str, Any]:
    """The name that a session has in the client's list."""
    return {"type": "custom-title", _TITLES["custom-title"]: title, "sessionId": session}


def queue_operation_and_text(row: Any) -> tuple[str, str]:
    """What happened to the client's queue of messages (enqueue, remove, popAll), and its text."""
    if not isinstance(row, dict) or row.get("type") != "queue-operation":
        return "", ""
    return as_text(row.get("operation")), content_text(row.get("content"))


def title_of(row: dict[str, Any]) -> str:
    """Return what the session is called, where a row says so: by the client or the user."""
    field = _TITLES.get(type_of(row))
    return as_text(row.get(field)) if field else ""


def main_thread_calls(row: Any) -> Iterator[Call]:
    """The tool calls in a row of the main thread."""
    if isinstance(row, dict) and blocks_sent_to_model(row):
        yield from any_thread_calls(row)


def any_thread_calls(row: dict[str, Any]) -> Iterator[Call]:
    """The tool calls in a reply of any thread."""
    if row.get("type") == "assistant":
        for _, block in numbered_blocks(row, "tool_use"):
            yield Call(block)


def main_thread_results(row: Any) -> Iterator[Result]:
    """The tool results in a row of the main thread."""
    if not isinstance(row, dict) or row.get("type") != "user":
        return
    for block in blocks_sent_to_model(row):
        if is_block(block, "tool_result"):
            yield Result(row, block)


def is_marked_as_holding_persons_words(row: dict[str, Any]) -> bool:
    """Tell whether the client marked a result as one in which a person said something."""
    return row.get("holdsPersonsWords") is True or bool(row.get("userFeedback"))


def thinking_blocks(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The thinking in a reply."""
    return [block for _, block in numbered_blocks(row) if block.get("type") in THINKING]


def make_strip_thinking_notice(
    beside: dict[str, Any], name: str, parent: str | None, message_id: str
) -> dict[str, Any]:
    """The client's own row for thinking that is not sent again, from a message on.

    Args:
        beside: the row that it stands beside.
        name: its own.
        parent: the name of the row that it follows.
        message_id: of the first message whose thinking goes.
    """
    start = {"messageId": message_id, "thinkingIndex": 0}
    attachment = {"type": "thinking_stripped", "scope": "partial", "from": start}
    own = {"type": "attachment", "uuid": name, PARENT_FIELD: parent}
    return envelope_fields_of(beside) | own | {"attachment": attachment}


def thinking_stripped_from_id(row: dict[str, Any]) -> str | None:
    """The message from which on thinking before this row is not sent again; empty for all.

    None where the row says nothing of it.
    """
    attachment = attachment_of(row)
    if attachment.get("type") != "thinking_stripped":
        return None
    return as_text(as_object(attachment.get("from")).get("messageId"))


def answered_call_ids(row: dict[str, Any]) -> list[str]:
    """The ids of the calls that a row of any thread answers."""
    if row.get("type") != "user":
        return []
    return [as_text(b.get("tool_use_id")) for _, b in numbered_blocks(row, "tool_result")]


def result_block_texts_at_paths(
    row: dict[str, Any],
) -> Iterator[tuple[str, tuple[str | int, ...], str]]:
    """Every text in the results of a row: call, how to get to it in the row, text.

    Images and references are not among them.
    """
    if row.get("type") != "user":
        return
    for index, block in numbered_blocks(row, "tool_result"):
        call_id = as_text(block.get("tool_use_id"))
        content, path = block.get("content"), ("message", "content", index, "content")
        if isinstance(content, str):
            yield call_id, path, content
        for inner, part in enumerate(content) if isinstance(content, list) else ():
            if is_block(part, "text") and isinstance(part.get("text"), str):
                yield call_id, (*path, inner, "text"), part["text"]


def compaction_figures(row: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """Who asked for a compaction, the tokens before it, and those that were expected after it."""
    figures = as_object(row.get("compactMetadata"))
    trigger = as_text(figures.get("trigger")) or None
    return (
        trigger if trigger and trigger.isprintable() else None,
        count_or_none(figures.get("preTokens")) or None,
        count_or_none(figures.get("postTokens")) or None,
    )


def preserved_ids_and_ends(row: dict[str, Any]) -> tuple[frozenset[str], str | None, str | None]:
    """What a compaction kept from before it: rows by name, and the first and last of a stretch."""
    kept = as_object(row.get("compactMetadata"))
    segment = as_object(kept.get("preservedSegment"))
    named = frozenset([*all_texts_in(kept.get("preservedMessages")), *all_texts_in(segment)])
    head, tail = (as_text(segment.get(name)) or None for name in ("headUuid", "tailUuid"))
    return named, head, tail


def with_preserved_rows(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A compaction that names the rows behind it as all that stays."""
    kept = {"anchorUuid": uuid_of(row), "uuids": list(names), "allUuids": list(names)}
    figures = as_object(row.get("compactMetadata"))
    return row | {"compactMetadata": figures | {"preservedMessages": kept}}


def cut_results(row: dict[str, Any]) -> tuple[list[str], str, int]:
    """The calls whose results the client itself leaves out of its requests from here on.

    With what it sends in their place, and the tokens as it estimates them.
    """
    cut = attachment_of(row)
    if cut.get("type") == "tool_results_cut":
        tokens = count_or_none(cut.get("roughTokens")) or 0
        return all_texts_in(cut.get("callIds")), as_text(cut.get("standIn")), tokens
    older = row.get("microcompactMetadata")
    return all_texts_in(as_object(older).get("compactedToolIds")) if older else [], "", 0


def is_idle_compaction_notice(row: dict[str, Any]) -> bool:
    """Tell whether the compaction before this row was made while nobody used the session."""
    return row.get("type") == "system" and as_text(row.get("content")).startswith(_IDLE_NOTICES)


def describe_dropped_thinking(row: Any) -> str:
    """Say which thoughts are not sent any more from a row on, and who left them out; maybe none."""
    attachment = attachment_of(row)
    kind = attachment.get("type")
    if kind == "thinking_stripped":
        if attachment.get("scope") == "all":
            return "all, by the client after a refusal"
        return "those from one reply on, by the client after a refusal, or by a purge"
    if kind != "thinking_drop":
        return ""
    dropped = as_object(attachment.get("newlyDropped"))
    count, why = count_or_none(dropped.get("blockCount")), as_text(dropped.get("reason"))
    kinds = all_texts_in(as_object(attachment.get("clientChange")).get("kinds"))
    what = ", ".join(kinds) or "unknown"
    return f"{count or 'some'}, by the service ({why}; changed: {what})"


def text_in_tag(text: str, name: str) -> str:
    """Return what stands between `<name>` and `</name>`; empty where it does not occur."""
    _, opening, rest = text.partition(f"<{name}>")
    inner, closing, _ = rest.partition(f"</{name}>")
    return inner.strip() if opening and closing else ""


def thinking_texts(row: dict[str, Any]) -> list[str]:
    """Return what the model thought, so far as the client keeps it."""
    return [as_text(block.get("thinking")) for _, block in numbered_blocks(row, "thinking")]


def text_of_message(row: dict[str, Any]) -> str:
    """The texts of a message, without results, inputs and thinking."""
    return content_text(message_of(row).get("content"))


def content_text(content: Any) -> str:
    """The text of content: a string, or blocks of which some are text."""
    return "\n".join(content_texts(content))


def content_texts(content: Any) -> list[str]:
    """The same, each text for itself."""
    if isinstance(content, list):
        return [as_text(block.get("text")) for block in content if is_block(block, "text")]
    return [content] if isinstance(content, str) else []


def rendered_attachment(row: Any) -> Any:
    """The text of an attachment as the model got it, where the client keeps that; else None."""
    return row.get("rendered") if attachment_of(row) else None
