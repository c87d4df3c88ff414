"""What a slash command answers: mostly what the same command says in a shell."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.decision import Decision
from brimline.errors import StoreError
from brimline.offload import pinning
from brimline.slash.command_files import ANSWERED, SlashCommand
from brimline.store import layout, pins

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

TIMEOUT_S = 3.0
# Where the installer left word how to start `brimline`.
PROGRAM_FILE = "install/program.json"
# A screenful or two; the rest is for a shell.
_SHOWN_CHARACTERS = 6_000
_PROMPT = re.compile(r"/(?:[\w-]+:)?brim:([\w-]+)[ \t]*(.*)", re.DOTALL)
# How the searches say that they found nothing.
_NOTHING = re.compile(r"^(?:Nothing was found;|brimline: none of )", re.MULTILINE)
_PIN_KINDS = (pins.LAST, pins.NEXT, pins.START, pins.END)
_KEY = re.compile(r"(?:sha256:)?[0-9a-f]{6,64}")


def to_prompt(turn: Turn) -> Decision | None:
    """The answer to a prompt; None for one that is not ours, or that is for the model."""
    found = _PROMPT.fullmatch(turn.event.prompt.rstrip())
    command = next((c for c in ANSWERED if found and c.name == found[1]), None)
    if found is None or command is None:
        return None
    answer = _ANSWERS.get(command.name, _from_shell)
    text = turn.attempt(f"/brim:{command.name}", answer, turn, command, found[2].strip())
    if text is None:
        text = f"brimline: /brim:{command.name} failed; `brimline doctor` shows why."
    return Decision(permission="deny", reason=text)


def _from_shell(turn: Turn, command: SlashCommand, arguments: str) -> str:
    """What `brimline` prints for the command, if it does so in time."""
    words = [*command.words, *arguments.split()]
    if command.about_session:
        words += ["--session", turn.event.session_id]
    return _run(turn, words)


def _recall(turn: Turn, _command: SlashCommand, arguments: str) -> str:
    if not arguments:
        return "brimline: /brim:recall KEY shows a stored output, /brim:recall TEXT searches."
    if _KEY.fullmatch(arguments):
        return _run(turn, ["store", "get", "--", arguments])
    searches = (["memory", "search", "--limit", "5"], ["store", "search"])
    told = [_run(turn, [*words, "--", arguments]) for words in searches]
    # Where one of them finds nothing, the other tells all that there is.
    found = [text for text in told if not _NOTHING.search(text)]
    return "\n\n".join(found or told)


def _run(turn: Turn, words: list[str]) -> str:
    """What `brimline` prints, if it does so in time."""
    line = shlex.join(["brimline", *words])
    program = _program(turn.home)
    if program is None:
        return _instead("its installation does not say how to start it", line)
    # Of 80 columns the client leaves about 70 to a hook's text.
    variables = {"BRIMLINE_HOME": turn.home, "NO_COLOR": "1", "COLUMNS": "70"}
    try:
        done = subprocess.run(
            [*program, *words],
            env={**os.environ, **variables},
            cwd=turn.event.cwd or None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _instead(f"it took longer than {TIMEOUT_S:g} s", line)
    except OSError:
        return _instead("it could not be started", line)
    return _shortened(done.stdout.decode("utf-8", "replace").strip("\n"), line)


def _purge(turn: Turn, command: SlashCommand, arguments: str) -> str:
    preview = _from_shell(turn, command, arguments)
    if "\n  brimline session purge" not in preview:
        return preview  # there is nothing to purge, or no answer
    if "--yes" in arguments.split():
        preview = f"brimline: --yes does nothing here, the shell command purges.\n{preview}"
    return f"{preview}\nand resume it with\n  claude --resume {turn.event.session_id}"


def _pin(turn: Turn, _command: SlashCommand, arguments: str) -> str:
    kind, _, rest = arguments.partition(" ")
    if kind not in _PIN_KINDS:
        kind, rest = pins.LAST, arguments
        first = arguments.partition(" ")[0]
        # A reason needs one of the words before it: a typo is not taken for one.
        if first and first.lower() not in pins.LEVELS and "=" not in first:
            known = ", ".join((*_PIN_KINDS, pins.SOFT, pins.HARD))
            return f"brimline: nothing was pinned: {first!r} is none of {known}."
    return pinning.obey(pins.from_arguments(kind, rest), turn)


def _unpin(turn: Turn, command: SlashCommand, arguments: str) -> str:
    if arguments not in ("", pins.LAST):
        return _from_shell(turn, command._replace(words=("store", "unpin", "--")), arguments)
    key = pinning.last_key(turn)
    if key is None:
        return "brimline: there is no large result yet."
    try:
        pins.pin(turn.home, key, pins.NONE)
    except StoreError as error:
        return f"brimline: {error}"
    return f"brimline: {layout.short(key)} is no longer pinned."


def _off(turn: Turn, _command: SlashCommand, _arguments: str) -> str:
    turn.state.switch(off=True)
    return "brimline: silent in this session until /brim:on; nothing is measured or kept out."


def _on(turn: Turn, _command: SlashCommand, _arguments: str) -> str:
    turn.state.switch(off=False)
    return "brimline: at work in this session."


# All others say what the command in a shell says.
_ANSWERS = {
    "recall": _recall,
    "purge": _purge,
    "pin": _pin,
    "unpin": _unpin,
    "off": _off,
    "on": _on,
}


def _program(home_dir: str) -> list[str] | None:
    try:
        words = json.loads(Path(home_dir, PROGRAM_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    sound = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if sound else None


def _shortened(text: str, line: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    shown = text[:_SHOWN_CHARACTERS].rpartition("\n")[0]
    return f"{shown}\n… the rest in a shell: {line}"


def _instead(why: str, line: str) -> str:
    return f"brimline: no answer here ({why}); in a shell: {line}"
