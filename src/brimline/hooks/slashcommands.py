"""The one list of slash commands, and the Markdown file that each becomes. Pure.

The client calls no hook for a command that has no file. Its text is what the model gets where the
hook is silent: switched off, or gone.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "brim"
# The client puts the session's id in its place before it checks and runs the line.
_SESSION = "${CLAUDE_SESSION_ID}"


class SlashCommand(NamedTuple):
    """One command, and the words of `brimline` that do the same in a shell."""

    name: str
    description: str
    # None: there is no such command for a shell.
    words: tuple[str, ...] = ()
    # What the client shows after the name while it is typed.
    hint: str = ""
    # Whether `--session` and the session's id go behind the words.
    about_session: bool = False

    def shell_line(self) -> str:
        """Return what to type in a shell instead."""
        about = f" --session {_SESSION}" if self.about_session else ""
        return f"brimline {' '.join(self.words)}{about}"


CARD = SlashCommand(
    "card", "Bring back what was recorded before a compaction or /clear", ("carry", "card")
)
# Where the client has a place for it, which it has with the mod alone.
PANE = SlashCommand("pane", "How this session's window filled, drawn again with each request")
ANSWERED = (
    SlashCommand(
        "status",
        "How full this session's context window is",
        ("status",),
        about_session=True,
    ),
    SlashCommand(
        "history", "What brimline saw in earlier sessions", ("history",), "[--compactions]"
    ),
    SlashCommand(
        "pin",
        "Keep a large tool result in brimline's store, whatever its age",
        ("store", "pin", "KEY"),
        "[last] [soft|hard] [reason]",
    ),
    SlashCommand(
        "unpin",
        "Let a kept result go again, the last large one or that of a key",
        ("store", "unpin", "KEY"),
        "[last|KEY]",
    ),
    SlashCommand(
        "recall",
        "Search what was said in earlier sessions and stored outputs, or show one by its key",
        ("memory", "search", "TEXT"),
        "KEY|TEXT",
    ),
    SlashCommand(
        "checkpoint",
        "Write this session's checkpoint now",
        ("carry", "checkpoint"),
        about_session=True,
    ),
    SlashCommand(
        "purge",
        "What a purge of this session would save, and how to do it after leaving",
        ("session", "purge", "--dry-run"),
        about_session=True,
    ),
    SlashCommand("off", "Silence brimline in this session"),
    SlashCommand("on", "Let brimline speak in this session again"),
)
COMMANDS = (*ANSWERED, CARD)
# The plugin offers these in place of a command for a shell.
STATUSLINE = SlashCommand(
    "statusline", "Show the window in the status line, with your own", hint="on|off"
)
FORGET = SlashCommand(
    "forget", "Delete what brimline keeps of sessions", hint="session|project|everything"
)
IN_PLUGIN = (
    *[command for command in ANSWERED if command.name != "purge"],
    *(STATUSLINE, FORGET),
)
NAMES = tuple(f"{command.name}.md" for command in COMMANDS)
_UNANSWERED = "brimline did not answer this command."
_SIGNATURE = re.compile(rb"^brimline: ([0-9a-f]{16})\n", re.MULTILINE)
_CARD_TEXT = (
    "If something is recorded above, it is so word for word: take it as the state of the work and "
    "go on from there. If nothing is, or nothing is open, ask what is next. Do not run anything."
)


def markdown_files(line: Callable[..., str | None], *, has_mod: bool = False) -> dict[str, bytes]:
    """The Markdown files by name.

    Args:
        line: makes the command line of `brimline` with these words; None where the client could
            not check it before it runs. The card is left out then.
        has_mod: whether the mod answers all but the card, by names of its own.
    """
    found = {} if has_mod else {each.name: _answered_markdown(each) for each in ANSWERED}
    run = line(*CARD.words)
    if run:
        head = f"{_front_matter(CARD)}allowed-tools: {_yaml_quoted(f'Bash({run})')}\n"
        found[CARD.name] = _join_as_markdown(head, f"!`{run}`\n\n{_CARD_TEXT}")
    return {f"{name}.md": _with_digest_in_head(text.encode()) for name, text in found.items()}


def is_unchanged_file_of_ours(raw: bytes) -> bool:
    """Tell whether a file is one that we wrote and nobody changed."""
    found = _SIGNATURE.search(raw)
    return found is not None and _digest(raw[: found.start()] + raw[found.end() :]) == found[1]


def _with_digest_in_head(raw: bytes) -> bytes:
    """With a digest of all else in its head: one that somebody changes is theirs from then on."""
    return raw.replace(b"---\n", b"---\nbrimline: " + _digest(raw) + b"\n", 1)


def _digest(raw: bytes) -> bytes:
    return sha256(raw).hexdigest()[:16].encode()


def _answered_markdown(command: SlashCommand) -> str:
    instead = f" In a shell: `{command.shell_line()}`." if command.words else ""
    return _join_as_markdown(
        _front_matter(command), f"{_UNANSWERED}{instead} Tell the user, no more."
    )


def _join_as_markdown(head: str, body: str) -> str:
    return f"---\n{head}disable-model-invocation: true\n---\n{body}\n"


def _front_matter(command: SlashCommand) -> str:
    hint = f"argument-hint: {_yaml_quoted(command.hint)}\n" if command.hint else ""
    return f"description: {_yaml_quoted(command.description)}\n{hint}"


def _yaml_quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
