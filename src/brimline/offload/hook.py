"""Offload's face to the hooks: a large result on its way into the window, pins, overwrites.

Fast path: imports only `brimline.fast.io`. The names of the room's files in a session's folder are
here, so that a quiet hook can tell from the folder's listing that there is nothing to do.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn

# While a pin waits for the next large result.
PINS_WAIT = "offload-pins.jsonl"
# From this size on a result is one that a pin may wait for.
LARGE_BYTES = 5_000
# One for each file that was shown as a preview.
PREVIEWED = "offload-read-"
# The files that the session changed.
EDITED = "offload-edited.jsonl"
# One for each preview whose call may be repeated: a stamp, and a line for each result since; and
# one for each of those that was.
OFFER, TAKEN = "offload-again-", "offload-taken-"
OFFERED_RESULTS = 10
EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
# How a session begins that has no past.
_FRESH = ("startup", "clear")


def post_tool_use(turn: Turn) -> Decision | None:
    """The replacement for a result that is bulk; notes what was fetched back, seen, changed."""
    for name in [name for name in turn.state.names if name.startswith(OFFER)]:
        _count_result(f"{turn.state.folder}/{name}")
    if turn.event.tool in EDITING:
        _note_edit(turn)
    if not _is_worth_a_look(turn):
        return None
    from brimline.offload import intercept

    return intercept.after(turn)


def pre_tool_use(turn: Turn) -> Decision | None:
    """A refusal where the model is about to overwrite what it has seen as a preview only."""
    from brimline.offload import intercept

    return intercept.before_write(turn)


def user_prompt_submit(turn: Turn) -> Decision | None:
    """Do what pin directives in a prompt say."""
    if "pin" not in turn.event.prompt.lower():
        return None
    from brimline.offload import pinning

    return pinning.on_prompt(turn)


def pre_compact(turn: Turn) -> None:
    """What open ranges of pins have gathered is pinned now: the range may never be ended."""
    if PINS_WAIT in turn.state.names:
        from brimline.offload import pinning

        pinning.before_compaction(turn.state, turn.home)


def session_start(turn: Turn) -> None:
    """Note whether the session has a past in which files were seen."""
    if turn.event.source in _FRESH:
        from brimline.offload.looks import Looks

        Looks(turn.state, "").note_past()


def tidy(turn: Turn, _until: float) -> None:
    """Keep what was learned about commands small; its files are few."""
    from brimline.offload import learning

    learning.tidy(turn.home)


def read_offer(path: str) -> tuple[str, int | None]:
    """The stamp of an offer, and how many results came since; None once it is out of date."""
    try:
        stamp, *results = io.read_file(path).decode("ascii", "replace").split("\n")
    except OSError:
        return "", None
    count = len(results) - 1
    return stamp, count if count <= OFFERED_RESULTS else None


def _count_result(path: str) -> None:
    """One more result came after a preview; after ten the offer is gone."""
    io.append_line(path, "")
    if read_offer(path)[1] is None:
        io.remove(path)
        io.remove(path.replace(f"/{OFFER}", f"/{TAKEN}"))


def _note_edit(turn: Turn) -> None:
    asked = turn.event.tool_input
    path = asked.get("file_path") or asked.get("notebook_path")
    if isinstance(path, str):
        from brimline.offload.looks import Looks

        Looks(turn.state, turn.event.cwd).note_edit(path)


def _is_worth_a_look(turn: Turn) -> bool:
    """Whether a result may be too large, was fetched back, or is to be pinned."""
    event, values, names = turn.event, turn.values, turn.state.names
    if PINS_WAIT in names:
        return True
    if values["offload.preset"] == "off":
        return False
    if event.size_bytes > min(values["offload.inline_bytes"], values["offload.read_bytes"]):
        return True
    # Only a call that names us can have fetched a stored output.
    command = event.tool_input.get("command")
    if "brimline" in (command if isinstance(command, str) else event.tool):
        return True
    # Each further look at a file that was shown as a preview counts.
    return event.tool == "Read" and any(name.startswith(PREVIEWED) for name in names)
