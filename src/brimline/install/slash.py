"""The one list of slash commands, `/brim:…`, and the Markdown file that each becomes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from brimline.install.program import Program

NAMESPACE = "brim"
# The client puts the session's id in its place before it checks and runs the line.
_SESSION = "${CLAUDE_SESSION_ID}"
_PIN_NOTE = (
    "The line above is for brimline, which has read it already. "
    'There is nothing to do; answer with one short sentence, such as "Noted."'
)
_SHOW_NOTE = "Show this to the user as it is. Do not run anything."


class SlashCommand(NamedTuple):
    """One command: what it says to the model, or what of `brimline` it runs first."""

    name: str
    description: str
    text: str
    hint: str = ""
    """What the client shows after the name while it is typed."""
    runs: tuple[str, ...] = ()
    """The words of the `brimline` command whose output stands before the text."""
    about_session: bool = False
    """Whether the session's id goes behind them."""


def _pin(kind: str, description: str, *, takes_level: bool = True) -> SlashCommand:
    arguments = " $ARGUMENTS" if takes_level else ""
    return SlashCommand(
        f"pin-{kind}",
        description,
        f"brim:pin {kind}{arguments}\n\n{_PIN_NOTE}",
        "[soft|hard] [reason]" if takes_level else "",
    )


COMMANDS = (
    _pin("last", "Keep the last large tool result in brimline's store"),
    _pin("next", "Keep the next large tool result in brimline's store"),
    _pin("start", "Keep every large tool result from here on, until /brim:pin-end"),
    _pin("end", "End what /brim:pin-start began", takes_level=False),
    SlashCommand(
        "status",
        "Show how full this session's context window is",
        _SHOW_NOTE,
        runs=("status", "--session"),
        about_session=True,
    ),
    SlashCommand(
        "store",
        "Show how much brimline keeps out of the context window",
        _SHOW_NOTE,
        runs=("store", "list"),
    ),
    SlashCommand(
        "card",
        "Bring back what was recorded before a compaction or /clear",
        "This was recorded word for word before. Take it as the state of the work and go on from "
        "there; if nothing is open, ask what is next. Do not run anything.",
        runs=("carry", "card"),
    ),
    SlashCommand(
        "checkpoint",
        "Write this session's checkpoint now",
        _SHOW_NOTE,
        runs=("carry", "checkpoint", "--session"),
        about_session=True,
    ),
    SlashCommand(
        "purge",
        "Show what a purge of this session would save, and how to do it after leaving",
        f"{_SHOW_NOTE} The client does not notice changes to a session that runs, so the purge is "
        "done after leaving it: the user runs "
        "`brimline session purge --session ${CLAUDE_SESSION_ID}` in a shell, and then resumes the "
        "session.",
        runs=("session", "purge", "--dry-run", "--session"),
        about_session=True,
    ),
)


def files(program: Program) -> dict[str, bytes]:
    """The Markdown files by name; without those whose line the client could not check."""
    rendered = {command.name: render(command, program) for command in COMMANDS}
    return {f"{name}.md": text.encode() for name, text in rendered.items() if text is not None}


def left_out(program: Program) -> list[str]:
    """The commands that cannot be offered, because the client would not run their line."""
    return [command.name for command in COMMANDS if render(command, program) is None]


def render(command: SlashCommand, program: Program) -> str | None:
    """The file of one command; None where the client could not check the line it runs."""
    head = {"description": command.description}
    if command.hint:
        head["argument-hint"] = command.hint
    body = command.text
    if command.runs:
        line = program.line(*command.runs)
        if line is None:
            return None
        head["allowed-tools"] = f"Bash({line}:*)" if command.about_session else f"Bash({line})"
        line += f" {_SESSION}" if command.about_session else ""
        body = f"!`{line}`\n\n{body}"
    return f"---\n{_front_matter(head)}disable-model-invocation: true\n---\n{body}\n"


def _front_matter(head: dict[str, str]) -> str:
    quoted = {key: text.replace("'", "''") for key, text in head.items()}
    return "".join(f"{key}: '{text}'\n" for key, text in quoted.items())
