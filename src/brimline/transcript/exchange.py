"""What was said and done in a row: the user's words, the assistant's, tool calls and results.

Rows are foreign data: every function accepts any JSON value and answers "nothing" for what it does
not know.
"""

from __future__ import annotations

from brimline.transcript import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What the client, a hook or brimline itself writes where the user's words stand.
_NOT_THE_USERS = (
    *("<local-command-", "<bash-", "<task-notification>", "<ide_", "<teammate-message"),
    *("[Request interrupted", "Caveat: The messages below", "This session is being continued"),
    *("[brimline", "brimline:", "Stop hook feedback", "Base directory for this skill"),
)
# Commands of the client whose arguments say nothing about the work.
_CLIENT_COMMANDS = (
    "/add-dir /agents /clear /color /compact /config /context /copy /cost /doctor /effort /exit"
    " /export /fast /help /hooks /ide /init /keybindings /login /logout /mcp /memory /model"
    " /output-style /permissions /plugin /quit /release-notes /rename /resume /rewind /status"
    " /statusline /tasks /theme /usage /vim "
)
_REFUSED = "The user doesn't want to proceed with this tool use."
_REFUSED_BECAUSE = "the user said:\n"
_LONGEST_TEXT = 200_000


class Call:
    """A tool call of the assistant."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        self.id = call_id
        self.name = name
        self.arguments = arguments


class Result:
    """What a tool answered: the text that the model got, and the client's own copy."""

    __slots__ = ("call_id", "is_error", "text", "told")

    def __init__(self, call_id: str, text: str, *, is_error: bool, told: Any) -> None:
        self.call_id = call_id
        self.text = text
        self.is_error = is_error
        self.told = told if isinstance(told, dict) else {}

    @property
    def is_refused(self) -> bool:
        """Whether the user did not let the tool run."""
        return self.is_error and self.text.startswith(_REFUSED)


def typed(row: Any) -> str:
    """What the user wrote in a row of the main thread, without what others added; often empty."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return ""
    if row.get("type") == "attachment":
        return _queued(rows.attachment_of(row))
    if row.get("type") != "user" or rows.is_meta(row) or rows.is_summary(row):
        return ""
    texts = []
    for block in rows.content_blocks(row):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            texts.append(_own_words(text_of(block.get("text"))))
        elif kind == "tool_result":
            texts.append(_refusal(_joined(block.get("content"))))
    return "\n\n".join(text for text in texts if text)


def replied(row: Any) -> list[str]:
    """The assistant's texts in a row."""
    if not isinstance(row, dict) or row.get("type") != "assistant":
        return []
    blocks = [block for block in rows.content_blocks(row) if isinstance(block, dict)]
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    return [text for text in texts if text]


def calls(row: Any) -> Iterator[Call]:
    """The tool calls in a row."""
    if not isinstance(row, dict) or row.get("type") != "assistant":
        return
    for block in rows.content_blocks(row):
        if isinstance(block, dict) and block.get("type") == "tool_use":
            arguments = block.get("input")
            yield Call(
                text_of(block.get("id")),
                text_of(block.get("name")),
                arguments if isinstance(arguments, dict) else {},
            )


def results(row: Any) -> Iterator[Result]:
    """The tool results in a row."""
    if not isinstance(row, dict) or row.get("type") != "user":
        return
    for block in rows.content_blocks(row):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield Result(
                text_of(block.get("tool_use_id")),
                _joined(block.get("content")),
                is_error=block.get("is_error") is True,
                told=row.get("toolUseResult"),
            )


def notification(row: Any) -> dict[str, str]:
    """What the client reports about a task in the background; empty for other rows."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return {}
    if row.get("type") == "attachment":
        text = text_of(rows.attachment_of(row).get("prompt"))
    elif row.get("type") == "user":
        text = "\n".join(
            text_of(block.get("text")) for block in rows.content_blocks(row) if _is_text(block)
        )
    else:
        return {}
    if not text.lstrip().startswith("<task-notification>"):
        return {}
    names = ("task-id", "tool-use-id", "status", "summary", "result")
    return {name: tagged(text, name) for name in names}


def tagged(text: str, name: str) -> str:
    """What stands between `<name>` and `</name>`; empty where it does not occur."""
    _, opening, rest = text.partition(f"<{name}>")
    inner, closing, _ = rest.partition(f"</{name}>")
    return inner.strip() if opening and closing else ""


def text_of(value: Any) -> str:
    """A text; the empty one for every other value."""
    return value if isinstance(value, str) else ""


def _queued(attachment: dict[str, Any]) -> str:
    """What the user typed while the assistant was at work."""
    if attachment.get("type") != "queued_command" or attachment.get("isMeta") is True:
        return ""
    if attachment.get("commandMode", "prompt") != "prompt":
        return ""
    origin = attachment.get("origin")
    if isinstance(origin, dict) and origin.get("kind") in ("peer", "task-notification", "channel"):
        return ""
    return _own_words(_joined(attachment.get("prompt")))


def _own_words(text: str) -> str:
    text = _without_reminders(text[:_LONGEST_TEXT]).strip()
    if text.startswith("<command-"):
        return _command_arguments(text)
    return "" if text.startswith(_NOT_THE_USERS) else text


def _command_arguments(text: str) -> str:
    if f"{tagged(text, 'command-name')} " in _CLIENT_COMMANDS:
        return ""
    return tagged(text, "command-args")


def _without_reminders(text: str) -> str:
    while "<system-reminder>" in text:
        before, _, rest = text.partition("<system-reminder>")
        _, closing, after = rest.partition("</system-reminder>")
        text = before + after if closing else before
    return text


def _refusal(text: str) -> str:
    """The words with which the user turned a tool call down."""
    if not text.startswith(_REFUSED):
        return ""
    return text.partition(_REFUSED_BECAUSE)[2].strip()[:_LONGEST_TEXT]


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"


def _joined(content: Any) -> str:
    """The text of a result: a string, or blocks of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text_of(block.get("text")) for block in content if _is_text(block))
