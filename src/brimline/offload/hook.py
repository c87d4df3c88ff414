"""Offload's face to the hooks: a large result on its way into the window, pins, overwrites.

Fast path: imports nothing. The names of the room's files in a session's folder are here, so that a
quiet hook can tell from the folder's listing that there is nothing to do.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn
    from brimline.offload.calls import Call

# While a pin waits for the next large result.
PINS_WAIT = "offload-pins.jsonl"
# From this size on a result is one that a pin may wait for.
LARGE_BYTES = 5_000
# One for each file that was shown as a preview.
PREVIEWED = "offload-read-"
# What the client puts before each line of a file.
_NUMBERING_CHARACTERS = 9


def post_tool_use(turn: Turn) -> Decision | None:
    """The replacement for a result that is bulk; also notes what was fetched back or seen."""
    if not _is_worth_a_look(turn):
        return None
    from brimline.offload import intercept

    return intercept.after(_call(turn), turn.state, turn.values, turn.home)


def pre_tool_use(turn: Turn) -> Decision | None:
    """A refusal where the model is about to overwrite what it has seen as a preview only."""
    from brimline.offload import intercept

    return intercept.before_write(_call(turn), turn.state, turn.home)


def user_prompt_submit(turn: Turn) -> Decision | None:
    """Do what pin directives in a prompt say."""
    if "pin" not in turn.event.prompt.lower():
        return None
    from brimline.offload import pinning

    event = turn.event
    return pinning.on_prompt(event.prompt, turn.state, turn.values, turn.home, event.transcript)


def pre_compact(turn: Turn) -> None:
    """What open ranges of pins have gathered is pinned now: the range may never be ended."""
    if PINS_WAIT in turn.state.names:
        from brimline.offload import pinning

        pinning.before_compaction(turn.state, turn.home)


def session_start(turn: Turn) -> None:
    """Note whether the session has a past in which files were seen."""
    from brimline.offload.seen import Looks

    Looks(turn.state, "").note_start(turn.event.source)


def tidy(turn: Turn, _until: float) -> None:
    """Keep what was learned about commands small; its files are few."""
    import time

    from brimline.offload import learning

    learning.compact(turn.home, time.time())


def _is_worth_a_look(turn: Turn) -> bool:
    """Whether a result may be too large, was fetched back, or is to be pinned."""
    event, values, names = turn.event, turn.values, turn.state.names
    if PINS_WAIT in names:
        return True
    if values["offload.preset"] == "off":
        return False
    if event.tool == "Read":
        smallest = min(values["offload.read_bytes"], values["offload.code_bytes"])
        return bool(_file_characters(turn) >= smallest) or _was_previewed(turn)
    # Only a call that names us can have fetched a stored output.
    command = event.tool_input.get("command")
    asked = command if isinstance(command, str) else event.tool
    return event.size_bytes > values["offload.inline_bytes"] or "brimline" in asked


def _file_characters(turn: Turn) -> int:
    """About how long a file is that was read, with the numbers the client puts before lines."""
    response = turn.event.tool_response
    file = response.get("file") if isinstance(response, dict) else None
    content = file.get("content") if isinstance(file, dict) else None
    if not isinstance(content, str):
        return turn.event.size_bytes  # a notebook, an image
    characters = len(content) if content.isascii() else turn.event.size_bytes
    return characters + _NUMBERING_CHARACTERS * (content.count("\n") + 1)


def _was_previewed(turn: Turn) -> bool:
    """Whether a preview of the file was shown before: then each further look at it counts."""
    if not any(name.startswith(PREVIEWED) for name in turn.state.names):
        return False
    from brimline.offload.seen import Looks

    return turn.event.tool_input.get("file_path") in Looks(turn.state, turn.event.cwd)


def _call(turn: Turn) -> Call:
    from brimline.offload.calls import Call

    event = turn.event
    return Call(
        event.tool,
        event.tool_input,
        event.tool_response,
        cwd=event.cwd,
        project_dir=turn.project,
        transcript=event.transcript,
        call_id=event.call_id,
    )
