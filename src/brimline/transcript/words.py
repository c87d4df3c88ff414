"""Which words of a conversation are the user's own.

The client, hooks and brimline itself write where the user's words stand, and any program can print
what the client prints. So a message is taken without what was put around it, and an answer or a
refusal is quoted only in the client's own shapes (`refusal_words`, `answer_words`). Who edits a
conversation errs on the other side (`calls.may_be_users_words`).
"""

from __future__ import annotations

import re

from brimline.transcript import row
from brimline.transcript.clienttools import CLARIFIES, REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the client, a hook or brimline itself writes where the user's words stand.
_NOT_THE_USERS = (
    *("<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification"),
    *("<agent-notification", "<artifact-room-event", "<repl-output", "<teammate-message"),
    *("<channel source=", "<cross-session-message", "<user-prompt-submit-hook"),
    *("<session-start-hook", "<background-task", "[Request interrupted by user]"),
    *("[Request interrupted by user for tool use]", "Stop hook feedback:\n", "[brimline "),
    "[brimline] The result of a call that is missing",  # put in by a repair
    *("Caveat: The messages below were generated", "Operation stopped by hook:"),
    *("This session is being continued from a previous", "Base directory for this skill: /"),
)
# What is put around or before the user's words, and goes.
_AROUND = re.compile(r"<(/?)(system-reminder|ide_\w+)>")
# The client's own commands and ours: what they are given says nothing about the work.
_CLIENT_COMMANDS = re.compile(
    "/(?:add-dir|agents|bug|clear|color|compact|config|context|copy|cost|doctor|effort|exit|export"
    "|fast|help|hooks|ide|init|keybindings|login|logout|mcp|memory|model|output-style|permissions"
    "|plugin|quit|release-notes|rename|resume|rewind|status|statusline|tasks|terminal-setup|theme"
    r"|todos|upgrade|usage|vim|(?:[\w-]+:)?brim:\w+)(?:\s|$)"
)
# The client's own two shapes of a refusal; any program can print the words.
_REFUSED_COPIES = ("Error: " + REFUSED, "User rejected tool use")
_REFUSED_BECAUSE = "the user said:\n"
# Clients differ in how they tell the model what was answered.
_ANSWERED = re.compile(
    r"(?:User has answered your questions|Your questions have been answered|The user (?:answered"
    r"|responded)): *(.*?)(?:\. (?:You can now continue|Read the answers).*)?",
    re.DOTALL,
)
# And they may add this to a refusal.
_ADDED = "\n\nNote: The user's next message"


def users_own_message(fields: dict[str, Any]) -> str:
    """Return what the user wrote in a row, in their own words; empty for other rows."""
    return users_part_of_prompt(row.text_sent_by_user(fields))


def users_part_of_prompt(text: str) -> str:
    """The user's own part of a prompt; a command of theirs with what it was given."""
    text = _without_tagged_parts(text).strip() if "<" in text else text.strip()
    if text.startswith("<command-"):
        parts = [row.text_in_tag(text, name) for name in ("command-name", "command-args")]
        text = " ".join(parts).strip()
    is_others = _CLIENT_COMMANDS.match(text) or text.startswith(_NOT_THE_USERS)
    return "" if is_others else text


def title_in_prompt(text: str) -> str:
    """Return what a prompt is about; a bare command says nothing about that."""
    own = users_part_of_prompt(text)
    return own if " " in own or not own.startswith("/") else ""


def _without_tagged_parts(text: str) -> str:
    """A text without what tags enclose, from the end on: many that nobody closes cost no more."""
    closed: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for tag in reversed(list(_AROUND.finditer(text))):
        if tag[1]:
            closed[tag[2]] = tag.end()
        elif tag[2] in closed:
            spans.append((tag.start(), closed[tag[2]]))
    kept, end = [], 0
    for start, after in reversed(spans):
        if start >= end:
            kept.append(text[end:start])
            end = after
    return "".join([*kept, text[end:]])


def refusal_words(tool: str, result: row.Result) -> str | None:
    """The words with which the user turned a call down, maybe none; None where nobody did.

    An MCP server writes its own errors, so it could forge them.
    """
    is_refusal = (
        result.is_error
        and result.text.startswith(REFUSED)
        and isinstance(result.copy, str)
        and result.copy.startswith(_REFUSED_COPIES)
        and not tool.startswith("mcp__")
        and "Mcp" not in tool
    )
    if not is_refusal:
        return None
    words = result.text.partition(_REFUSED_BECAUSE)[2].partition(_ADDED)[0].strip()
    return "" if words.startswith(CLARIFIES) else words


def answer_words(tool: str, result: row.Result) -> str:
    """Return what the user answered to a question of the assistant's; empty for other results."""
    if tool != "AskUserQuestion" or result.is_error:
        return ""
    match = _ANSWERED.fullmatch(result.text.strip())
    if match:
        return match.group(1).strip()
    answers = row.as_object(result.record.get("answers"))
    told = [f'"{question}"="{reply}"' for question, reply in answers.items()]
    told.append(row.as_text(result.record.get("response")))
    return ", ".join(filter(None, told))
